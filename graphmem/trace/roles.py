"""Phase, role and scope of every op: when it runs, why its outputs exist, which layer made it."""

from __future__ import annotations

from graphmem.graph.model import StepGraph
from graphmem.graph.phases import set_phases, set_roles, set_scopes, set_update_scopes
from graphmem.trace.scopes import Scopes

_UPDATES = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")


def assign(graph: StepGraph, scopes: Scopes, optimizers: list[str]) -> None:
    """Set phase, role and scope of each op of a graph that was just built.

    Args:
        graph: the step; its ops are in topological order save for loops.
        scopes: the name scopes of layers.
        optimizers: name scopes in which optimizers make their ops.
    """
    names, types = [op.name for op in graph.ops], [op.type for op in graph.ops]
    _fixed_roles(graph)
    set_phases(graph, names, types, optimizers)
    set_roles(graph, names, types)
    _outputs(graph)
    set_scopes(graph, names, scopes)
    _update_scopes(graph)


def _fixed_roles(graph: StepGraph) -> None:
    """The roles that do not depend on the phase."""
    for op in graph.ops:
        if op.type == "Const":
            op.role = "constant"
        elif op.type == "_Arg":
            op.role = "input"


def _outputs(graph: StepGraph) -> None:
    """What the step returns."""
    for op in graph.ops:
        if op.type == "_Retval":
            for source, _ in op.inputs:
                _mark_output(graph, source)


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
