"""Scratch of GPU kernels, as far as TensorFlow's own source decides it; nothing here has been measured.

Left out are the few kilobytes that cub takes for reductions. Convolutions are in `gpu_convolution`, cuDNN's recurrent
networks in `gpu_recurrent`.
"""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops import gpu_convolution, gpu_recurrent
from graphmem.ops.gpu_convolution import AMPERE, capability
from graphmem.ops.registry import Env, amend
from graphmem.ops.sizes import copy_of, itemsize


def channels_first(op: Op) -> bool:
    """Whether the op's data is NCHW."""
    return str(op.attrs.get("data_format", "NHWC")).startswith("NC")


def softmax(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """Maxima and sums, each of the full shape of the logits, the sums in float32 at least."""
    wide = "float64" if inputs[0].dtype == "float64" else "float32"
    return [inputs[0].nbytes, copy_of(inputs[0], wide)]


def bias_gradient(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """In NCHW, a temporary of the size of the gradient, for the kernel that adds up rows first."""
    return [inputs[0].nbytes] if channels_first(op) else []


def depthwise_filter(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """float32 copies of the image, the gradient and the result, if they are float16."""
    if inputs[0].dtype != "float16":
        return []
    return [copy_of(tensor, "float32") for tensor in (inputs[0], inputs[2], op.outputs[0])]


def average_pool_gradient(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The pooled image and its result, which cuDNN asks for and TensorFlow no longer has."""
    return [op.outputs[0].nbytes, inputs[1].nbytes]


def batch_norm(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """NCHW copies of the image and the result while training in NHWC; float32 ones of bfloat16 where it is emulated."""
    trains = bool(op.attrs.get("is_training", True))
    return _normalised(inputs[0], 2, trains and not channels_first(op), env)


def batch_norm_gradient(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """In NHWC, NCHW copies of the gradient, the image and the result; float32 ones of bfloat16 where it is emulated."""
    return _normalised(inputs[0], 3, not channels_first(op), env)


def _normalised(image: Tensor, copies: int, transposed: bool, env: Env) -> list[int | None]:
    emulated = image.dtype == "bfloat16" and capability(env.architecture) < AMPERE
    size = copy_of(image, "float32" if emulated else None)
    return [size] * (copies * (emulated + transposed))


def batch_norm_outputs(op: Op, inputs: tuple[Tensor, ...], env: Env) -> dict[int, int | None]:
    """One element of reserve space: cuDNN wants some only of its persistent kernels, which TensorFlow leaves off."""
    return {5: itemsize(op.outputs[5].dtype)} if len(op.outputs) > 5 else {}


def batch_norm_gradient_outputs(op: Op, inputs: tuple[Tensor, ...], env: Env) -> dict[int, int | None]:
    """Two empty outputs."""
    return {3: 0, 4: 0}


def apply() -> None:
    """Put the formulas on the rows. Runs after all rows are there."""
    amend("Softmax LogSoftmax", gpu_scratch=softmax)
    amend("BiasAddGrad", gpu_scratch=bias_gradient)
    amend("DepthwiseConv2dNativeBackpropFilter", gpu_scratch=depthwise_filter)
    amend("AvgPoolGrad AvgPool3DGrad", gpu_scratch=average_pool_gradient)
    amend("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 _FusedBatchNormEx", gpu_scratch=batch_norm)
    amend("FusedBatchNormV3 _FusedBatchNormEx", gpu_outputs=batch_norm_outputs)
    amend("FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3", gpu_scratch=batch_norm_gradient)
    amend("FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormGrad", gpu_outputs=batch_norm_gradient_outputs)
    gpu_convolution.apply()
    gpu_recurrent.apply()
