"""Phase, role and scope of every op: when it runs, why its outputs exist, which layer made it."""

from __future__ import annotations

import re

from graphmem.graph.model import Op, StepGraph
from graphmem.graph.phases import is_gradient, set_phases, set_update_scopes
from graphmem.trace.scopes import Scopes

_SUM_NAME = re.compile(r"AddN(_\d+)?(/|$)")
_UPDATES = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")


def assign(graph: StepGraph, scopes: Scopes, optimizers: list[str]) -> None:
    """Set phase, role and scope of each op of a graph that was just built.

    Args:
        graph: the step; its ops are in topological order save for loops.
        scopes: the name scopes of layers.
        optimizers: name scopes in which optimizers make their ops.
    """
    _fixed_roles(graph)
    set_phases(graph, [op.name for op in graph.ops], [op.type for op in graph.ops], optimizers)
    _roles(graph)
    for op in graph.ops:
        op.scope = scopes.of_op(op.name)
        if op.phase == "backward" and op.inputs and _SUM_NAME.match(op.name):
            op.scope = graph.ops[op.inputs[0][0]].scope
    _update_scopes(graph)


def _fixed_roles(graph: StepGraph) -> None:
    """The roles that do not depend on the phase."""
    for op in graph.ops:
        if op.type == "Const":
            op.role = "constant"
        elif op.type == "_Arg":
            op.role = "input"


def _roles(graph: StepGraph) -> None:
    by_phase = {"forward": "activation", "backward": "gradient", "update": "update"}
    for op in graph.ops:
        if op.role in ("constant", "input"):
            continue
        if op.phase == "backward" and not is_gradient(op.name) and not _is_sum(graph, op):
            op.role = "activation"  # recomputed for the backward pass
        else:
            op.role = by_phase[op.phase]
    for op in graph.ops:
        if op.type == "_Retval":
            for source, _ in op.inputs:
                _mark_output(graph, source)


def _is_sum(graph: StepGraph, op: Op) -> bool:
    """A sum of gradients, which TensorFlow names after nothing and Grappler may unroll into a temporary variable."""
    if _SUM_NAME.match(op.name):
        return True
    return op.type in ("AddN", "AddV2") and all(graph.ops[source].phase == "backward" for source, _ in op.inputs)


def _mark_output(graph: StepGraph, index: int) -> None:
    op = graph.ops[index]
    while op.type in ("Identity", "Reshape", "Squeeze", "ExpandDims") and op.inputs:
        op = graph.ops[op.inputs[0][0]]
    if op.role in ("activation", "gradient", "update"):
        op.role = "output"


def _update_scopes(graph: StepGraph) -> None:
    """An op of the update belongs to the layer whose variable it serves, if it serves one only."""
    ops = graph.ops
    serves = {}
    for index, op in enumerate(ops):
        if op.type.startswith(_UPDATES) or op.type.startswith("ResourceApply") or "Scatter" in op.type:
            kind, number = ops[op.inputs[0][0]].attrs.get("_arg", ("", -1)) if op.inputs else ("", -1)
            if kind == "variable" and graph.variables[number].scope:
                serves[index] = graph.variables[number].scope
    set_update_scopes(graph, serves)
