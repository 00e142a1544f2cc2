"""Element by element ops: an output takes over the buffer of an input that dies, if it has the same size and type."""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Rule, register
from graphmem.ops.views import only_input

FIRST_DYING = ((0, (0,)),)
EITHER = ((0, (0, 1)),)


def scalar_choice(op: Op, inputs: tuple[Tensor, ...]) -> int | None:
    """`Select` by one truth hands on one of its inputs; which one is not known before it runs: taken as the first."""
    return 1 if inputs[0].shape == () and inputs[1].shape != () else None


register(
    "Abs Acos Acosh Asin Asinh Atan Atanh BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0"
    " BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Ceil Conj Cos Cosh Dawsn Digamma Erf Erfc Erfinv Exp Expint"
    " Expm1 Floor FresnelCos FresnelSin Inv Invert Lgamma Log Log1p LogicalNot Ndtri Neg PopulationCount"
    " Reciprocal Rint Round Rsqrt Sigmoid Sign Sin Sinh Spence Sqrt Square Tan Tanh ComplexAbs Real Imag Angle",
    Rule(forward=FIRST_DYING, source="cwise_ops_common.h: UnaryOp"),
)
register(
    "Elu LeakyRelu Relu Relu6 Selu Softplus Softsign _UnaryOpsComposition",
    Rule(forward=FIRST_DYING, source="relu_op.h, unary_ops_composition.cc"),
)
register("Softmax LogSoftmax", Rule(forward=FIRST_DYING, source="softmax_op.cc"))
register("IsFinite IsInf IsNan", Rule(source="cwise_op_isfinite.cc: bool output"))
register(
    "Add AddV2 Atan2 BitwiseAnd BitwiseOr BitwiseXor Complex Div DivNoNan FloorDiv FloorMod Igamma IgammaGradA"
    " Igammac LeftShift LogicalAnd LogicalOr Maximum Minimum Mod Mul MulNoNan NextAfter Polygamma Pow RealDiv"
    " RightShift SquaredDifference Sub TruncateDiv TruncateMod Xdivy Xlog1py Xlogy Zeta",
    Rule(forward=EITHER, source="cwise_ops_common.h: BinaryOp"),
)
register(
    "ApproximateEqual Equal Greater GreaterEqual Less LessEqual NotEqual",
    Rule(forward=EITHER, source="cwise_ops_common.h: BinaryOp"),
)
register(
    "EluGrad InvGrad LeakyReluGrad ReciprocalGrad Relu6Grad ReluGrad RsqrtGrad SeluGrad SigmoidGrad SoftplusGrad"
    " SoftsignGrad SqrtGrad TanhGrad",
    Rule(forward=EITHER, source="cwise_ops_common.h: SimpleBinaryOp"),
)
register("AddN AccumulateNV2", Rule(view_if=only_input, forward=((0, (-1,)),), source="aggregate_ops.cc"))
register("BiasAdd BiasAddV1", Rule(forward=FIRST_DYING, source="bias_op.cc"))
register("Betainc", Rule(source="betainc_op.cc"))
register("ClipByValue", Rule(forward=FIRST_DYING, source="cwise_op_clip.cc"))
register("Select", Rule(view_if=scalar_choice, forward=((0, (1, 2)),), source="cwise_op_select.cc"))
register("SelectV2", Rule(forward=((0, (1, 2)),), source="cwise_op_select.cc"))
register("ZerosLike OnesLike Snapshot", Rule(forward=FIRST_DYING, source="constant_op.cc, snapshot_op.cc"))
register("FakeQuantWithMinMaxArgs", Rule(forward=FIRST_DYING, source="fake_quant_ops.cc: measured"))
register("FakeQuantWithMinMaxArgsGradient RandomGammaGrad", Rule(forward=EITHER, source="fake_quant_ops.cc: measured"))
register(
    "FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel"
    " QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeAndDequantizeV4",
    Rule(source="fake_quant_ops.cc, quantize_and_dequantize_op.cc: measured"),
)
register("IsotonicRegression", Rule(forward=FIRST_DYING, source="isotonic_regression_op.cc: measured"))
