"""Scratch of GPU kernels, as far as TensorFlow's own source decides it; nothing here has been measured.

Left out, because they are cuDNN's or cub's to decide: workspaces, and the few kilobytes of reductions. Assumed is a GPU
that computes 16-bit floats and float32 (as TF32) in the layout of the data; float64 in NHWC is copied to NCHW.
"""

from __future__ import annotations

from math import prod

from graphmem.graph.model import Op, Tensor
from graphmem.ops.convolution import spatial
from graphmem.ops.registry import Env, amend
from graphmem.ops.sizes import copy_of, itemsize, known


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


def padded_copy(op: Op, image: tuple[int, ...], filters: tuple[int, ...], out: tuple[int, ...], item: int) -> list[int]:
    """Bytes of the image padded by one on each side that SAME pads more than the other; none if it pads evenly."""
    if op.attrs.get("padding") != "SAME":
        return []
    rank = len(filters) - 2
    strides = spatial(op, tuple(op.attrs.get("strides") or [1] * (rank + 2)))
    dilations = spatial(op, tuple(op.attrs.get("dilations") or [1] * (rank + 2)))
    sizes = spatial(op, image)
    uneven = 0
    padded = []
    for size, taps, made, stride, dilation in zip(sizes, filters, spatial(op, out), strides, dilations, strict=False):
        total = max((made - 1) * stride + (taps - 1) * dilation + 1 - size, 0)
        uneven += total % 2
        padded.append(size + total % 2)
    return [prod(image) // prod(sizes) * prod(padded) * item] if uneven else []


def convolution(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The filter (or its gradient) in cuDNN's layout; the image evenly padded; NCHW copies of float64 in NHWC."""
    parts = _parts(op, inputs)
    if parts is None:
        return [None]
    image, filters, out, item = parts
    if not channels_first(op) and _is_product(op, image, filters):
        return []
    scratch: list[int | None] = [prod(filters) * item, *padded_copy(op, image, filters, out, item)]
    if op.outputs[0].dtype == "float64" and not channels_first(op):
        scratch += [prod(image) * item, prod(out) * item]
    return scratch


def _parts(op: Op, inputs: tuple[Tensor, ...]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int] | None:
    """(image, filter, convolution's result, bytes of an element) of a convolution or one of its gradients."""
    made = op.outputs[0]
    if "BackpropFilter" in op.type:
        shapes = inputs[0].shape, made.shape, inputs[2].shape
    elif "BackpropInput" in op.type:
        shapes = made.shape, inputs[1].shape, inputs[2].shape
    else:
        shapes = inputs[0].shape, inputs[1].shape, made.shape
    image, filters, out = map(known, shapes)
    item = itemsize(made.dtype)
    if image is None or filters is None or out is None or item is None:
        return None
    return image, filters, out, item


def _is_product(op: Op, image: tuple[int, ...], filters: tuple[int, ...]) -> bool:
    """Whether the kernel is one matrix product: a 1x1 filter at every place, or a filter as large as the image."""
    taps = filters[:-2]
    if all(size == 1 for size in taps):
        return all(stride == 1 for stride in op.attrs.get("strides", []))
    return taps == spatial(op, image) and op.attrs.get("padding") == "VALID"


def depthwise_filter(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """float32 copies of the image, the gradient and the result, if they are float16."""
    if inputs[0].dtype != "float16":
        return []
    return [copy_of(tensor, "float32") for tensor in (inputs[0], inputs[2], op.outputs[0])]


def average_pool_gradient(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The pooled image and its result, which cuDNN asks for and TensorFlow no longer has."""
    return [op.outputs[0].nbytes, inputs[1].nbytes]


def batch_norm(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """In NHWC, NCHW copies of the image and the result."""
    return [] if channels_first(op) else [inputs[0].nbytes] * 2


def batch_norm_gradient(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """In NHWC, NCHW copies of the gradient, the image and the result."""
    return [] if channels_first(op) else [inputs[0].nbytes] * 3


CONVOLUTIONS = (
    "Conv2D _FusedConv2D Conv3D Conv2DBackpropFilter Conv2DBackpropInput Conv3DBackpropFilterV2 Conv3DBackpropInputV2"
)


def apply() -> None:
    """Put the formulas on the rows. Runs after all rows are there."""
    amend("Softmax LogSoftmax", gpu_scratch=softmax)
    amend("BiasAddGrad", gpu_scratch=bias_gradient)
    amend(CONVOLUTIONS, gpu_scratch=convolution)
    amend("DepthwiseConv2dNativeBackpropFilter", gpu_scratch=depthwise_filter)
    amend("AvgPoolGrad AvgPool3DGrad", gpu_scratch=average_pool_gradient)
    amend("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", gpu_scratch=batch_norm)
    amend("FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3", gpu_scratch=batch_norm_gradient)
