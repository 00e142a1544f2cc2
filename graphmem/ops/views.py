"""Ops whose outputs share an input's buffer: always, or where shape and alignment allow it."""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Rule, View, register
from graphmem.ops.sizes import ALIGNMENT, constant, count, itemsize, known

Shape = tuple[int, ...]


def rows_aligned(shape: Shape, dtype: str) -> bool:
    """Whether every entry of axis 0 starts on an aligned address."""
    item = itemsize(dtype)
    if not shape or shape[0] == 0 or item is None:
        return False
    row = (count(shape) or 0) // shape[0] * item
    return row % ALIGNMENT == 0


def cut_aligned(shape: Shape, dtype: str, start: int, end_or_size: int) -> bool:
    """Whether a cut of axis 0 is aligned: of a vector both ends, else each row."""
    item = itemsize(dtype)
    if item is None:
        return False
    if len(shape) == 1:
        return start * item % ALIGNMENT == 0 and end_or_size * item % ALIGNMENT == 0
    return rows_aligned(shape, dtype)


def slice_view(op: Op, inputs: tuple[Tensor, ...]) -> int | None:
    """Of everything, or of whole rows (axis 0) that are aligned to 64 bytes."""
    shape, out = known(inputs[0].shape), known(op.outputs[0].shape)
    if shape is None or out is None:
        return None
    if shape == out:
        return 0
    begin = constant(op, 1)
    if not shape or shape[1:] != out[1:]:
        return None
    if begin is None:
        return 0 if len(shape) > 1 and rows_aligned(shape, inputs[0].dtype) else None
    return 0 if cut_aligned(shape, inputs[0].dtype, begin[0], out[0]) else None


def strided_slice_view(op: Op, inputs: tuple[Tensor, ...]) -> int | None:
    """Of everything, or of adjacent whole rows (axis 0) that are aligned to 64 bytes."""
    shape = known(inputs[0].shape)
    begin, end, strides = (constant(op, position) for position in (1, 2, 3))
    if shape is None or strides is None:
        return None
    if begin is None or end is None:
        rows = len(shape) > 1 and rows_aligned(shape, inputs[0].dtype)
        return 0 if rows and cuts_rows(op, len(shape), strides) else None
    ranges = dense_ranges(op, shape, begin, end, strides)
    if ranges is None or any(stride != 1 for _, _, stride in ranges):
        return None
    whole = [(start, stop) == (0, dim) for (start, stop, _), dim in zip(ranges, shape, strict=True)]
    if all(whole):
        return 0
    if not all(whole[1:]):
        return None
    start, stop, _ = ranges[0]
    return 0 if cut_aligned(shape, inputs[0].dtype, start, stop) else None


def cuts_rows(op: Op, rank: int, strides: list[int]) -> bool:
    """Whether a `StridedSlice` of unknown begin and end takes adjacent whole rows, wherever they are."""
    masks = [int(op.attrs.get(f"{name}_mask", 0)) for name in ("begin", "end")]
    other = [int(op.attrs.get(f"{name}_mask", 0)) for name in ("ellipsis", "new_axis")]
    shrunk = int(op.attrs.get("shrink_axis_mask", 0)) >> 1
    full = all(mask >> axis & 1 for mask in masks for axis in range(1, len(strides)))
    return not any(other) and not shrunk and full and len(strides) <= rank and set(strides) == {1}


