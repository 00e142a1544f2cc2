"""Recurrent cells as one op, quantised tensors, and single ops of decompositions and images."""

from __future__ import annotations

from typing import Any

from tests.ops.allocator import Case
from tests.ops.cases.make import Spec, f32, i32, unary

_STATE, _SEQUENCE = f32(8, 24), f32(5, 8, 24)
_PEEPHOLES = {name: f32(24) for name in ("wci", "wcf", "wco")}
_LSTM = {"cs_prev": _STATE, "h_prev": _STATE, "w": f32(40, 96), **_PEEPHOLES, "b": f32(96)}
_GRU = {
    "x": f32(8, 16),
    "h_prev": _STATE,
    "w_ru": f32(40, 48),
    "w_c": f32(40, 24),
    "b_ru": f32(48),
    "b_c": f32(24),
}
_GATES = ("i", "cs", "f", "o", "ci", "co")
_QUANTISED: Spec = ("quint8", (32, 48))
_IMAGES: Spec = ("quint8", (2, 16, 16, 8))
_POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}


def scalars(*names: str) -> dict[str, Any]:
    """Ends of ranges."""
    return {name: f32() for name in names}


RECURRENT = [
    *[
        Case(op, {"x": f32(5, 8, 16), **_LSTM}, {"seq_len_max": 5}, {}, {}, "int64")
        for op in ("BlockLSTM", "BlockLSTMV2")
    ],
    *[
        Case(
            op,
            {
                "x": f32(5, 8, 16),
                **_LSTM,
                **dict.fromkeys((*_GATES, "h", "cs_grad", "h_grad"), _SEQUENCE),
            },
            {"seq_len_max": 5},
            {"use_peephole": False},
            {},
            "int64",
        )
        for op in ("BlockLSTMGrad", "BlockLSTMGradV2")
    ],
    Case("LSTMBlockCell", {"x": f32(8, 16), **_LSTM}),
    Case(
        "LSTMBlockCellGrad",
        {"x": f32(8, 16), **_LSTM, **dict.fromkeys((*_GATES, "cs_grad", "h_grad"), _STATE)},
        {},
        {"use_peephole": False},
    ),
    Case("GRUBlockCell", _GRU),
    Case("GRUBlockCellGrad", {**_GRU, "r": _STATE, "u": _STATE, "c": _STATE, "d_h": _STATE}),
]

QUANTISED = [
    Case("QuantizeV2", {"input": f32(32, 48), **scalars("min_range", "max_range")}, {}, {"T": "quint8"}),
    Case("QuantizeV2", {"input": f32(32, 48), **scalars("min_range", "max_range")}, {}, {"T": "qint8"}),
    Case("Dequantize", {"input": _QUANTISED, **scalars("min_range", "max_range")}),
    Case("QuantizedRelu", {"features": _QUANTISED, **scalars("min_features", "max_features")}),
    Case(
        "QuantizedBiasAdd",
        {
            "input": _QUANTISED,
            "bias": ("quint8", (48,)),
            **scalars("min_input", "max_input", "min_bias", "max_bias"),
        },
        {},
        {"out_type": "qint32"},
    ),
    *[
        Case(op, {"input": _IMAGES, **scalars("min_input", "max_input")}, {}, _POOL)
        for op in ("QuantizedAvgPool", "QuantizedMaxPool")
    ],
    Case(
        "QuantizedConv2D",
        {
            "input": _IMAGES,
            "filter": ("quint8", (3, 3, 8, 16)),
            **scalars("min_input", "max_input", "min_filter", "max_filter"),
        },
        {},
        {"strides": [1, 1, 1, 1], "padding": "SAME"},
    ),
    Case(
        "QuantizeDownAndShrinkRange",
        {"input": ("qint32", (32, 48)), **scalars("input_min", "input_max")},
        {},
        {"out_type": "quint8"},
    ),
    Case("QuantizedReshape", {"tensor": _QUANTISED, **scalars("input_min", "input_max")}, {"shape": [48, 32]}),
    Case("BatchMatMulV3", {"x": ("int8", (32, 48)), "y": ("int8", (48, 64))}, {}, {"Tout": "int32"}),
    Case("BatchMatMulV3", {"x": ("int8", (4, 32, 48)), "y": ("int8", (64, 48))}, {}, {"Tout": "int32", "adj_y": True}),
    Case("BatchMatMulV3", {"x": ("bfloat16", (32, 48)), "y": ("int8", (48, 64))}, {}, {"Tout": "bfloat16"}),
    Case(
        "UniformQuantize",
        {"input": f32(32, 48), "scales": f32()},
        {"zero_points": 0},
        {"Tout": "qint8", "quantization_min_val": -128, "quantization_max_val": 127},
    ),
    Case(
        "UniformDequantize",
        {"input": ("qint8", (32, 48)), "scales": f32()},
        {"zero_points": 0},
        {"Tout": "float32", "quantization_min_val": -128, "quantization_max_val": 127},
    ),
    Case(
        "QuantizeAndDequantizeV4Grad",
        {"gradients": f32(32, 48), "input": f32(32, 48), **scalars("input_min", "input_max")},
    ),
    Case(
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        {"gradients": f32(32, 48), "inputs": f32(32, 48), "min": f32(48), "max": f32(48)},
    ),
]

