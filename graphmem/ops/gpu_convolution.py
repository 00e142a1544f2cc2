"""Scratch and workspace of convolutions on a GPU, as TensorFlow's source has them; none of it has been measured.

TensorFlow asks cuDNN in one of two layouts, and copies what lies in another; it also copies the filter, always, as
cuDNN wants it with the channels first. cuDNN's own workspace is another matter: see `workspace`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from graphmem.errors import TargetError
from graphmem.graph.model import Op, Tensor
from graphmem.ops.convolution import spatial
from graphmem.ops.registry import Env, amend
from graphmem.ops.sizes import itemsize, known

RED_ZONES = 16 << 20
"""Bytes around each buffer that cuDNN writes to while TensorFlow tries its algorithms, 8 MiB on either side
(redzone_allocator.h)."""

VOLTA, AMPERE = (7, 0), (8, 0)
CONVOLUTIONS = (
    "Conv2D _FusedConv2D Conv3D Conv2DBackpropFilter Conv2DBackpropInput Conv3DBackpropFilterV2 Conv3DBackpropInputV2"
)


@dataclass(frozen=True, slots=True)
class _Convolution:
    """A convolution or one of its gradients.

    Attributes:
        image, filters, out: shapes, the image and the result in the op's layout.
        dtype: of all three.
        padded: the image's elements once it is padded by what SAME adds to one side more than to the other.
        channels_first: whether the data is NCHW.
    """

    image: tuple[int, ...]
    filters: tuple[int, ...]
    out: tuple[int, ...]
    dtype: str
    padded: int
    channels_first: bool

    @property
    def uneven(self) -> bool:
        """Whether the image must be padded first: cuDNN pads both sides alike."""
        return self.padded != prod(self.image)


def capability(architecture: str) -> tuple[int, int]:
    """The two numbers of a compute capability, "8.6".

    Raises:
        TargetError: it is none.
    """
    major, dot, minor = architecture.partition(".")
    if not (dot and major.isdecimal() and minor.isdecimal()):
        raise TargetError(f"{architecture!r} is no compute capability: give one such as '8.6'.")
    return int(major), int(minor)


def stays_nhwc(dtype: str, architecture: str) -> bool:
    """Whether NHWC data is convolved as it is: where tensor cores take the type (conv_ops_gpu.cc).

    float32 counts as TF32, which TensorFlow allows unless told otherwise.
    """
    least = {"float16": VOLTA, "bfloat16": AMPERE, "float32": AMPERE}.get(dtype)
    return least is not None and capability(architecture) >= least


def convolution(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The filter (or its gradient) in cuDNN's layout, the evenly padded image, copies in NCHW, of bfloat16 in float32.

    The image's gradient is made beside the output that it then replaces.
    """
    found = _convolution(op, inputs)
    if found is None:
        return [None]
    if _is_product(op, found):
        return []
    casts: list[int | None] = []
    dtype = found.dtype
    if dtype == "bfloat16" and capability(env.architecture) < AMPERE:
        dtype = "float32"
        casts = [prod(found.image) * 4, prod(found.filters) * 4, prod(found.out) * 4]
    item = itemsize(dtype) or 0
    copied = not found.channels_first and not stays_nhwc(dtype, env.architecture)
    return [*casts, *_copies(op, found, item, copied)]


def _copies(op: Op, found: _Convolution, item: int, copied: bool) -> list[int | None]:
    """What the kernel holds at once at its worst moment; `copied`: whether NHWC data goes through NCHW."""
    filters, out = prod(found.filters) * item, prod(found.out) * item
    padded = found.padded * item
    out_copy = [out] if copied and found.out[-1] > 1 else []
    image_copy = [padded] if copied and found.image[-1] > 1 else []
    if "BackpropInput" in op.type:
        return [filters, *out_copy, padded, *([prod(found.image) * item] if found.uneven else [])]
    if "BackpropFilter" in op.type:
        return [*([padded] if found.uneven else []), filters, *out_copy, *image_copy]
    image = image_copy or ([padded] if found.uneven else [])  # the padded image goes when its copy is there
    return [*image, filters, *([out] if copied else [])]