def dense_ranges(
    op: Op, shape: Shape, begin: list[int], end: list[int], strides: list[int]
) -> list[tuple[int, int, int]] | None:
    """(start, stop, stride) on each axis of the input, the masks of a `StridedSlice` worked in; `None` if malformed."""
    masks = {
        name: int(op.attrs.get(f"{name}_mask", 0)) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    new_axes = sum(1 for i in range(len(begin)) if masks["new_axis"] >> i & 1 and not masks["ellipsis"] >> i & 1)
    sparse_axes = len(begin) - new_axes - (1 if masks["ellipsis"] else 0)
    ranges: list[tuple[int, int, int]] = []
    for i in range(len(begin)):
        if masks["ellipsis"] >> i & 1:
            ranges += [(0, dim, 1) for dim in shape[len(ranges) : len(ranges) + len(shape) - sparse_axes]]
        elif not masks["new_axis"] >> i & 1:
            if len(ranges) >= len(shape):
                return None
            ranges.append(axis_range(shape[len(ranges)], begin[i], end[i], strides[i], i, masks))
    return ranges + [(0, dim, 1) for dim in shape[len(ranges) :]]


def axis_range(dim: int, begin: int, end: int, stride: int, bit: int, masks: dict[str, int]) -> tuple[int, int, int]:
    """(start, stop, stride) of one axis; negative ends count from the back."""
    start = begin + dim if begin < 0 else begin
    if masks["shrink_axis"] >> bit & 1:
        return start, start + 1, 1
    stop = end + dim if end < 0 else end
    if stride < 0:
        return start, stop, stride
    start = 0 if masks["begin"] >> bit & 1 else min(max(start, 0), dim)
    stop = dim if masks["end"] >> bit & 1 else min(max(stop, 0), dim)
    return start, stop, stride


def split_view(data: int) -> View:
    """`Split`, `SplitV`: into one part, or along axis 0 into aligned parts."""
    axis_at = 0 if data == 1 else 2

    def view(op: Op, inputs: tuple[Tensor, ...]) -> int | None:
        """Into one part, or along axis 0 into parts that are aligned to 64 bytes."""
        if len(op.outputs) == 1:
            return data
        shape, axis = known(inputs[data].shape), constant(op, axis_at)
        if shape is None or axis is None or axis[0] not in (0, -len(shape)):
            return None
        return data if rows_aligned(shape, inputs[data].dtype) else None

    return view


def unpack_view(op: Op, inputs: tuple[Tensor, ...]) -> int | None:
    """Along axis 0 into rows that are aligned to 64 bytes."""
    shape = known(inputs[0].shape)
    if shape is None or int(op.attrs.get("axis", 0)) not in (0, -len(shape)):
        return None
    return 0 if rows_aligned(shape, inputs[0].dtype) else None


def transpose_view(op: Op, inputs: tuple[Tensor, ...]) -> int | None:
    """If the order of all axes longer than 1 is kept."""
    shape, perm = known(inputs[0].shape), constant(op, 1)
    if shape is None:
        return None
    if len(shape) <= 1:
        return 0
    if perm is None:
        return None
    kept = [axis for axis in perm if shape[axis] != 1]
    return 0 if kept == sorted(kept) else None


def same_shape(op: Op, inputs: tuple[Tensor, ...]) -> int | None:
    """If the output has the shape and the element type of input 0."""
    out = op.outputs[0]
    same = known(out.shape) is not None and out.shape == inputs[0].shape and out.dtype == inputs[0].dtype
    return 0 if same else None


def cast_view(op: Op, inputs: tuple[Tensor, ...]) -> int | None:
    """If the input has the element type already."""
    return 0 if op.outputs[0].dtype == inputs[0].dtype else None


def only_input(op: Op, inputs: tuple[Tensor, ...]) -> int | None:
    """If there is only one input."""
    return 0 if len(inputs) == 1 else None


FIRST = ((0, 0),)
EACH = tuple((slot, slot) for slot in range(1024))

register(
    "Identity RefIdentity Reshape Squeeze ExpandDims StopGradient PreventGradient Bitcast EnsureShape"
    " PlaceholderWithDefault GuaranteeConst CheckNumerics CheckNumericsV2 DebugIdentity DebugIdentityV2"
    " DebugIdentityV3 DebugGradientIdentity",
    Rule(view=FIRST, source="identity_op.h, reshape_op.h"),
)
register("IdentityN", Rule(view=EACH, source="identity_n_op.h"))
register("Slice", Rule(view_if=slice_view, source="slice_op.cc"))
register("StridedSlice", Rule(view_if=strided_slice_view, source="strided_slice_op.cc"))
register("Split", Rule(view_if=split_view(1), source="split_op.cc"))
register("SplitV", Rule(view_if=split_view(0), source="split_v_op.cc"))
register("Unpack", Rule(view_if=unpack_view, source="unpack_op.cc"))
register("Transpose ConjugateTranspose", Rule(view_if=transpose_view, source="transpose_op.cc"))
register("BroadcastTo Tile", Rule(view_if=same_shape, source="broadcast_to_op.cc, tile_ops.cc"))
register("Cast", Rule(view_if=cast_view, source="cast_op.cc"))
register("Pack", Rule(view_if=only_input, source="pack_op.cc"))
register("Pad PadV2 MirrorPad", Rule(view_if=same_shape, source="pad_op.cc"))
