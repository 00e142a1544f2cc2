"""Element by element ops: forwarding."""

from __future__ import annotations

from tests.ops.allocator import Case
from tests.ops.cases.make import binary, boolean, f16, f32, i32, unary

UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0"
    " BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Ceil Cos Cosh Dawsn Digamma Erf Erfc Erfinv Exp Expint Expm1"
    " Floor FresnelCos FresnelSin Inv Lgamma Log Log1p Ndtri Neg Reciprocal Rint Round Rsqrt Sigmoid Sign Sin Sinh"
    " Spence Sqrt Square Tan Tanh OnesLike ZerosLike"
)
BINARY = (
    "Add AddV2 Atan2 Div DivNoNan FloorDiv FloorMod Maximum Minimum Mul MulNoNan Pow RealDiv SquaredDifference"
    " Sub Xdivy Xlog1py Xlogy Mod"
)

ELEMENTWISE = [
    *unary(UNARY, f32(32, 48)),
    *unary("Neg Sigmoid Tanh Exp", f16(32, 48)),
    *unary("Neg Abs Sign Square Invert PopulationCount", i32(32, 48)),
    *unary("IsFinite IsInf IsNan", f32(32, 48)),
    *unary("LogicalNot", boolean(32, 48)),
    *unary("Elu LeakyRelu Relu Relu6 Selu Softplus Softsign", f32(32, 48), "features"),
    *unary("Relu", f16(32, 48), "features"),
    *unary("Softmax LogSoftmax", f32(32, 48), "logits"),
    *unary("Softmax", f16(32, 48), "logits"),
    *unary("Softmax", f32(4, 4, 32, 48), "logits"),
    *unary("Snapshot Identity StopGradient PreventGradient", f32(32, 48), "input"),
    *binary(BINARY, f32(32, 48), f32(32, 48)),
    *binary("Mul AddV2 Sub RealDiv Maximum", f32(32, 48), f32()),
    *binary("Mul AddV2 Sub RealDiv Maximum", f32(), f32(32, 48)),
    *binary("Mul AddV2 Sub Minimum", f32(32, 48), f32(48)),
    *binary("Mul AddV2 Sub Minimum", f32(32, 1), f32(1, 48)),
    *binary("Mul AddV2", f32(1, 32, 48), f32(32, 48)),
    *binary("Mul", f32(1, 2048), f32(2048, 1)),
    *binary("Mul AddV2 Sub", f16(32, 48), f16(32, 48)),
    *binary("Mul AddV2 Sub Maximum", i32(32, 48), i32(32, 48)),
    *binary("BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift", i32(32, 48), i32(32, 48)),
    *binary("Equal NotEqual Less Greater GreaterEqual LessEqual", f32(32, 48), f32(32, 48)),
    *binary("LogicalAnd LogicalOr Equal NotEqual", boolean(32, 48), boolean(32, 48)),
    *binary("RsqrtGrad SigmoidGrad SqrtGrad TanhGrad InvGrad ReciprocalGrad", f32(32, 48), f32(32, 48), "y dy"),
    *binary(
        "ReluGrad Relu6Grad LeakyReluGrad SoftplusGrad SoftsignGrad", f32(32, 48), f32(32, 48), "gradients features"
    ),
    *binary("EluGrad SeluGrad", f32(32, 48), f32(32, 48), "gradients outputs"),
    *binary("BiasAdd", f32(32, 48), f32(48), "value bias"),
    Case("BiasAdd", {"value": f32(4, 8, 8, 16), "bias": f32(16)}),
    Case("AddN", {"inputs": [f32(32, 48), f32(32, 48), f32(32, 48)]}),
    Case("AddN", {"inputs": [f32(32, 48)]}),
    Case("Select", {"condition": boolean(32, 48), "x": f32(32, 48), "y": f32(32, 48)}),
    Case("Select", {"condition": boolean(32), "x": f32(32, 48), "y": f32(32, 48)}),
    Case("Select", {"condition": boolean(), "x": f32(32, 48), "y": f32(32, 48)}),
    Case("SelectV2", {"condition": boolean(32, 48), "t": f32(32, 48), "e": f32(32, 48)}),
    Case("SelectV2", {"condition": boolean(32, 48), "t": f32(32, 48), "e": f32()}),
    Case("SelectV2", {"condition": boolean(32, 48), "t": f32(), "e": f32(32, 48)}),
    Case("SelectV2", {"condition": boolean(32, 1), "t": f32(32, 48), "e": f32(32, 48)}),
    Case("ClipByValue", {"t": f32(32, 48), "clip_value_min": f32(), "clip_value_max": f32()}),
    Case("ClipByValue", {"t": f32(32, 48), "clip_value_min": f32(32, 48), "clip_value_max": f32(32, 48)}),
    Case("Betainc", {"a": f32(32, 48), "b": f32(32, 48), "x": f32(32, 48)}),
    Case("Cast", {"x": f32(32, 48)}, {}, {"DstT": "float16"}),
    Case("Cast", {"x": f32(32, 48)}, {}, {"DstT": "float32"}),
    Case("Cast", {"x": f32(32, 48)}, {}, {"DstT": "int32"}),
    Case("Cast", {"x": boolean(32, 48)}, {}, {"DstT": "float32"}),
    Case("Complex", {"real": f32(32, 48), "imag": f32(32, 48)}),
    *unary("Real Imag Angle Conj", ("complex64", (32, 48)), "input"),
    *unary("ComplexAbs", ("complex64", (32, 48))),
    *unary("Sqrt", ("float64", (32, 48))),
    *unary("Relu", ("bfloat16", (32, 48)), "features"),
    *[Case(op, {"a": f32(32, 48), "x": f32(32, 48)}) for op in ("Igamma", "Igammac", "IgammaGradA", "Polygamma")],
    Case("Zeta", {"x": f32(32, 48), "q": f32(32, 48)}),
    Case("NextAfter", {"x1": f32(32, 48), "x2": f32(32, 48)}),
]
