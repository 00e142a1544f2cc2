"""Pooling, resizing, normalisation of images, fused ops."""

from __future__ import annotations

from tests.ops.allocator import Case
from tests.ops.cases.make import f16, f32

POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
POOL3 = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "VALID"}
FUSED = {"padding": "SAME", "strides": [1, 1, 1, 1], "num_args": 1}
IMAGE_OPS = [
    *[
        Case(
            "_FusedConv2D",
            {"x": (t, (2, 16, 16, 8)), "w": (t, (3, 3, 8, 16)), "args": [(t, (16,))]},
            {},
            {**FUSED, "fused_ops": ["BiasAdd", "Relu"][:n]},
        )
        for t in ("float32", "float64")
        for n in (1, 2)
    ],
    Case("_UnaryOpsComposition", {"x": f32(32, 48)}, {}, {"op_names": ["Neg", "Exp"]}),
    Case("MaxPool", {"input": f32(4, 32, 32, 16)}, {}, POOL),
    Case("MaxPool", {"input": f16(4, 32, 32, 16)}, {}, POOL),
    Case("AvgPool", {"value": f32(4, 32, 32, 16)}, {}, POOL),
    Case(
        "MaxPoolGrad",
        {"orig_input": f32(4, 32, 32, 16), "orig_output": f32(4, 16, 16, 16), "grad": f32(4, 16, 16, 16)},
        {},
        POOL,
    ),
    Case(
        "MaxPoolGrad",
        {"orig_input": f16(4, 32, 32, 16), "orig_output": f16(4, 16, 16, 16), "grad": f16(4, 16, 16, 16)},
        {},
        POOL,
    ),
    Case("AvgPoolGrad", {"grad": f32(4, 16, 16, 16)}, {"orig_input_shape": [4, 32, 32, 16]}, POOL),
    Case("MaxPool3D", {"input": f32(2, 8, 16, 16, 8)}, {}, POOL3),
    Case("AvgPool3D", {"input": f32(2, 8, 16, 16, 8)}, {}, POOL3),
    Case(
        "MaxPool3DGrad",
        {"orig_input": f32(2, 8, 16, 16, 8), "orig_output": f32(2, 4, 8, 8, 8), "grad": f32(2, 4, 8, 8, 8)},
        {},
        POOL3,
    ),
    Case("AvgPool3DGrad", {"grad": f32(2, 4, 8, 8, 8)}, {"orig_input_shape": [2, 8, 16, 16, 8]}, POOL3),
    Case("MaxPoolWithArgmax", {"input": f32(4, 32, 32, 16)}, {}, POOL),
    *[
        Case(op, {"images": f32(4, 16, 16, 16)}, {"size": [32, 32]})
        for op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea")
    ],
    *[
        Case(op, {"grads": f32(4, 32, 32, 16), "original_image": f32(4, 16, 16, 16)})
        for op in ("ResizeBilinearGrad", "ResizeBicubicGrad")
    ],
    Case("ResizeNearestNeighborGrad", {"grads": f32(4, 32, 32, 16)}, {"size": [16, 16]}),
    Case("BiasAddGrad", {"out_backprop": f32(4, 32, 32, 512)}),
    Case("BiasAddGrad", {"out_backprop": f16(4, 32, 32, 512)}),
    *[
        Case("BiasAddGrad", {"out_backprop": (dtype, shape)})
        for dtype in ("float32", "float16", "bfloat16", "float64")
        for shape in ((4, 16, 16, 63), (33, 64), (3, 64), (1, 64), (4, 65), (2000, 33))
    ],
    Case("LRN", {"input": f32(4, 16, 16, 16)}),
    Case("L2Loss", {"t": f32(64, 64)}),
    Case("SpaceToDepth", {"input": f32(4, 16, 16, 16)}, {}, {"block_size": 2}),
    Case("DepthToSpace", {"input": f32(4, 16, 16, 16)}, {}, {"block_size": 2}),
    Case(
        "ExtractImagePatches",
        {"images": f32(4, 16, 16, 16)},
        {},
        {"ksizes": [1, 3, 3, 1], "strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"},
    ),
    Case(
        "FusedBatchNormV3",
        {"x": f32(4, 16, 16, 512), "scale": f32(512), "offset": f32(512), "mean": f32(512), "variance": f32(512)},
        {},
        {"is_training": True},
    ),
    Case(
        "FusedBatchNormV3",
        {"x": f32(4, 16, 16, 512), "scale": f32(512), "offset": f32(512), "mean": f32(512), "variance": f32(512)},
        {},
        {"is_training": False},
    ),
    Case(
        "FusedBatchNormV3",
        {"x": f32(4, 16, 16, 512), "scale": f32(512), "offset": f32(512), "mean": f32(512), "variance": f32(512)},
        {},
        {"is_training": True, "exponential_avg_factor": 0.5},
    ),
    Case(
        "FusedBatchNormV3",
        {"x": f16(4, 16, 16, 512), "scale": f32(512), "offset": f32(512), "mean": f32(512), "variance": f32(512)},
        {},
        {"is_training": True},
    ),
    Case(
        "FusedBatchNormGradV3",
        {
            "y_backprop": f32(4, 16, 16, 512),
            "x": f32(4, 16, 16, 512),
            "scale": f32(512),
            "reserve_space_1": f32(512),
            "reserve_space_2": f32(512),
            "reserve_space_3": f32(512),
        },
        {},
        {"is_training": True},
    ),
    Case(
        "FusedBatchNormGradV3",
        {
            "y_backprop": f32(4, 16, 16, 512),
            "x": f32(4, 16, 16, 512),
            "scale": f32(512),
            "reserve_space_1": f32(512),
            "reserve_space_2": f32(512),
            "reserve_space_3": f32(512),
        },
        {},
        {"is_training": False},
    ),
]
