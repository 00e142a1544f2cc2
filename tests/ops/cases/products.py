"""Matrix products, einsum, decompositions, losses."""

from __future__ import annotations

from tests.ops.allocator import Case
from tests.ops.cases.make import f16, f32, i32


def einsum(equation: str, *shapes: tuple[int, ...], dtype: str = "float32") -> Case:
    return Case("Einsum", {"inputs": [(dtype, shape) for shape in shapes]}, {}, {"equation": equation})


PRODUCTS = [
    Case("MatMul", {"a": f32(32, 48), "b": f32(48, 64)}),
    Case("MatMul", {"a": f32(48, 32), "b": f32(48, 64)}, {}, {"transpose_a": True}),
    Case("MatMul", {"a": f32(32, 48), "b": f32(64, 48)}, {}, {"transpose_b": True}),
    Case("MatMul", {"a": f16(32, 48), "b": f16(48, 64)}),
    Case("MatMul", {"a": f16(48, 32), "b": f16(48, 64)}, {}, {"transpose_a": True}),
    Case("MatMul", {"a": i32(32, 48), "b": i32(48, 64)}),
    Case("MatMul", {"a": ("bfloat16", (32, 48)), "b": ("bfloat16", (48, 64))}),
    Case("MatMul", {"a": f16(1, 512), "b": f16(512, 512)}),
    Case("MatMul", {"a": f16(512, 512), "b": f16(512, 1)}),
    Case("MatMul", {"a": f32(1, 512), "b": f32(512, 512)}),
    Case("MatMul", {"a": f32(512, 512), "b": f32(512, 1)}),
    Case("BatchMatMulV2", {"x": f32(4, 32, 48), "y": f32(4, 48, 64)}),
    Case("BatchMatMulV2", {"x": f32(4, 48, 32), "y": f32(4, 48, 64)}, {}, {"adj_x": True}),
    Case("BatchMatMulV2", {"x": f32(4, 32, 48), "y": f32(48, 64)}),
    Case("BatchMatMulV2", {"x": f16(4, 32, 48), "y": f16(4, 48, 64)}),
    Case("BatchMatMulV2", {"x": f16(4, 32, 48), "y": f16(48, 64)}),
    *[
        Case(
            "_FusedMatMul",
            {"a": (t, (32, 48)), "b": (t, (48, 64)), "args": [(t, (64,))]},
            {},
            {"num_args": 1, "fused_ops": ["BiasAdd", "Relu"][:n]},
        )
        for t in ("float32", "float16", "bfloat16")
        for n in (1, 2)
    ],
    Case("BatchMatMulV2", {"x": ("bfloat16", (4, 32, 48)), "y": ("bfloat16", (4, 48, 64))}),
    Case("BatchMatMulV3", {"x": f32(4, 32, 48), "y": f32(4, 48, 64)}, {}, {"Tout": "float32"}),
    einsum("abc,cd->abd", (4, 16, 32), (32, 48)),
    einsum("abc,cde->abde", (4, 16, 32), (32, 4, 12)),
    einsum("abd,cd->abc", (4, 16, 48), (32, 48)),
    einsum("abde,cde->abc", (4, 16, 4, 12), (32, 4, 12)),
    einsum("aecd,abcd->acbe", (2, 16, 4, 8), (2, 12, 4, 8)),
    einsum("acbe,aecd->abcd", (2, 4, 12, 16), (2, 16, 4, 8)),
    einsum("acbe,abcd->aecd", (2, 4, 12, 16), (2, 12, 4, 8)),
    einsum("abcd,aecd->acbe", (2, 12, 4, 8), (2, 16, 4, 8)),
    einsum("ab,bc->ac", (32, 48), (48, 64)),
    einsum("ba,bc->ac", (48, 32), (48, 64)),
    einsum("ab,cb->ac", (32, 48), (64, 48)),
    einsum("ab,bc->ca", (32, 48), (48, 64)),
    einsum("ab,cd->abcd", (32, 4), (4, 8)),
    einsum("ab,ab->a", (512, 48), (512, 48)),
    einsum("abc->acb", (4, 32, 48)),
    einsum("abc->ab", (4, 128, 48)),
    einsum("abc->ac", (4, 32, 128)),
    einsum("abc->abc", (4, 32, 48)),
    einsum("abc,b->ac", (4, 32, 128), (32,)),
    einsum("abc,abd->acd", (4, 16, 32), (4, 16, 24)),
    einsum("abc,dc->ad", (32, 4, 16), (24, 16)),
    einsum("...ab,...bc->...ac", (4, 16, 32), (4, 32, 24)),
    einsum("...ab,bc->...ac", (4, 16, 32), (32, 24)),
    einsum("...x,xy->...y", (4, 16, 32), (32, 24)),
    einsum("a...b,bc->c...a", (16, 4, 32), (32, 24)),
    einsum("abc,cd->abd", (4, 16, 32), (32, 48), dtype="float16"),
    einsum("aecd,abcd->acbe", (2, 16, 4, 8), (2, 12, 4, 8), dtype="bfloat16"),
    einsum("abc->ca", (16, 4, 64)),
    einsum("abc,d->adb", (16, 32, 4), (8,)),
    einsum("ij,jk->ik", (1, 512), (512, 512)),
    Case("Cholesky", {"input": f32(2048, 1, 1)}),
    Case(
        "MatrixBandPart",
        {
            "input": f32(32, 48),
        },
        {"num_lower": -1, "num_upper": 0},
    ),
    Case("MatrixDiagPart", {"input": f32(512, 512)}),
    Case("MatrixDiag", {"diagonal": f32(64)}),
    Case("MatrixSetDiag", {"input": f32(64, 64), "diagonal": f32(64)}),
    Case("Svd", {"input": f32(32, 24)}),
    Case("Qr", {"input": f32(32, 24)}),
    Case("MatrixInverse", {"input": f32(32, 32)}),
    Case("SelfAdjointEigV2", {"input": f32(32, 32)}),
    Case("MatrixDeterminant", {"input": f32(32, 32)}),
    Case("MatrixTriangularSolve", {"matrix": f32(32, 32), "rhs": f32(32, 32)}),
    Case("MatrixSolve", {"matrix": f32(32, 32), "rhs": f32(32, 32)}),
    Case("RFFT", {"input": f32(16, 64)}, {"fft_length": [64]}),
    Case("FFT", {"input": ("complex64", (16, 64))}),
    Case("RFFT2D", {"input": f32(4, 16, 64)}, {"fft_length": [16, 64]}),
    Case("IRFFT", {"input": ("complex64", (16, 33))}, {"fft_length": [64]}),
]

LOSSES = [
    Case("SparseSoftmaxCrossEntropyWithLogits", {"features": f32(512, 10), "labels": i32(512)}),
    Case("SparseSoftmaxCrossEntropyWithLogits", {"features": f16(512, 10), "labels": i32(512)}),
    Case("SoftmaxCrossEntropyWithLogits", {"features": f32(512, 10), "labels": f32(512, 10)}),
    Case("SoftmaxCrossEntropyWithLogits", {"features": f32(512, 10), "labels": f32(1, 10)}),
    Case("TopKV2", {"input": f32(64, 128)}, {"k": 32}),
    Case("InTopKV2", {"predictions": f32(512, 10), "targets": i32(512)}, {"k": 3}),
]
