"""Phase, role and scope of every op: when it runs, why its outputs exist, which layer made it.

Backward ops are those that a gradient tape named; what depends on one of them and is not itself needed by another is
the update. Names alone would miss sums of gradients (`AddN`) and recomputed activations, so both directions of the
graph are walked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from graphmem.graph.model import Op, StepGraph
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
    _phases(graph, set(optimizers) - {""})
    _roles(graph)
    for op in graph.ops:
        op.scope = scopes.of_op(op.name)
        if op.phase == "backward" and op.inputs and _SUM_NAME.match(op.name):
            op.scope = graph.ops[op.inputs[0][0]].scope
    _update_scopes(graph)


def _phases(graph: StepGraph, optimizers: set[str]) -> None:
    ops = graph.ops
    named = _gradients(graph, optimizers)
    before = list(named)  # a gradient depends on it
    for index in range(len(ops) - 1, -1, -1):
        if before[index]:
            for source, _ in ops[index].inputs:
                before[source] = True
    after = [name and _carries(op) for name, op in zip(named, ops, strict=True)]  # depends on a gradient
    for index, op in enumerate(ops):
        if named[index]:
            continue
        sources: Iterable[int] = (source for source, _ in op.inputs)
        if before[index]:  # rewrites share transposes and the like between both passes
            sources = (source for source in sources if not named[source])
        after[index] = any(after[source] for source in sources) or any(after[source] for source in op.controls)
    for index, op in enumerate(ops):
        if _in_scope(op.name, optimizers):
            op.phase = "update"
        elif named[index] or (after[index] and before[index]):
            op.phase = "backward"
        elif after[index]:
            op.phase = "update"
    _serve_updates_only(graph, before)


def _gradients(graph: StepGraph, optimizers: set[str]) -> list[bool]:
    """Which ops make gradients: those that a tape named, and sums of nothing but gradients."""
    named = [_is_gradient(op.name) and not _in_scope(op.name, optimizers) for op in graph.ops]
    for index, op in enumerate(graph.ops):
        if op.type in ("AddN", "AddV2") and len(op.inputs) > 1:
            named[index] |= all(named[source] and _carries(graph.ops[source]) for source, _ in op.inputs)
    return named


def _serve_updates_only(graph: StepGraph, before: list[bool]) -> None:
    """What only ops of the update read is part of it: learning rates, decayed momenta."""
    ops = graph.ops
    readers: list[set[str]] = [set() for _ in ops]
    for index in range(len(ops) - 1, -1, -1):
        op = ops[index]
        if op.phase == "forward" and not before[index] and readers[index] == {"update"} and op.type != "_Arg":
            op.phase = "update"
        for source, _ in op.inputs:
            readers[source].add(op.phase)


def _in_scope(name: str, scopes: set[str]) -> bool:
    first = name.partition("/")[0]
    return "/" in name and (first in scopes or re.sub(r"_\d+$", "", first) in scopes)


def _carries(op: Op) -> bool:
    """Whether a gradient op's outputs are gradients: shapes and constants that it shares with forward ops are not."""
    return op.type != "Const" and any("float" in tensor.dtype or "complex" in tensor.dtype for tensor in op.outputs)


def _is_gradient(name: str) -> bool:
    return "gradient_tape/" in name or name.startswith("gradients/") or "/gradients/" in name


def _roles(graph: StepGraph) -> None:
    by_phase = {"forward": "activation", "backward": "gradient", "update": "update"}
    for op in graph.ops:
        if op.type == "Const":
            op.role = "constant"
        elif op.type == "_Arg":
            op.role = "input"
        elif op.phase == "backward" and not _is_gradient(op.name) and not _is_sum(graph, op):
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
    serves: list[str | None] = [None] * len(ops)
    shared = "\0"
    for index in range(len(ops) - 1, -1, -1):
        op = ops[index]
        if op.phase != "update":
            continue
        if op.type.startswith(_UPDATES) or op.type.startswith("ResourceApply") or "Scatter" in op.type:
            kind, number = ops[op.inputs[0][0]].attrs.get("_arg", ("", -1)) if op.inputs else ("", -1)
            if kind == "variable" and graph.variables[number].scope:
                serves[index] = graph.variables[number].scope
        mine = serves[index]
        if mine is None:
            continue
        if mine != shared:
            op.scope = mine
        for source, _ in op.inputs:
            if ops[source].phase == "update":
                serves[source] = mine if serves[source] in (None, mine) else shared
