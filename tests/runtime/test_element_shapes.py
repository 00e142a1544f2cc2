"""Shapes of what comes out of lists, told by how the lists were made: hand-built graphs."""

from __future__ import annotations

import pytest

from graphmem.graph.model import Op, StepGraph, Tensor
from graphmem.runtime.element_shapes import element_shapes

LIST = Tensor("variant", (), 0)
INT = Tensor("int32", (), 4)


def _rows(rows: int | None) -> Tensor:
    return Tensor("float32", (rows, 8), None if rows is None else rows * 32)


def _graph(sizes: list[int | None], *reads: tuple[str, tuple[Tensor, ...]]) -> StepGraph:
    """Matrices of so many rows pushed on a list, which ops of these types and outputs read; their input 1 is 1."""
    ops = [Op("one", "Const", (), (), (INT,), {"_value": 1}), Op("list", "EmptyTensorList", (), (), (LIST,))]
    for number, rows in enumerate(sizes):
        ops.append(Op(f"x{number}", "_Arg", (), (), (_rows(rows),), {"index": number}))
        ops.append(Op(f"push{number}", "TensorListPushBack", ((len(ops) - 2, 0), (len(ops) - 1, 0)), (), (LIST,)))
    ops += [Op(name, name, ((len(ops) - 1, 0), (0, 0)), (), outputs) for name, outputs in reads]
    return StepGraph(ops)


OPEN = Tensor("float32", None, None)
COUNT = Tensor("int64", (None,), None)


@pytest.mark.parametrize(
    ("sizes", "read", "told"),
    [
        ([4, 4, 4], ("TensorListStack", (OPEN,)), [(3, 4, 8)]),
        ([4, 4], ("TensorListStack", (Tensor("float32", (None, 4, 8), None),)), [(2, 4, 8)]),
        ([4, 6, 1], ("TensorListConcatV2", (OPEN, COUNT)), [(11, 8), (3,)]),
        ([4, 6, 1], ("TensorListGetItem", (OPEN,)), [(6, 8)]),
        ([4, 6, 1], ("TensorListPopBack", (LIST, OPEN)), [(), (1, 8)]),
    ],
)
def test_shapes_follow_from_what_the_list_was_given(
    sizes: list[int | None], read: tuple[str, tuple[Tensor, ...]], told: list[tuple[int, ...]]
) -> None:
    assert element_shapes(_graph(sizes, read)) == {read[0]: told}


@pytest.mark.parametrize(
    ("sizes", "read"),
    [
        ([4, None], ("TensorListConcatV2", (OPEN, COUNT))),
        ([4, None, 4], ("TensorListGetItem", (OPEN,))),
        ([4], ("TensorListGetItem", (OPEN,))),  # there is no element 1
        ([4, 4], ("TensorListStack", (Tensor("float32", (2, 4, 8), 256),))),  # known before
    ],
)
def test_nothing_is_told_that_does_not_follow(sizes: list[int | None], read: tuple[str, tuple[Tensor, ...]]) -> None:
    assert element_shapes(_graph(sizes, read)) == {}
