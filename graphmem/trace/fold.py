"""Constants that TensorFlow folds when it prepares a function for its executor (common_runtime/constant_folding.cc).

After Grappler, which folds small results only, the executor's own graph optimiser evaluates every stateless op whose
inputs are all constants. Readers then get a new `Const`, as long as it is no larger than 10 MiB: allocated once, not in
every step. The old op is gone, unless another op waits for it: then it still runs, for nothing.
"""

from __future__ import annotations

import hashlib

from tensorflow.python.framework import op_def_registry

from graphmem.graph.model import Op, StepGraph
from graphmem.trace.merge import SIGNATURE

#: ConstantFoldingOptions::max_constant_size_in_bytes.
LARGEST_FOLDED = 10 << 20

_NEVER = frozenset(
    {"_Arg", "_Retval", "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "NoOp", "_Copy"}
)


def fold_constants(graph: StepGraph) -> StepGraph:
    """The graph with folded constants as new `Const` ops at its end, by name, marked `_folded`."""
    ops = graph.ops
    constant = _constant(ops)
    if all(ops[index].type == "Const" for index in constant):
        return graph
    read = {
        (source, slot)
        for index, op in enumerate(ops)
        if index not in constant
        for source, slot in op.inputs
        if source in constant and ops[source].type != "Const" and _fits(ops[source], slot)
    }
    by_name = sorted(read, key=lambda key: (ops[key[0]].name, key[1]))  # as TensorFlow makes them
    made = {key: len(ops) + place for place, key in enumerate(by_name)}
    waits, origins = _waits(ops, constant), _origins(ops, constant)
    new = [_folded(ops[source], slot, waits[source], origins.get(source)) for source, slot in made]
    for index, op in enumerate(ops):
        if index not in constant:
            op.inputs = tuple((made[key], 0) if key in made else key for key in op.inputs)
    return _without_unread(StepGraph(ops + new, graph.variables, graph.arguments, graph.info), constant)


def _constant(ops: list[Op]) -> dict[int, None]:
    """The ops that can be evaluated from constants alone, each after those that it reads."""
    found = dict.fromkeys(index for index, op in enumerate(ops) if op.type == "Const")
    foldable = {op_type: _foldable(op_type) for op_type in {op.type for op in ops}}
    before = -1
    while len(found) != before:  # an op may stand before what it reads
        before = len(found)
        for index, op in enumerate(ops):
            if index not in found and op.inputs and foldable[op.type]:
                if all(source in found for source, _ in op.inputs):
                    found[index] = None
    return found


def _foldable(op_type: str) -> bool:
    definition = op_def_registry.get(op_type)
    return op_type not in _NEVER and definition is not None and not definition.is_stateful


def _fits(op: Op, slot: int) -> bool:
    nbytes = op.outputs[slot].nbytes
    return nbytes is not None and nbytes <= LARGEST_FOLDED


def _waits(ops: list[Op], constant: dict[int, None]) -> dict[int, tuple[int, ...]]:
    """What the constant made of each constant op waits for: the ops that this op and those it is made of wait for.

    It keeps a constant in its loop or branch.
    """
    waits: dict[int, tuple[int, ...]] = {}
    for index in sorted(constant):
        found: dict[int, None] = {}
        for source in (*(source for source, _ in ops[index].inputs), *ops[index].controls):
            found.update(dict.fromkeys(waits.get(source, ()) if source in constant else (source,)))
        waits[index] = tuple(found)
    return waits


def _origins(ops: list[Op], constant: dict[int, None]) -> dict[int, str]:
    """What each constant op is made of, in short, so that equal ones are known; not of those that are never equal."""
    origins: dict[int, str] = {}
    for index in constant:
        op = ops[index]
        if SIGNATURE in op.attrs and all(source in origins for source, _ in op.inputs):
            parts = op.attrs[SIGNATURE], [(origins[source], slot) for source, slot in op.inputs]
            origins[index] = hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()
    return origins


def _folded(op: Op, slot: int, waits: tuple[int, ...], origin: str | None) -> Op:
    name = f"{op.name}/folded" + (f"_{slot}" if slot else "")
    attrs = {"_folded": True, "_made_by": op.type}
    if "_const_inputs" in op.attrs:
        attrs["_const_inputs"] = op.attrs["_const_inputs"]
    if origin is not None:
        attrs[SIGNATURE] = (origin, slot)
    return Op(name, "Const", (), waits, (op.outputs[slot],), attrs, device=op.device)


def _without_unread(graph: StepGraph, constant: dict[int, None]) -> StepGraph:
    """Drop constant ops that nobody reads or waits for any more."""
    ops = graph.ops
    kept = [index not in constant for index in range(len(ops))]
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
