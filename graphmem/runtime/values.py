"""Values of the few small tensors that decide where control flow goes: loop counters, bounds, predicates.

Nothing else is ever computed. A value is a NumPy array, or absent if graphmem cannot tell it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphmem.graph.model import Op, Tensor
from graphmem.runtime import list_values

Value = Any
#: Larger results are not kept: predicates depend on counters, not on tensors.
_LARGEST = 4096


def evaluate(op: Op, values: list[Value | None], inputs: list[Tensor]) -> list[Value] | None:
    """The outputs of one op, or `None` where they cannot be told.

    Args:
        op: the op.
        values: what is known of its inputs, `None` for unknown ones.
        inputs: dtype and shape of its inputs.
    """
    if op.type in _FROM_SHAPES:
        return _FROM_SHAPES[op.type](op, inputs)
    if op.type == "Const":
        return _constant(op)
    if op.type in list_values.OPS:
        return list_values.evaluate(op, values, inputs)
    if op.type in ("LogicalAnd", "LogicalOr") and any(value is None for value in values):
        known = next((value for value in values if value is not None), None)
        decides = known is not None and bool(np.all(known)) == (op.type == "LogicalOr")
        return [known] if decides and np.ndim(known) == 0 else None
    if op.type == "Switch":
        return [values[0], values[0]]
    if op.type in ("IdentityN", "_Call", "_Return"):
        return values[: len(op.outputs)]
    function = _FUNCTIONS.get(op.type)
    if function is None or any(value is None for value in values):
        return None
    try:
        result = function(op, *values)
    except (ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError):
        return None
    if isinstance(result, tuple):
        return [result]  # a list, passed on
    made = np.asarray(result)
    return None if made.size > _LARGEST else [made]


def _shape_of(op: Op, inputs: list[Tensor]) -> list[Value] | None:
    shape = inputs[0].shape
    return None if shape is None or None in shape else [np.asarray(shape, np.int64)]


def _size_of(op: Op, inputs: list[Tensor]) -> list[Value] | None:
    known = _shape_of(op, inputs)
    return None if known is None else [np.prod(known[0], dtype=np.int64)]


def _rank_of(op: Op, inputs: list[Tensor]) -> list[Value] | None:
    shape = inputs[0].shape
    return None if shape is None else [np.asarray(len(shape))]


_FROM_SHAPES: dict[str, Callable[[Op, list[Tensor]], list[Value] | None]] = {
    "Shape": _shape_of,
    "Size": _size_of,
    "Rank": _rank_of,
}


def _cast(op: Op, value: Value) -> Value:
    dtype = op.outputs[0].dtype
    return value.astype(np.float64 if "float" in dtype else dtype)


def _strided_slice(op: Op, value: Value, begin: Value, end: Value, strides: Value) -> Value:
    if any(op.attrs.get(mask) for mask in ("ellipsis_mask", "new_axis_mask")):
        raise ValueError("mask")
    index: list[Any] = []
    for axis in range(len(begin)):
        bit = 1 << axis
        if op.attrs.get("shrink_axis_mask", 0) & bit:
            index.append(int(begin[axis]))
            continue
        first = None if op.attrs.get("begin_mask", 0) & bit else int(begin[axis])
        last = None if op.attrs.get("end_mask", 0) & bit else int(end[axis])
        index.append(slice(first, last, int(strides[axis])))
    return value[tuple(index)]


def _reduce(function: Any) -> Callable[..., Value]:
    def reduced(op: Op, value: Value, axes: Value) -> Value:
        axis = tuple(int(item) for item in np.atleast_1d(axes))
        return function(value, axis=axis, keepdims=bool(op.attrs.get("keep_dims")))

    return reduced


def _binary(function: Any) -> Callable[..., Value]:
    return lambda op, left, right: function(left, right)


def _gather(op: Op, value: Value, indices: Value, axis: Value) -> Value:
    return np.take(value, indices.astype(np.int64), axis=int(axis))


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    **dict.fromkeys(("Identity", "LoopCond", "StopGradient", "Snapshot"), lambda op, value: value),
    "Less": _binary(np.less),
    "LessEqual": _binary(np.less_equal),
    "Greater": _binary(np.greater),
    "GreaterEqual": _binary(np.greater_equal),
    "Equal": _binary(np.equal),
    "NotEqual": _binary(np.not_equal),
    "LogicalAnd": _binary(np.logical_and),
    "LogicalOr": _binary(np.logical_or),
    "LogicalNot": lambda op, value: np.logical_not(value),
    "Add": _binary(np.add),
    "AddV2": _binary(np.add),
    "Sub": _binary(np.subtract),
    "Mul": _binary(np.multiply),
    "Maximum": _binary(np.maximum),
    "Minimum": _binary(np.minimum),
    "FloorDiv": _binary(np.floor_divide),
    "FloorMod": _binary(np.mod),
    "Neg": lambda op, value: np.negative(value),
    "Abs": lambda op, value: np.abs(value),
    "Cast": _cast,
    "StridedSlice": _strided_slice,
    "Slice": lambda op, value, begin, size: value[
        tuple(slice(int(b), None if s < 0 else int(b + s)) for b, s in zip(begin, size, strict=True))
    ],
    "Pack": lambda op, *values: np.stack(values, axis=int(op.attrs.get("axis", 0))),
    "Reshape": lambda op, value, shape: value.reshape([int(dim) for dim in shape]),
    "Squeeze": lambda op, value: value.squeeze(tuple(op.attrs.get("squeeze_dims") or ()) or None),
    "ExpandDims": lambda op, value, axis: np.expand_dims(value, int(axis)),
    "ConcatV2": lambda op, *values: np.concatenate(values[:-1], axis=int(values[-1])),
    "Fill": lambda op, dims, value: np.full([int(dim) for dim in dims], value),
    "Range": lambda op, start, limit, delta: np.arange(start, limit, delta),
    "Max": _reduce(np.max),
    "Min": _reduce(np.min),
    "Sum": _reduce(np.sum),
    "Prod": _reduce(np.prod),
    "All": _reduce(np.all),
    "Any": _reduce(np.any),
    "GatherV2": _gather,
    "Select": lambda op, condition, left, right: np.where(condition, left, right),
    "SelectV2": lambda op, condition, left, right: np.where(condition, left, right),
    "Enter": lambda op, value: value,
    "Exit": lambda op, value: value,
    "NextIteration": lambda op, value: value,
}

def _constant(op: Op) -> list[Value] | None:
    if "_value" in op.attrs:
        return [np.asarray(op.attrs["_value"])]
    return list_values.empty(op.attrs.get("_made_by", ""), op.attrs.get("_const_inputs", {}).get("1"))
