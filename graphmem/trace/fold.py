"""Constants that TensorFlow folds when it prepares a function for its executor (common_runtime/constant_folding.cc).

After Grappler, which folds small results only, the executor's own graph optimiser evaluates every stateless op whose
inputs are all constants. Readers then get a new `Const`, as long as it is no larger than 10 MiB: allocated once, not in
every step. The old op is gone, unless another op waits for it: then it still runs, for nothing.
"""

from __future__ import annotations

from typing import Any

from tensorflow.python.framework import op_def_registry

from graphmem.graph.model import Op, StepGraph
from graphmem.trace.merge import SIGNATURE

#: ConstantFoldingOptions::max_constant_size_in_bytes.
LARGEST_FOLDED = 10 << 20

_NEVER = frozenset(
    {"_Arg", "_Retval", "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "NoOp", "_Copy"}
)

Slot = tuple[int, int]


def fold_constants(graph: StepGraph) -> StepGraph:
    """The graph with folded constants as new `Const` ops at its end, marked `_folded`."""
    ops = graph.ops
    constant = _constant(ops)
    if not any(is_constant and op.type != "Const" for op, is_constant in zip(ops, constant, strict=True)):
        return graph
    made: dict[Slot, int] = {}
    for op, is_constant in zip(ops, constant, strict=True):
        if not is_constant:
            for source, slot in op.inputs:
                if constant[source] and ops[source].type != "Const" and _fits(ops[source], slot):
                    made.setdefault((source, slot), len(ops) + len(made))
    by_name = sorted(made, key=lambda key: (ops[key[0]].name, key[1]))  # as TensorFlow makes them
    made = {key: len(ops) + place for place, key in enumerate(by_name)}
    waits = _waits(ops, constant)
    new = [_folded(ops, key, waits[key[0]]) for key in made]
    for op, is_constant in zip(ops, constant, strict=True):
        if not is_constant:
            op.inputs = tuple((made[key], 0) if key in made else key for key in op.inputs)
    return _without_unread(StepGraph(ops + new, graph.variables, graph.arguments, graph.info), constant)


def _constant(ops: list[Op]) -> list[bool]:
    """Which ops can be evaluated from constants alone."""
    constant = [op.type == "Const" for op in ops]
    foldable = {op_type: _foldable(op_type) for op_type in {op.type for op in ops}}
    before = -1
    while (count := sum(constant)) != before:  # an op may stand before what it reads
        before = count
        for index, op in enumerate(ops):
            if op.inputs and foldable[op.type] and all(constant[source] for source, _ in op.inputs):
                constant[index] = True
    return constant


def _foldable(op_type: str) -> bool:
    definition = op_def_registry.get(op_type)
    return op_type not in _NEVER and definition is not None and not definition.is_stateful


def _fits(op: Op, slot: int) -> bool:
    nbytes = op.outputs[slot].nbytes
    return nbytes is not None and nbytes <= LARGEST_FOLDED


def _waits(ops: list[Op], constant: list[bool]) -> list[tuple[int, ...]]:
    """What the constant made of each constant op waits for: the ops that this op and those it is made of wait for.

    It keeps a constant in its loop or branch.
    """
    waits: list[dict[int, None]] = [{} for _ in ops]
    for index, op in enumerate(ops):
        if constant[index]:
            for source in (*(source for source, _ in op.inputs), *op.controls):
                waits[index].update(waits[source] if constant[source] else {source: None})
    return [tuple(found) for found in waits]


def _folded(ops: list[Op], key: Slot, waits: tuple[int, ...]) -> Op:
    op, slot = ops[key[0]], key[1]
    name = f"{op.name}/folded" + (f"_{slot}" if slot else "")
    attrs = {"_folded": True, "_made_by": op.type}
    if "_const_inputs" in op.attrs:
        attrs["_const_inputs"] = op.attrs["_const_inputs"]
    if origin := _origin(ops, key):
        attrs[SIGNATURE] = origin
    return Op(name, "Const", (), waits, (op.outputs[slot],), attrs, device=op.device)


def _origin(ops: list[Op], key: Slot) -> tuple[Any, ...] | None:
    """What a constant is made of, so that equal ones are known; `None` where that cannot be told."""
    op = ops[key[0]]
    parts = [_origin(ops, source) for source in op.inputs]
    if SIGNATURE not in op.attrs or None in parts:
        return None
    return op.attrs[SIGNATURE], key[1], *parts


def _without_unread(graph: StepGraph, constant: list[bool]) -> StepGraph:
    """Drop constant ops that nobody reads or waits for any more."""
    ops = graph.ops
    kept = [not is_constant for is_constant in constant] + [True] * (len(ops) - len(constant))
    for index in range(len(ops) - 1, -1, -1):
        if kept[index]:
            for source in (*(source for source, _ in ops[index].inputs), *ops[index].controls):
                kept[source] = True
    places = {index: place for place, index in enumerate(index for index, keep in enumerate(kept) if keep)}
    left = [ops[index] for index in places]
    for op in left:
        op.inputs = tuple((places[source], slot) for source, slot in op.inputs)
        op.controls = tuple(places[source] for source in op.controls)
    return StepGraph(left, graph.variables, graph.arguments, graph.info)
