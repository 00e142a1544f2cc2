"""Convolutions: columns of image patches are the largest scratch of a CPU step."""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Env, Rule, register
from graphmem.ops.sizes import itemsize, known

WORKING_SET = 30 << 20
"""Bytes of columns that the CPU's 2D convolution gradients aim at; independent of the machine."""

PARALLEL_WORK = 1 << 16
"""Elements of work per thread from which the input's gradient takes images one at a time, over all threads."""


def is_channels_first(op: Op) -> bool:
    """Whether channels come before the spatial axes."""
    return str(op.attrs.get("data_format", "NHWC")).startswith("NC")


def spatial(op: Op, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The spatial sizes of a batch of images in the op's layout."""
    return shape[2:] if is_channels_first(op) else shape[1:-1]


def area(sizes: tuple[int, ...]) -> int:
    """The product of sizes."""
    product = 1
    for size in sizes:
        product *= size
    return product


def columns(out_area: int, patch: int, filters: int, item: int, batch: int | None, threads: int) -> int:
    """Bytes of the column buffer of a 2D convolution gradient: `[images, out_area, patch]`.

    Args:
        out_area: rows times columns of the convolution's output.
        patch: filter rows times columns times input channels.
        filters: output channels.
        item: bytes of an element.
        batch: images, for the input's gradient; `None` for the filter's.
        threads: intra-op threads.
    """
    work = out_area * patch + out_area * filters + patch * filters
    images = -(-(WORKING_SET // item) // work)
    if batch is not None and (batch == 1 or work // threads >= PARALLEL_WORK):
        images = 1
    return images * out_area * patch * item


def backprop_filter(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """Columns for `Conv2DBackpropFilter`: (input, filter sizes, gradient of the output)."""
    filters, grad, item = known(op.outputs[0].shape), known(inputs[2].shape), itemsize(inputs[2].dtype)
    if filters is None or grad is None or item is None:
        return [None]
    return [columns(area(spatial(op, grad)), area(filters[:3]), filters[3], item, None, env.threads)]


def backprop_input(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """Columns for `Conv2DBackpropInput`: (input sizes, filter, gradient of the output)."""
    filters, grad, item = known(inputs[1].shape), known(inputs[2].shape), itemsize(inputs[2].dtype)
    if filters is None or grad is None or item is None:
        return [None]
    return [columns(area(spatial(op, grad)), area(filters[:3]), filters[3], item, grad[0], env.threads)]


register("Conv2D", Rule(source="conv_ops.cc: measured"))
register("_FusedConv2D", Rule(source="conv_ops_fused_impl.h: measured"))
register("Conv2DBackpropFilter", Rule(cpu_scratch=backprop_filter, source="conv_grad_filter_ops.cc"))
register("Conv2DBackpropInput", Rule(cpu_scratch=backprop_input, source="conv_grad_input_ops.h"))
register("Conv3D Conv", Rule(source="conv_ops_3d.cc"))
register("Conv3DBackpropFilterV2 Conv3DBackpropInputV2", Rule(source="conv_grad_ops_3d.cc"))
register(
    "DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput",
    Rule(source="depthwise_conv_op.cc"),
)
register("Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput", Rule(source="dilation_ops.cc"))
