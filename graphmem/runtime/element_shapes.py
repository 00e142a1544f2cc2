"""Shapes of what comes out of lists that TensorFlow's shape functions cannot tell, but its executor can.

How many elements a list has that a loop fills, and of which shape they are, follows from running the loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphmem.graph.model import Op, StepGraph
from graphmem.runtime.branches import Branches
from graphmem.runtime.executor import schedule
from graphmem.runtime.list_values import List, Shaped
from graphmem.runtime.plan import make_plan

Shape = tuple["int | None", ...]

_JOINS = ("TensorListConcat", "TensorListConcatV2")
_READS = ("TensorListStack", "TensorListGetItem", "TensorListPopBack", *_JOINS)


def element_shapes(graph: StepGraph) -> dict[str, list[Shape]]:
    """Shapes of the outputs of ops that read lists, by the op's name: where the graph lacks them and they can be told.

    An op in a loop must have the same each time. Nothing is told where a loop runs no one knows how often.
    """
    asked = {index: op for index, op in enumerate(graph.ops) if op.type in _READS and not _is_known(op)}
    if not asked:
        return {}
    plan = make_plan(graph)
    branches = Branches(plan, followed=[op.inputs[0][0] for op in asked.values()])
    made = schedule(plan, branches)
    if branches.at_least:
        return {}
    if not any(plan.kinds):  # without control flow the executor needs no values
        for index, inputs, base in zip(made.ops, made.inputs, made.values, strict=True):
            if branches.follows[index]:
                branches.evaluate(index, inputs, base)
    found: dict[str, list[list[Shape] | None]] = {}
    for index, inputs in zip(made.ops, made.inputs, strict=True):
        if index in asked:
            op, held = asked[index], branches.list_of(inputs[0])
            place = branches.known(inputs[1]) if op.type == "TensorListGetItem" else None
            found.setdefault(op.name, []).append(None if held is None else _shapes(op, held, place))
    return {name: told[0] for name, told in found.items() if told[0] and all(other == told[0] for other in told)}


def _is_known(op: Op) -> bool:
    return all(tensor.shape is not None and None not in tensor.shape for tensor in op.outputs)


def _shapes(op: Op, held: List, place: list[int] | None) -> list[Shape] | None:
    """Shapes of an op's outputs, by the list that it reads and where in it; `None`: not all can be told."""
    shapes = [_shape(element) for element in held]
    if op.type == "TensorListStack":
        declared = op.outputs[0].shape
        one = next((shape for shape in shapes if shape is not None), declared[1:] if declared else None)
        told = None if one is None else [(len(held), *one)]
    elif op.type in _JOINS:
        known = [shape for shape in shapes if shape]
        told = None
        if known and len(known) == len(held) and None not in [shape[0] for shape in known]:
            told = [(sum(shape[0] or 0 for shape in known), *known[0][1:]), (len(held),)]
    elif op.type == "TensorListPopBack":
        told = [(), shapes[-1]] if shapes and shapes[-1] is not None else None
    else:
        inside = place is not None and 0 <= place[0] < len(shapes)
        told = [shapes[place[0]]] if place and inside and shapes[place[0]] is not None else None  # type: ignore[list-item]
    return None if told is None or any(None in shape for shape in told) else told


def _shape(element: Any) -> Shape | None:
    """The shape of an element of a list; `None`: not known, or a list itself."""
    if isinstance(element, Shaped):
        return element.shape
    return None if element is None or isinstance(element, tuple) else tuple(np.shape(element))