def workspace(op: Op, inputs: tuple[Tensor, ...], env: Env) -> int:
    """Bytes of cuDNN's workspace: 0, what is usual, or the most that TensorFlow lets it have.

    Which algorithm cuDNN takes, and what that asks for, only cuDNN on the card knows. TensorFlow does without where it
    cannot have the memory (`DnnScratchAllocator`, "no_scratch_fallback"), so that no step needs any. Usual are copies
    of the operands in NHWC: kernels for tensor cores read no other layout, and cuDNN transposes (cuDNN's documentation,
    "Data and Filter Formats"). Other algorithms, Winograd and FFT, take more.
    """
    found = _convolution(op, inputs) if env.conv_workspace != "none" else None
    if found is None or _is_product(op, found):
        return 0
    if env.conv_workspace == "limit":
        return env.workspace_limit
    tensor_cores = stays_nhwc(found.dtype, env.architecture)
    if not (found.channels_first and tensor_cores):
        return 0
    elements = found.padded + prod(found.filters) + prod(found.out)
    return min(elements * (itemsize(found.dtype) or 0), env.workspace_limit)


def tried_first(op: Op, inputs: tuple[Tensor, ...]) -> int:
    """Bytes that the first call of a shape holds besides: another copy of the result, and red zones around it and the
    workspace, while TensorFlow tries cuDNN's algorithms (conv_ops_gpu.cc, AutotuneUnfusedConv)."""
    found = _convolution(op, inputs)
    if found is None or _is_product(op, found):
        return 0
    made = found.padded if "BackpropInput" in op.type else prod(known(op.outputs[0].shape) or ())
    return made * (itemsize(found.dtype) or 0) + 2 * RED_ZONES


def _convolution(op: Op, inputs: tuple[Tensor, ...]) -> _Convolution | None:
    """The shapes of a convolution or of one of its gradients; `None` if one is unknown."""
    made = op.outputs[0]
    if "BackpropFilter" in op.type:
        shapes = inputs[0].shape, made.shape, inputs[2].shape
    elif "BackpropInput" in op.type:
        shapes = made.shape, inputs[1].shape, inputs[2].shape
    else:
        shapes = inputs[0].shape, inputs[1].shape, made.shape
    image, filters, out = map(known, shapes)
    if image is None or filters is None or out is None or itemsize(made.dtype) is None:
        return None
    first = str(op.attrs.get("data_format", "NHWC")).startswith("NC")
    return _Convolution(image, filters, out, made.dtype, _padded(op, image, filters, out), first)


def _padded(op: Op, image: tuple[int, ...], filters: tuple[int, ...], out: tuple[int, ...]) -> int:
    """Elements of the image padded by one along each side of which SAME pads an odd number."""
    if op.attrs.get("padding") != "SAME":
        return prod(image)
    rank = len(filters) - 2
    strides = spatial(op, tuple(op.attrs.get("strides") or [1] * (rank + 2)))
    dilations = spatial(op, tuple(op.attrs.get("dilations") or [1] * (rank + 2)))
    sizes = spatial(op, image)
    padded = []
    for size, taps, made, stride, dilation in zip(sizes, filters, spatial(op, out), strides, dilations, strict=False):
        total = max((made - 1) * stride + (taps - 1) * dilation + 1 - size, 0)
        padded.append(size + total % 2)
    return prod(image) // prod(sizes) * prod(padded)


def _is_product(op: Op, found: _Convolution) -> bool:
    """Whether the kernel is one matrix product, in NHWC: a 1x1 filter everywhere, or one as large as the image."""
    if found.channels_first or found.filters[-2] != found.image[-1]:
        return False
    taps = found.filters[:-2]
    if all(size == 1 for size in taps):
        return all(stride == 1 for stride in op.attrs.get("strides", []))
    return taps == spatial(op, found.image) and op.attrs.get("padding") == "VALID"


def apply() -> None:
    """Put the formulas on the rows. Runs after all rows are there."""
    amend(CONVOLUTIONS, gpu_scratch=convolution, workspace=workspace)
