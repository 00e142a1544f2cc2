"""Ops on sparse tensors, whose parts are three dense ones; their sizes are often known only when they run."""

from __future__ import annotations

from graphmem.ops.registry import Rule, register

register(
    "SparseTensorDenseMatMul SparseToDense SparseReshape SparseReorder SparseFillEmptyRows"
    " SparseFillEmptyRowsGrad SparseConcat SparseSlice SparseSliceGrad SparseReduceSum SparseAdd SparseAddGrad",
    Rule(source="sparse_tensor_dense_matmul_op.cc and others: measured"),
)
register(
    "SparseSegmentSumWithNumSegments SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments",
    Rule(source="segment_reduction_ops.cc: measured"),
)
