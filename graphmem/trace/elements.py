"""Shapes of what comes out of the stacks and TensorArrays of TensorFlow 1: those of what went in."""

from __future__ import annotations

from typing import Any

from graphmem.trace.noted import Shape, note, shape_of
from graphmem.trace.splice import CALL

#: Ops that give an object a tensor: the tensor's input position. All that an object is given has one shape.
_GIVEN = {"StackPushV2": 1, "TensorArrayWriteV3": 2, "TensorArrayScatterV3": 2}
_HANDED_ON = ("StackPopV2", "TensorArrayReadV3", "TensorArrayGatherV3")
#: Ops that hand a handle on; an array of gradients holds what has the shapes of the array's elements.
_SAME = ("Enter", "Identity", "Switch", "TensorArrayGradV3", CALL, "IdentityN")


def tell(graph_def: Any, found: dict[str, list[tuple[str, Shape]]]) -> bool:
    """Note the shapes of what objects hand on that shape inference did not find.

    Args:
        graph_def: changed in place: `_output_shapes`.
        found: (dtype, shape) of each output, by node.

    Returns:
        Whether any is new.
    """
    nodes = {node.name: node for node in graph_def.node}
    held: dict[str, Shape] = {}
    for node in graph_def.node:
        if node.op in _GIVEN:
            shape = shape_of(node.input[_GIVEN[node.op]], found)
            if shape is not None and node.op == "TensorArrayScatterV3":
                shape = shape[1:]
            if shape is not None and None not in shape:
                held[_maker(node.input[0], nodes)] = shape
    new = False
    for node in graph_def.node if held else ():
        if node.op in _HANDED_ON:
            before = found[node.name][0][1]
            element = held.get(_maker(node.input[0], nodes))
            if element is None or (before is not None and None not in before):
                continue
            shape = element if node.op != "TensorArrayGatherV3" else _stacked(node, element, found)
            if shape is not None and shape != before:
                note(node, [shape])
                new = True
    return new


def _stacked(node: Any, element: tuple[int | None, ...], found: dict[str, list[tuple[str, Shape]]]) -> Shape:
    indices = shape_of(node.input[1], found)
    return None if indices is None else (*indices, *element)


def _maker(handle: str, nodes: dict[str, Any]) -> str:
    """The op that made an object, by a handle of it."""
    name, _, slot = handle.partition(":")
    while nodes[name].op in _SAME:
        place = int(slot or 0) if nodes[name].op in (CALL, "IdentityN") else 0
        name, _, slot = nodes[name].input[place].partition(":")
    return name
