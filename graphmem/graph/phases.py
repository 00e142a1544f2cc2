"""When each op of a step runs, in the forward pass, the backward pass or the update, and what follows from that.

Backward ops are those that a gradient tape named; what depends on one of them and is not itself needed by another is
the update. Names alone would miss sums of gradients (`AddN`) and recomputed activations, so both directions of the
graph are walked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from graphmem.graph.model import Op, StepGraph
from graphmem.graph.scopes import ScopePaths

_SUM_NAME = re.compile(r"AddN(_\d+)?(/|$)")


def set_phases(graph: StepGraph, names: Sequence[str], types: Sequence[str], optimizers: Iterable[str]) -> None:
    """Set the phase of each op.

    Args:
        graph: the step; its ops are in topological order save for loops.
        names: of each op, what TensorFlow called it; "" if it has no such name.
        types: of each op, TensorFlow's op type.
        optimizers: name scopes in which optimizers make their ops.
    """
    ops, optimizers = graph.ops, set(optimizers) - {""}
    named = _gradients(graph, names, types, optimizers)
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
        if in_scope(names[index], optimizers):
            op.phase = "update"
        elif named[index] or (after[index] and before[index]):
            op.phase = "backward"
        elif after[index]:
            op.phase = "update"
    _serve_updates_only(graph, before)


def set_roles(graph: StepGraph, names: Sequence[str], types: Sequence[str]) -> None:
    """Set the role of each op that is neither "input" nor "constant"; the arguments are those of `set_phases`."""
    by_phase = {"forward": "activation", "backward": "gradient", "update": "update"}
    for index, op in enumerate(graph.ops):
        if op.role in ("constant", "input"):
            continue
        if op.phase == "backward" and not is_gradient(names[index]) and not _is_sum(graph, index, names, types):
            op.role = "activation"  # recomputed for the backward pass
        else:
            op.role = by_phase[op.phase]


def set_scopes(graph: StepGraph, names: Sequence[str], scopes: ScopePaths) -> None:
    """Set the scope of each op from its name; a sum of gradients has that of the first that has one.

    TensorFlow may make several ops of one sum, of which the first has no input (`AddN_1/tmp_var`).
    """
    sums: dict[str, str] = {}
    for name, op in zip(names, graph.ops, strict=True):
        op.scope = scopes.of_op(name)
        if op.phase == "backward" and _SUM_NAME.match(name):
            sources = (graph.ops[source] for source, _ in op.inputs)
            found = [source.scope for source in sources if source.scope and source.phase == "backward"]
            own = [scope for scope in found if not _SUM_NAME.match(scope)]
            if own:
                op.scope = sums.setdefault(name.partition("/")[0], own[0])
    for name, op in zip(names, graph.ops, strict=True):
        if op.phase == "backward" and _SUM_NAME.match(name):
            op.scope = sums.get(name.partition("/")[0], op.scope)


def set_sources(graph: StepGraph, names: Sequence[str], lines: Mapping[str, str]) -> None:
    """Set the line of the user's code that made each op; ops of later passes get that of their layer's forward ops.

    Args:
        graph: the step, its phases and scopes set.
        names: of each op, what TensorFlow called it.
        lines: name of an op -> "file.py:12"; under "" what holds for all but the inputs.
    """
    if "" in lines:
        for op in graph.ops:
            op.source = lines[""] if op.role != "input" else ""
        return
    layers: dict[str, str] = {}
    for name, op in zip(names, graph.ops, strict=True):
        op.source = lines.get(name, "")
        if op.source and op.phase == "forward" and op.scope:
            layers.setdefault(op.scope, op.source)
    for op in graph.ops:
        if op.phase != "forward" and op.scope in layers:
            op.source = layers[op.scope]


def set_update_scopes(graph: StepGraph, serves: dict[int, str]) -> None:
    """An op of the update belongs to the layer whose variable it serves, if it serves one only.

    Args:
        graph: the step, its phases set.
        serves: index of an op that writes a variable -> the layer that owns the variable.
    """
    ops = graph.ops
    found: list[str | None] = [None] * len(ops)
    shared = "\0"
    for index in range(len(ops) - 1, -1, -1):
        op, mine = ops[index], serves.get(index, found[index])
        if op.phase != "update" or mine is None:
            continue
        if mine != shared:
            op.scope = mine
        for source, _ in op.inputs:
            if ops[source].phase == "update":
                found[source] = mine if found[source] in (None, mine) else shared


#: In the name of a function that TensorFlow makes for the gradient of another (eager/polymorphic_function).
_BACKWARD = "__backward_"


def is_gradient(name: str) -> bool:
    """Whether a gradient tape or `tf.gradients` named an op so."""
    return "gradient_tape/" in name or name.startswith("gradients/") or "/gradients/" in name


def in_scope(name: str, scopes: set[str]) -> bool:
    """Whether an op's outermost name scope is one of these, or one of these made unique."""
    first = name.partition("/")[0]
    return "/" in name and (first in scopes or re.sub(r"_\d+$", "", first) in scopes)


def _gradients(graph: StepGraph, names: Sequence[str], types: Sequence[str], optimizers: set[str]) -> list[bool]:
    """Which ops make gradients: those that a tape named, calls of gradient functions, sums of nothing but gradients."""
    named = [
        (is_gradient(name) or _BACKWARD in str(op.attrs.get("f", ""))) and not in_scope(name, optimizers)
        for name, op in zip(names, graph.ops, strict=True)
    ]
    for index, op in enumerate(graph.ops):
        if _SUM_NAME.match(names[index]):
            named[index] |= any(named[source] and _carries(graph.ops[source]) for source, _ in op.inputs)
        elif types[index] in ("AddN", "AddV2") and len(op.inputs) > 1:
            named[index] |= all(named[source] and _carries(graph.ops[source]) for source, _ in op.inputs)
    return named


def _serve_updates_only(graph: StepGraph, before: list[bool]) -> None:
    """What only ops of the update read is part of it: learning rates, decayed momenta."""
    ops = graph.ops
    readers: list[set[str]] = [set() for _ in ops]
    for index in range(len(ops) - 1, -1, -1):
        op = ops[index]
        if op.phase == "forward" and not before[index] and readers[index] == {"update"} and op.role != "input":
            op.phase = "update"
        for source, _ in op.inputs:
            readers[source].add(op.phase)


def _carries(op: Op) -> bool:
    """Whether a gradient op's outputs are gradients: shapes and constants that it shares with forward ops are not."""
    return op.role != "constant" and any("float" in item.dtype or "complex" in item.dtype for item in op.outputs)


def _is_sum(graph: StepGraph, index: int, names: Sequence[str], types: Sequence[str]) -> bool:
    """A sum of gradients, which TensorFlow names after nothing and Grappler may unroll into a temporary variable."""
    if _SUM_NAME.match(names[index]):
        return True
    inputs = graph.ops[index].inputs
    return types[index] in ("AddN", "AddV2") and all(graph.ops[source].phase == "backward" for source, _ in inputs)
