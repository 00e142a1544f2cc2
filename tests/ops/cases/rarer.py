"""Ops of image augmentation, quantised training, sparse tensors and probability."""

from __future__ import annotations

from tests.ops.allocator import Case
from tests.ops.cases.make import binary, f16, f32, i32, unary

_IMAGES = f32(4, 16, 16, 3)
_INDICES = [[i, i] for i in range(100)]
_RATES = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"}
_NORM = {"scale": f32(512), "reserve_space_1": f32(512), "reserve_space_2": f32(512), "reserve_space_3": f32(512)}
_FEWER = {name: f32(48) for name in _NORM}

RARER = [
    Case("AdjustContrastv2", {"images": _IMAGES, "contrast_factor": f32()}),
    Case("AdjustHue", {"images": _IMAGES, "delta": f32()}),
    Case("AdjustSaturation", {"images": _IMAGES, "scale": f32()}),
    *unary("RGBToHSV HSVToRGB", _IMAGES, "images"),
    Case("DrawBoundingBoxesV2", {"images": _IMAGES, "boxes": f32(4, 5, 4), "colors": f32(2, 3)}),
    Case(
        "NonMaxSuppressionV3",
        {"boxes": f32(200, 4), "scores": f32(200)},
        {"max_output_size": 150},
        {"iou_threshold": 0.9, "score_threshold": 0.1},
    ),
    Case(
        "CropAndResize",
        {"image": f32(4, 16, 16, 8), "boxes": f32(4, 4)},
        {},
        {"crop_size": [8, 8], "box_ind": [0, 1, 2, 3]},
    ),
    Case(
        "ImageProjectiveTransformV3",
        {"images": f32(4, 16, 16, 8), "transforms": f32(4, 8), "fill_value": f32()},
        {"output_shape": [16, 16]},
        {"interpolation": "BILINEAR"},
    ),
    Case("Dilation2D", {"input": f32(2, 16, 16, 8), "filter": f32(3, 3, 8)}, {}, _RATES),
    Case("LRNGrad", {name: f32(2, 16, 16, 8) for name in ("input_grads", "input_image", "output_image")}),
    Case(
        "ExtractVolumePatches",
        {"input": f32(2, 8, 8, 8, 4)},
        {},
        {"ksizes": [1, 2, 2, 2, 1], "strides": [1] * 5, "padding": "SAME"},
    ),
    *[
        Case("FusedBatchNormGradV3", {"y_backprop": spec, "x": spec, **_NORM}, {}, {"is_training": training})
        for spec in (f16(4, 16, 16, 512), ("bfloat16", (4, 16, 16, 512)))
        for training in (True, False)
    ],
    *[
        Case("FusedBatchNormGradV3", {"y_backprop": spec, "x": spec, **_FEWER}, {}, {"is_training": training})
        for spec in (f32(4, 8, 8, 48), f16(4, 8, 8, 48), f32(1, 1, 1, 48))
        for training in (True, False)
    ],
    Case("AdjustContrastv2", {"images": f32(24, 8, 8, 3), "contrast_factor": f32()}),
    Case("FakeQuantWithMinMaxArgs", {"inputs": f32(32, 48)}),
    *binary("FakeQuantWithMinMaxArgsGradient", f32(32, 48), f32(32, 48), "gradients inputs"),
    Case("FakeQuantWithMinMaxVars", {"inputs": f32(32, 48)}, {}, {"min": -1.0, "max": 1.0}),
    Case("QuantizeAndDequantizeV2", {"input": f32(32, 48)}, {}, {"input_min": -1.0, "input_max": 1.0}),
    Case("IsotonicRegression", {"input": f32(32, 48)}),
    *binary("RandomGammaGrad", f32(32, 48), f32(32, 48), "alpha sample"),
    Case("StatelessRandomGammaV2", {"alpha": f32(32, 48)}, {"shape": [32, 48]}, {}, {"seed": [1, 2]}),
    Case("StatelessRandomUniformInt", {}, {"shape": [32, 48], "minval": 0, "maxval": 9}, {}, {"seed": [1, 2]}),
    Case("RandomPoissonV2", {"rate": f32(8)}, {"shape": [100]}),
    Case("RandomUniformInt", {}, {"shape": [32, 48], "minval": 0, "maxval": 9}),
    Case("Bincount", {"arr": i32(1000), "weights": f32(1000)}, {"size": 500}),
    Case("NthElement", {"input": f32(500, 8)}, {"n": 2}),
    Case("InplaceAdd", {"x": f32(32, 48), "v": f32(1, 48)}, {"i": [1]}),
    Case("Lu", {"input": f32(32, 32)}),
    *binary("CholeskyGrad", f32(32, 32), f32(32, 32), "l grad"),
    Case("TridiagonalSolve", {"diagonals": f32(3, 500), "rhs": f32(500, 1)}),
    Case(
        "SparseReshape",
        {},
        {},
        {},
        {"input_indices": _INDICES, "input_shape": [100, 100], "new_shape": [10000]},
        "int64",
    ),
    Case(
        "SparseTensorDenseMatMul",
        {"a_values": f32(100), "b": f32(100, 48)},
        {},
        {},
        {"a_indices": _INDICES, "a_shape": [100, 100]},
        "int64",
    ),
    Case(
        "SparseSegmentSumWithNumSegments",
        {"data": f32(16, 512), "indices": i32(4)},
        {"num_segments": 3},
        {},
        {"segment_ids": [0, 0, 1, 2]},
    ),
]
