"""Shapes of crossed features: of dense inputs alone every combination of a row is there, so that all sizes are known.

`SparseCross` and its kin make one value per row and per choice of one column of each input (sparse_cross_op.cc).
"""

from __future__ import annotations

from math import prod
from typing import Any

from graphmem.trace.noted import Shape, note, shape_of

_CROSSES = ("SparseCross", "SparseCrossV2", "SparseCrossHashed")


def tell(graph_def: Any, found: dict[str, list[tuple[str, Shape]]]) -> bool:
    """Note the shapes of crosses of dense inputs and of the dense tensors made of them.

    Args:
        graph_def: changed in place: `_output_shapes`.
        found: (dtype, shape) of each output, by node.

    Returns:
        Whether any is new.
    """
    dense: dict[str, tuple[int, int]] = {}
    for node in graph_def.node:
        if node.op in _CROSSES and not node.attr["N"].i:
            shapes = [shape_of(source, found) for source in node.input[: len(node.attr["dense_types"].list.type)]]
            if shapes and all(shape is not None and len(shape) == 2 and None not in shape for shape in shapes):
                dense[node.name] = shapes[0][0], prod(shape[1] for shape in shapes)
    new = False
    for node in graph_def.node if dense else ():
        if node.name in dense:
            rows = prod(dense[node.name])
            new |= _told(node, [(rows, 2), (rows,), (2,)], found)
        elif node.op == "SparseToDense":
            cross, _, slot = node.input[1].partition(":")
            if slot == "2" and cross in dense:
                new |= _told(node, [dense[cross]], found)
    return new


def _told(node: Any, shapes: list[tuple[int, ...]], found: dict[str, list[tuple[str, Shape]]]) -> bool:
    if [shape for _, shape in found[node.name]] == shapes:
        return False
    note(node, shapes)
    return True
