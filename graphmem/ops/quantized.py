"""Quantised tensors: new outputs, mostly without scratch on the CPU."""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Env, Rule, register
from graphmem.ops.sizes import copy_of
from graphmem.ops.views import FIRST


def in_int32(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The images and what becomes of them, in int32."""
    return [copy_of(inputs[0], "int32"), copy_of(op.outputs[0], "int32")]


register(
    "QuantizeV2 Dequantize QuantizedRelu QuantizedRelu6 QuantizedReluX QuantizedBiasAdd QuantizedMaxPool"
    " QuantizedConv2D QuantizeDownAndShrinkRange RequantizationRange",
    Rule(source="quantize_op.cc, quantized_conv_ops.cc and others: measured"),
)
register("QuantizedAvgPool", Rule(cpu_scratch=in_int32, source="quantized_pooling_ops.cc: measured"))
register(
    "QuantizedMatMul QuantizedConcat QuantizedConcatV2 QuantizedResizeBilinear Requantize RequantizePerChannel"
    " RequantizationRangePerChannel",
    Rule(source="quantized_matmul_op.cc, requantize.cc and others"),
)
register("QuantizedReshape", Rule(view=FIRST, source="quantized_reshape_op.cc"))
register(
    "UniformQuantize UniformDequantize UniformRequantize",
    Rule(source="uniform_quantize_op.cc, uniform_dequantize_op.cc: measured"),
)
register(
    "QuantizeAndDequantize QuantizeAndDequantizeV4Grad FakeQuantWithMinMaxVarsPerChannelGradient",
    Rule(source="quantize_and_dequantize_op.cc, fake_quant_ops.cc: measured"),
)
