"""Products and decompositions of matrices."""

from __future__ import annotations

from graphmem.ops.registry import Rule, register

register("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3", Rule(source="matmul_op_impl.h: measured"))
register("_FusedMatMul", Rule(source="matmul_op_fused.cc: measured"))
register("SparseMatMul SparseTensorDenseMatMul", Rule(source="sparse_tensor_dense_matmul_op.cc"))
register(
    "MatrixDiag MatrixDiagV2 MatrixDiagV3 MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3",
    Rule(source="matrix_diag_op.cc"),
)
register(
    "MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MatrixBandPart",
    Rule(forward=((0, (0,)),), source="matrix_set_diag_op.cc, matrix_band_part_op.cc"),
)
register("Diag DiagPart Cross Trace", Rule(source="diag_op.cc, cross_op.cc"))
register(
    "Cholesky CholeskyGrad LogMatrixDeterminant MatrixDeterminant MatrixInverse MatrixSolve MatrixSolveLs"
    " MatrixTriangularSolve MatrixSquareRoot MatrixExponential Qr SelfAdjointEig SelfAdjointEigV2 Eig Svd Lu"
    " TridiagonalSolve TridiagonalMatMul BandedTriangularSolve",
    Rule(source="linalg_ops_common.cc"),
)
register("FFT FFT2D FFT3D IFFT IFFT2D IFFT3D RFFT RFFT2D RFFT3D IRFFT IRFFT2D IRFFT3D", Rule(source="fft_ops.cc"))
