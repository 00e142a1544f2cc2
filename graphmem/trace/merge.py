"""`Enter` ops that read the same value into the same loop: TensorFlow keeps one (graph_optimizer.cc, OptimizeCSE).

Grappler merges equal ops of every other type. Equal `Enter` ops come from loop variables that begin with the same
constant, such as the empty lists of a gradient's accumulators once they are folded.
"""

from __future__ import annotations

from graphmem.graph.model import Op, StepGraph


def merge_enters(graph: StepGraph) -> StepGraph:
    """The graph without all but the first of equal `Enter` ops.

    An op that read one of the others has `_from_replaced` = the places of such inputs: their edges are added last.
    """
    ops = graph.ops
    first: dict[object, int] = {}
    instead: dict[int, int] = {}
    for index, op in enumerate(ops):
        if op.type == "Enter" and (kept := first.setdefault(_identity(op), index)) != index:
            instead[index] = kept
    if not instead:
        return graph
    kept_ops = [index for index in range(len(ops)) if index not in instead]
    places = {index: place for place, index in enumerate(kept_ops)}
    left = [ops[index] for index in kept_ops]
    for op in left:
        moved = tuple(position for position, (source, _) in enumerate(op.inputs) if source in instead)
        if moved:
            op.attrs["_from_replaced"] = moved
        op.inputs = tuple((places[instead.get(source, source)], slot) for source, slot in op.inputs)
        op.controls = tuple(dict.fromkeys(places[instead.get(source, source)] for source in op.controls))
    return StepGraph(left, graph.variables, graph.arguments, graph.info)


def _identity(op: Op) -> object:
    attrs = tuple(sorted((name, value) for name, value in op.attrs.items() if not name.startswith("_")))
    return op.inputs, op.controls, attrs, op.device
