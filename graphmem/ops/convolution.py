"""Convolutions: columns of image patches are the largest scratch of a CPU step."""

from __future__ import annotations

from math import prod

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Env, Rule, register
from graphmem.ops.sizes import itemsize, known, times

Shape = tuple[int, ...]

WORKING_SET = 30 << 20
"""Bytes of columns that the CPU's 2D convolution gradients aim at; independent of the machine."""

PARALLEL_WORK = 256 << 10
"""Bytes of work per thread from which the input's gradient takes images one at a time, each over all threads."""

LARGEST_OVERHEAD = 25
"""Columns of a 3D gradient may be this many times its operands; beyond, Eigen's own kernel runs without scratch."""

PACKET = 32
"""Bytes of a vector register in TensorFlow's builds for x86 (AVX); depthwise kernels pad channels to it."""


def spatial(op: Op, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The spatial sizes of a batch of images in the op's layout."""
    return shape[2:] if str(op.attrs.get("data_format", "NHWC")).startswith("NC") else shape[1:-1]


def work_elements(out_area: int, patch: int, filters: int) -> int:
    """Elements of the three matrices of one image's product."""
    return out_area * patch + out_area * filters + patch * filters


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
    work = work_elements(out_area, patch, filters)
    images = -(-(WORKING_SET // item) // work)
    if batch is not None and (batch == 1 or work // threads >= PARALLEL_WORK // item):
        images = 1
    return images * out_area * patch * item


def columns_3d(out_area: int, patch: int, filters: int, item: int, operands: int, l3_bytes: int, alone: bool) -> int:
    """Bytes of the column buffer of a 3D convolution gradient, 0 if that is too large beside the operands.

    Args:
        out_area: planes times rows times columns of the convolution's output.
        patch: filter planes times rows times columns times input channels.
        filters: output channels.
        item: bytes of an element.
        operands: elements of the image, the filter and the output's gradient together.
        l3_bytes: the cache that the columns are to fit in.
        alone: whether images are taken one at a time: the input's gradient of a single image.
    """
    images = 1 if alone else -(-(l3_bytes // item) // work_elements(out_area, patch, filters))
    made = images * out_area * patch
    return made * item if made // operands <= LARGEST_OVERHEAD else 0


def _gradient_shapes(op: Op, inputs: tuple[Tensor, ...]) -> tuple[Shape, Shape, Shape, int] | None:
    """(image, filter, gradient of the output, bytes of an element) of a convolution's gradient op."""
    made = op.outputs[0].shape
    image, filters = (inputs[0].shape, made) if "Filter" in op.type else (made, inputs[1].shape)
    shapes, item = (known(image), known(filters), known(inputs[2].shape)), itemsize(inputs[2].dtype)
    if shapes[0] is None or shapes[1] is None or shapes[2] is None or item is None:
        return None
    return shapes[0], shapes[1], shapes[2], item


def gradient_2d(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """Columns of image patches, `[images, output rows * columns, patch]`: images for about 30 MiB, or one."""
    found = _gradient_shapes(op, inputs)
    if found is None:
        return [None]
    _, filters, grad, item = found
    batch = grad[0] if op.type == "Conv2DBackpropInput" else None
    return [columns(prod(spatial(op, grad)), prod(filters[:-1]), filters[-1], item, batch, env.threads)]


def gradient_3d(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """Columns of image patches for as many images as fill the L3 cache; none if that were too large."""
    found = _gradient_shapes(op, inputs)
    if found is None:
        return [None]
    image, filters, grad, item = found
    operands = prod(image) + prod(filters) + prod(grad)
    alone = "Input" in op.type and grad[0] == 1
    area, patch = prod(spatial(op, grad)), prod(filters[:-1])
    return [columns_3d(area, patch, filters[-1], item, operands, env.l3_bytes, alone)]


def depthwise(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The filter padded to whole vectors if it is not yet, and for each thread a patch, `[taps, channels out]`."""
    made = op.outputs[0].shape if op.type.endswith("Filter") else inputs[1].shape
    filters, item = known(made), itemsize(op.outputs[0].dtype)
    if filters is None or item is None:
        return [None]
    taps, channels = filters[0] * filters[1], filters[2] * filters[3]
    padded = -(-channels * item // PACKET) * PACKET
    if op.type.endswith("Filter"):
        return [times(inputs[0].shape[0] if inputs[0].shape else None, taps, padded), taps * padded]
    scratch: list[int | None] = [taps * padded] if padded != channels * item else []
    for _ in range(env.threads):
        scratch += [taps * padded, padded] if op.type.endswith("Input") else [taps * padded]
    return scratch


register("Conv2D", Rule(source="conv_ops.cc: measured"))
register("_FusedConv2D", Rule(source="conv_ops_fused_impl.h: measured"))
register("Conv2DBackpropFilter", Rule(cpu_scratch=gradient_2d, source="conv_grad_filter_ops.cc"))
register("Conv2DBackpropInput", Rule(cpu_scratch=gradient_2d, source="conv_grad_input_ops.h"))
register("Conv3D Conv", Rule(source="conv_ops_3d.cc: measured"))
register(
    "Conv3DBackpropFilter Conv3DBackpropFilterV2 Conv3DBackpropInput Conv3DBackpropInputV2",
    Rule(cpu_scratch=gradient_3d, source="conv_grad_ops_3d.cc"),
)
register(
    "DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput",
    Rule(cpu_scratch=depthwise, source="depthwise_conv_op.cc, depthwise_conv_grad_op.cc"),
)
register("Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput", Rule(source="dilation_ops.cc"))
