"""Reductions: their result is new; some orders of axes need a transposed copy of the input first."""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Env, Rule, register
from graphmem.ops.sizes import constant, known

#: A sum over rows divides the rows among threads up to so many columns for each thread; beyond, the columns.
_MOST_COLUMNS = 32
#: Additions that a block of rows takes at least.
_LEAST_WORK = 2000


def runs(shape: tuple[int, ...], axes: list[int]) -> list[bool]:
    """The merged axes, in order: whether each is reduced. Axes of size 1 join the one before.

    >>> runs((8, 28, 28, 3), [0, 1, 2]), runs((8, 28, 28, 3), [0, 2]), runs((1, 1), [0])
    ([True, False], [True, False, True, False], [])
    """
    reduced = {axis % len(shape) for axis in axes} if shape else set()
    merged: list[bool] = []
    for axis, dim in enumerate(shape):
        if dim != 1 and (not merged or merged[-1] != (axis in reduced)):
            merged.append(axis in reduced)
    return merged


def reduction_view(op: Op, inputs: tuple[Tensor, ...]) -> int | None:
    """If it changes no value: over no axes, or over axes of size 1 only."""
    shape, axes = known(inputs[0].shape), constant(op, 1)
    if shape is None or axes is None:
        return None
    return 0 if runs(shape, axes) in ([], [False]) else None


def transposed_copy(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """A transposed copy of the input, unless the axes reduced lie together or to both sides of those kept."""
    shape, axes = known(inputs[0].shape), constant(op, 1)
    if shape is not None and len(shape) <= 2:
        return []
    if shape is None or axes is None:
        return [None]
    return [inputs[0].nbytes] if len(runs(shape, axes)) > 3 else []


def partial_sums(rows: int | None, columns: int | None, threads: int) -> int | None:
    """Numbers in the buffer in which a sum over rows gathers one row for each block of them; 0 where there is none.

    `None`: unknown, as rows or columns are.

    `ReduceOuterDimensions` (redux_functor.h): no more blocks than threads or rows, and none too small. Where columns
    are divided instead there is no tensor.

    >>> partial_sums(4, 32, 2), partial_sums(4, 65, 2), partial_sums(1, 32, 2), partial_sums(8, 16, 16)
    (64, 0, 0, 32)
    >>> partial_sums(None, 65, 2), partial_sums(None, 32, 2)
    (0, None)
    """
    if (rows is not None and rows <= 1) or (columns is not None and not 0 < columns <= _MOST_COLUMNS * threads):
        return 0
    if rows is None or columns is None:
        return None
    least_rows = -(-_LEAST_WORK // columns)
    return min(rows, -(-rows * columns // least_rows), threads) * columns


register(
    "Sum Mean Prod Max Min All Any",
    Rule(
        view_if=reduction_view,
        cpu_scratch=transposed_copy,
        gpu_scratch=transposed_copy,
        source="reduction_ops_common.h",
    ),
)
register(
    "EuclideanNorm", Rule(cpu_scratch=transposed_copy, gpu_scratch=transposed_copy, source="reduction_ops_common.h")
)
register("ArgMax ArgMin Cumsum Cumprod CumulativeLogsumexp", Rule(source="argmax_op.cc, scan_ops.cc: measured"))
register(
    "SegmentSum SegmentMean SegmentMax SegmentMin SegmentProd SegmentSumV2 SegmentMaxV2 SegmentMinV2"
    " SegmentProdV2 UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd SparseSegmentSum"
    " SparseSegmentMean SparseSegmentSqrtN SparseSegmentSumGrad SparseSegmentMeanGrad SparseSegmentSqrtNGrad",
    Rule(source="segment_reduction_ops.cc: measured"),
)
