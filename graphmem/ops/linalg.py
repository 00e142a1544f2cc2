"""Products and decompositions of matrices."""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Env, Rule, register
from graphmem.ops.sizes import copy_of

IN_PLACE = tuple((slot, (0,)) for slot in range(3))
"""Any one output may take over the matrix."""


def product_copies(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """Copies of operands of another type than the product, in its type; of 16-bit ones and the product, in float32."""
    product = op.outputs[0]
    if others := [tensor for tensor in inputs[:2] if tensor.dtype != product.dtype]:
        return [copy_of(tensor, product.dtype) for tensor in others]
    if product.dtype not in ("float16", "bfloat16"):
        return []
    return [copy_of(tensor, "float32") for tensor in (*inputs[:2], product)]


register("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3", Rule(cpu_scratch=product_copies, source="matmul_op_impl.h"))
register("_FusedMatMul", Rule(source="matmul_op_fused.cc: measured"))
register("SparseMatMul", Rule(source="sparse_matmul_op.cc"))
register(
    "MatrixDiag MatrixDiagV2 MatrixDiagV3 MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3",
    Rule(source="matrix_diag_op.cc"),
)
register(
    "MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MatrixBandPart",
    Rule(forward=((0, (0,)),), source="matrix_set_diag_op.cc, matrix_band_part_op.cc"),
)
register("Diag DiagPart Cross", Rule(source="diag_op.cc, cross_op.cc"))
register("SelfAdjointEigV2 Svd Qr Lu", Rule(forward=IN_PLACE, source="linalg_ops_common.cc"))
register(
    "Cholesky CholeskyGrad MatrixInverse MatrixSquareRoot MatrixExponential MatrixLogarithm",
    Rule(forward=((0, (0,)),), source="linalg_ops_common.cc"),
)
register(
    "LogMatrixDeterminant MatrixDeterminant MatrixSolve MatrixSolveLs MatrixTriangularSolve SelfAdjointEig Eig"
    " TridiagonalSolve TridiagonalMatMul BandedTriangularSolve",
    Rule(source="linalg_ops_common.cc"),
)
register(
    "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D RFFT RFFT2D RFFT3D IRFFT IRFFT2D IRFFT3D FFTND IFFTND RFFTND IRFFTND",
    Rule(source="fft_ops.cc"),
)
