"""Phase, role and scope of every op: when it runs, why its outputs exist, which layer made it.

Backward ops are those that a gradient tape named; what depends on one of them and is not itself needed by another is
the update. Names alone would miss sums of gradients (`AddN`) and recomputed activations, so both directions of the
graph are walked.
"""

from __future__ import annotations

from collections.abc import Iterable

from graphmem.graph.model import Op, StepGraph
from graphmem.trace.scopes import Scopes

_UPDATES = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")


def assign(graph: StepGraph, scopes: Scopes, optimizers: list[str]) -> None:
    """Set phase, role and scope of each op of a graph that was just built.

    Args:
        graph: the step; its ops are in topological order save for loops.
        scopes: the name scopes of layers.
        optimizers: name scopes in which optimizers make their ops.
    """
    _phases(graph, tuple(f"{name}/" for name in optimizers if name))
    _roles(graph)
    for op in graph.ops:
        op.scope = scopes.of_op(op.name)
    _update_scopes(graph)


def _phases(graph: StepGraph, optimizers: tuple[str, ...]) -> None:
    ops = graph.ops
    named = [_is_gradient(op.name) for op in ops]
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
        if before[index] and op.type != "AddN":  # rewrites share transposes and the like between both passes
            sources = (source for source in sources if not named[source])
        after[index] = any(after[source] for source in sources) or any(after[source] for source in op.controls)
    for index, op in enumerate(ops):
        if named[index] or (after[index] and before[index]):
            op.phase = "backward"
        elif after[index]:
            gradients = op.type == "AddN" and all(ops[source].phase == "backward" for source, _ in op.inputs)
            op.phase = "backward" if gradients else "update"
        elif not before[index] and op.name.startswith(optimizers):
            op.phase = "update"


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
        elif op.phase == "backward" and not _is_gradient(op.name) and op.type != "AddN":
            op.role = "activation"  # recomputed for the backward pass
        else:
            op.role = by_phase[op.phase]
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
