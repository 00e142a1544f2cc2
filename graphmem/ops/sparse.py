"""Ops on sparse and ragged tensors; the sizes of what they make are often known only when they run."""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Env, Rule, register


def dense_values(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """What the dense tensor has at the places of the sparse one's values."""
    return [inputs[1].nbytes]


def copied_matrix(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The sparse matrix again: its indices and its values."""
    return [inputs[0].nbytes, inputs[1].nbytes]


def in_variant(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The matrix that a variant refers to: not known."""
    return [None]


register(
    "SparseTensorDenseMatMul SparseToDense SparseReshape SparseReorder SparseFillEmptyRows"
    " SparseFillEmptyRowsGrad SparseConcat SparseSlice SparseSliceGrad SparseReduceSum SparseAdd SparseAddGrad",
    Rule(source="sparse_tensor_dense_matmul_op.cc and others: measured"),
)
register(
    "SparseTensorDenseAdd SparseSparseMaximum SparseSparseMinimum SparseReduceMax SparseReduceMaxSparse"
    " SparseReduceSumSparse SparseSplit SparseBincount SparseToSparseSetOperation DenseToDenseSetOperation"
    " DenseToSparseSetOperation SetSize DenseCountSparseOutput SparseCountSparseOutput EditDistance",
    Rule(source="sparse_tensor_dense_add_op.cc, set_kernels.cc, count_ops.cc and others: measured"),
)
register("SparseSoftmax", Rule(cpu_scratch=copied_matrix, scratch_first=True, source="sparse_softmax_op.cc: measured"))
register("SparseCross SparseCrossV2 SparseCrossHashed", Rule(source="sparse_cross_op.cc"))
register(
    "SparseDenseCwiseMul SparseDenseCwiseAdd SparseDenseCwiseDiv",
    Rule(cpu_scratch=dense_values, source="sparse_dense_binary_op_shared.cc: measured"),
)
register(
    "SparseSegmentSumWithNumSegments SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments"
    " SparseSegmentSumGradV2 SparseSegmentMeanGradV2 SparseSegmentSqrtNGradV2",
    Rule(source="segment_reduction_ops.cc: measured"),
)
register(
    "RaggedTensorToTensor RaggedTensorToSparse RaggedGather RaggedRange RaggedCross RaggedBincount"
    " RaggedCountSparseOutput RaggedFillEmptyRows RaggedFillEmptyRowsGrad",
    Rule(source="ragged_tensor_to_tensor_op.cc, ragged_range_op.cc and others"),
)
register(
    "RaggedTensorToVariant RaggedTensorFromVariant RaggedTensorToVariantGradient SerializeSparse SerializeManySparse"
    " DeserializeSparse DeserializeManySparse AddSparseToTensorsMap AddManySparseToTensorsMap"
    " TakeManySparseFromTensorsMap",
    Rule(cpu_scratch=in_variant, source="ragged_tensor_to_variant_op.cc, serialize_sparse_op.cc"),
)
register(
    "SparseTensorToCSRSparseMatrix DenseToCSRSparseMatrix SparseMatrixSparseMatMul SparseMatrixTranspose"
    " SparseMatrixAdd SparseMatrixMul SparseMatrixSoftmax SparseMatrixSoftmaxGrad SparseMatrixZeros"
    " SparseMatrixSparseCholesky",
    Rule(cpu_scratch=in_variant, source="sparse/sparse_tensor_to_csr_sparse_matrix_op.cc and others"),
)
register(
    "CSRSparseMatrixToSparseTensor CSRSparseMatrixToDense CSRSparseMatrixComponents SparseMatrixMatMul SparseMatrixNNZ"
    " SparseMatrixOrderingAMD",
    Rule(source="sparse/csr_sparse_matrix_to_dense_op.cc and others"),
)
