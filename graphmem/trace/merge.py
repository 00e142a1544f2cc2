"""Equal ops, of which TensorFlow's executor keeps one once constants are folded (graph_optimizer.cc, OptimizeCSE).

Grappler has merged most of them. It leaves `Enter` alone: loop variables that begin with the same constant, such as the
empty lists of a gradient's accumulators, are read into the loop once. And it merges before its last rewrites, which
make equal constants again.
"""

from __future__ import annotations

import hashlib
from typing import Any

from tensorflow.python.framework import op_def_registry

from graphmem.graph.model import Op, StepGraph

#: The attribute of an op that may be merged: what tells its type and attributes from others', until all is merged.
SIGNATURE = "_signature"


def signature(node: Any) -> bytes | None:
    """What a node's type and attributes are, constants included; `None` if it is not to be merged with equal ones."""
    definition = op_def_registry.get(node.op)
    if definition is None or definition.is_stateful or any(arg.is_ref for arg in definition.input_arg):
        return None
    digest = hashlib.blake2b(node.op.encode(), digest_size=16)
    for name in sorted(node.attr):
        digest.update(name.encode())
        digest.update(node.attr[name].SerializeToString(deterministic=True))
    return digest.digest()


def merge_equal(graph: StepGraph) -> StepGraph:
    """The graph without all but the first of ops of the same signature and inputs, and without signatures.

    An op that read one of the others has `_from_replaced`: input position as text -> the place that the other op had,
    by which TensorFlow adds the new edges.
    """
    ops = graph.ops
    instead: dict[int, int] = {}
    before = -1
    while len(instead) != before:  # what read equal ops may be equal itself
        before = len(instead)
        first: dict[object, int] = {}
        for index, op in enumerate(ops):
            if index not in instead and SIGNATURE in op.attrs:
                kept = first.setdefault(_identity(op, instead), index)
                if kept != index:
                    instead[index] = kept
    for op in ops:
        op.attrs.pop(SIGNATURE, None)
    return _without(graph, instead) if instead else graph


def _identity(op: Op, instead: dict[int, int]) -> object:
    inputs = tuple((instead.get(source, source), slot) for source, slot in op.inputs)
    return op.attrs[SIGNATURE], inputs, frozenset(instead.get(source, source) for source in op.controls), op.device


def _without(graph: StepGraph, instead: dict[int, int]) -> StepGraph:
    ops = graph.ops
    kept = [index for index in range(len(ops)) if index not in instead]
    places = {index: place for place, index in enumerate(kept)}
    left = [ops[index] for index in kept]
    for op in left:
        moved = {str(position): source for position, (source, _) in enumerate(op.inputs) if source in instead}
        if moved:
            op.attrs["_from_replaced"] = moved
        op.inputs = tuple((places[instead.get(source, source)], slot) for source, slot in op.inputs)
        op.controls = tuple(dict.fromkeys(places[instead.get(source, source)] for source in op.controls))
    return StepGraph(left, graph.variables, graph.arguments, graph.info)
