"""Quantised tensors: new outputs, without scratch on the CPU."""

from __future__ import annotations

from graphmem.ops.registry import Rule, register
from graphmem.ops.views import FIRST

register(
    "QuantizeV2 Dequantize QuantizedRelu QuantizedRelu6 QuantizedReluX QuantizedBiasAdd QuantizedAvgPool"
    " QuantizedMaxPool QuantizedConv2D QuantizeDownAndShrinkRange RequantizationRange",
    Rule(source="quantize_op.cc, quantized_conv_ops.cc and others: measured"),
)
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