SINGLE = [
    Case(
        "ScaleAndTranslateGrad",
        {"grads": f32(2, 8, 8, 64), "original_image": f32(2, 4, 4, 64), "scale": f32(2), "translation": f32(2)},
    ),
    Case("ExtractGlimpse", {"input": f32(2, 16, 16, 8), "offsets": f32(2, 2)}, {"size": [8, 8]}),
    Case("AudioSpectrogram", {"input": f32(2000, 2)}, {}, {"window_size": 64, "stride": 32}),
    Case("RandomIndexShuffle", {"index": i32(500)}, {"max_index": 1000}, {}, {"seed": [1, 2, 3]}),
    Case("SobolSample", {}, {}, {}, {"dim": 8, "num_results": 100, "skip": 3}),
    Case("ApproxTopK", {"input": f32(64, 128)}, {}, {"k": 32}),
    *unary("FFT3D", ("complex64", (2, 8, 8, 8)), "input"),
    *unary("FFT2D IFFT2D MatrixLogarithm MatrixSquareRoot", ("complex64", (2, 16, 16)), "input"),
    Case("IRFFT2D", {"input": ("complex64", (2, 16, 9))}, {"fft_length": [16, 16]}),
    Case("Eig", {"input": f32(32, 32)}, {}, {"Tout": "complex64"}),
    Case("LogMatrixDeterminant", {"input": f32(500, 4, 4)}),
    Case("MatrixSolveLs", {"matrix": f32(32, 32), "rhs": f32(32, 16), "l2_regularizer": ("float64", ())}),
    Case("BandedTriangularSolve", {"matrix": f32(3, 64), "rhs": f32(64, 16)}),
    Case(
        "TridiagonalMatMul",
        {"superdiag": f32(1, 64), "maindiag": f32(1, 64), "subdiag": f32(1, 64), "rhs": f32(64, 16)},
    ),
    *[
        Case(op, {"value": f32(2, 16, 16, 8)}, {}, {"pooling_ratio": [1.0, 1.5, 1.5, 1.0]})
        for op in ("FractionalMaxPool", "FractionalAvgPool")
    ],
    Case(
        "MaxPoolGradGrad",
        {"orig_input": f32(2, 16, 16, 8), "orig_output": f32(2, 8, 8, 8), "grad": f32(2, 16, 16, 8)},
        {},
        _POOL,
    ),
]

BLOCKS = [*RECURRENT, *QUANTISED, *SINGLE]
