"""Views that depend on shapes and constants."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.ops.registry import lookup
from tests.ops.predict import make_op, make_tensor


def view(kind: str, shape: Any, out: Any, consts: dict[int, Any] | None = None, **attrs: Any) -> int | None:
    rule = lookup(kind)
    assert rule is not None
    assert rule.view_if is not None
    data = make_tensor("float32", shape)
    outputs = tuple(make_tensor("float32", item) for item in (out if isinstance(out, list) else [out]))
    position = 1 if kind == "Split" else 0
    inputs = (make_tensor("int32", ()), data) if position else (data,)
    return rule.view_if(make_op(kind, outputs, attrs, consts), inputs)


@pytest.mark.parametrize(
    ("shape", "begin", "out", "expected"),
    [
        ((32, 16), [4, 0], (8, 16), 0),  # rows of 64 bytes
        ((32, 15), [4, 0], (8, 15), None),
        ((32, 16), [0, 8], (32, 8), None),
        ((32, 15), [0, 0], (32, 15), 0),
        ((64,), [16], (32,), 0),
        ((64,), [8], (32,), None),
        ((64,), [16], (30,), None),
        ((), [], (), 0),
        ((None, 16), [0, 0], (8, 16), None),
    ],
)
def test_slice(shape: tuple[int, ...], begin: list[int], out: tuple[int, ...], expected: int | None) -> None:
    assert view("Slice", shape, out, {1: begin}) == expected


def test_slice_from_an_unknown_place_is_a_view_if_rows_are_aligned() -> None:
    assert view("Slice", (32, 16), (8, 16)) == 0
    assert view("Slice", (32, 15), (8, 15)) is None
    assert view("Slice", (32, 16), (32, 8)) is None
    assert view("Slice", (64,), (32,)) is None


@pytest.mark.parametrize(
    ("begin", "end", "strides", "masks", "expected"),
    [
        ([0, 0], [8, 16], [1, 1], {}, 0),
        ([2], [4], [1], {}, 0),
        ([2], [4], [2], {}, None),
        ([-1], [0], [1], {"shrink_axis_mask": 1}, 0),
        ([0, 1], [0, 2], [1, 1], {"begin_mask": 1, "end_mask": 1}, None),
        ([0, 0], [0, 0], [1, 1], {"ellipsis_mask": 1, "new_axis_mask": 2}, 0),
        ([0, 3], [0, 5], [1, 1], {"new_axis_mask": 1}, 0),
        ([0, 0], [0, 0], [-1, 1], {"begin_mask": 3, "end_mask": 3}, None),
    ],
)
def test_strided_slice(
    begin: list[int], end: list[int], strides: list[int], masks: dict[str, int], expected: int | None
) -> None:
    assert view("StridedSlice", (8, 16), (8, 16), {1: begin, 2: end, 3: strides}, **masks) == expected


@pytest.mark.parametrize(
    ("shape", "strides", "masks", "expected"),
    [
        ((8, 16), [1], {}, 0),
        ((8, 15), [1], {}, None),
        ((8, 16), [2], {}, None),
        ((64,), [1], {}, None),
        ((8, 4, 16), [1], {"shrink_axis_mask": 1}, 0),
        ((8, 16), [1, 1], {}, None),
        ((8, 16), [1, 1], {"begin_mask": 2, "end_mask": 2}, 0),
        ((8, 4, 16), [1, 1], {"shrink_axis_mask": 3}, None),
        ((8, 16), [1, 1], {"ellipsis_mask": 1, "shrink_axis_mask": 2}, None),
        ((8, 16), [1, 1], {"new_axis_mask": 1}, None),
    ],
)
def test_strided_slice_from_an_unknown_place(
    shape: tuple[int, ...], strides: list[int], masks: dict[str, int], expected: int | None
) -> None:
    assert view("StridedSlice", shape, None, {3: strides}, **masks) == expected


@pytest.mark.parametrize(
    ("shape", "axis", "parts", "expected"),
    [((8, 16), 0, 2, 1), ((8, 16), -2, 2, 1), ((8, 15), 0, 2, None), ((8, 16), 1, 2, None), ((8, 15), 1, 1, 1)],
)
def test_split(shape: tuple[int, ...], axis: int, parts: int, expected: int | None) -> None:
    assert view("Split", shape, [shape] * parts, {0: axis}) == expected


@pytest.mark.parametrize(
    ("shape", "perm", "expected"),
    [
        ((8, 1, 5), [1, 0, 2], 0),
        ((8, 1, 5), [2, 1, 0], None),
        ((8, 5), [0, 1], 0),
        ((8, 5), None, None),
        ((8,), [0], 0),
    ],
)
def test_transpose(shape: tuple[int, ...], perm: list[int] | None, expected: int | None) -> None:
    assert view("Transpose", shape, shape, {} if perm is None else {1: perm}) == expected


def test_unpack_along_axis_0_only() -> None:
    assert view("Unpack", (4, 16), [(16,)] * 4, axis=0) == 0
    assert view("Unpack", (4, 15), [(15,)] * 4, axis=0) is None
    assert view("Unpack", (16, 4), [(16,)] * 4, axis=1) is None


def test_pack_of_one_is_a_view() -> None:
    assert view("Pack", (4, 5), (1, 4, 5)) == 0


def test_reduction_that_changes_nothing() -> None:
    assert view("Sum", (8, 1, 5), (8, 5), {1: [1]}) == 0
    assert view("Sum", (8, 2, 5), (8, 5), {1: [1]}) is None
    assert view("Sum", (8, 2, 5), (8, 2, 5), {1: []}) == 0
