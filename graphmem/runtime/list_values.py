"""Values of lists and optionals: what is known of each element, its shape where its value is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from graphmem.graph.model import Op, Tensor

_LARGEST = 4096
"""Longer lists are not followed."""


class Shaped(NamedTuple):
    """An element of which only the shape is known."""

    shape: tuple[int | None, ...]


List = tuple[Any, ...]
"""The value of a list or an optional: per element its value, its shape, or `None`. Pipelines are taken to go on."""

_Values = list[Any]


def empty(made_by: str, size: Any) -> list[Any] | None:
    """An empty list that TensorFlow has folded into a constant, by the op that made it and its size."""
    if made_by == "EmptyTensorList":
        return [()]
    return _reserved(size) if made_by == "TensorListReserve" else None


def evaluate(op: Op, values: list[Any], inputs: list[Tensor]) -> list[Any] | None:
    """The outputs of an op on lists, or `None` where they cannot be told; see `graphmem.runtime.values.evaluate`."""
    if op.type in _WITHOUT_LIST:
        return _WITHOUT_LIST[op.type](op, values, inputs)
    return None if values[0] is None else _WITH_LIST[op.type](op, values, inputs)


def taken(value: Any, tensor: Tensor) -> Any:
    """A tensor as an element of a list."""
    return Shaped(tensor.shape) if value is None and tensor.shape is not None and tensor.dtype != "variant" else value


def _handed_out(element: Any) -> Any:
    return None if isinstance(element, Shaped) else element


def _reserved(size: Any) -> list[Any] | None:
    return None if size is None or int(size) > _LARGEST else [(None,) * int(size)]


def _rows(op: Op, values: _Values, inputs: list[Tensor]) -> list[Any] | None:
    shape = inputs[0].shape
    if not shape or shape[0] is None or shape[0] > _LARGEST:
        return None
    return [(Shaped(shape[1:]),) * shape[0]]


def _split(op: Op, values: _Values, inputs: list[Tensor]) -> list[Any] | None:
    shape, lengths = inputs[0].shape, values[2]
    if not shape or lengths is None or np.size(lengths) > _LARGEST:
        return None
    return [tuple(Shaped((int(rows), *shape[1:])) for rows in np.ravel(lengths).tolist())]


def _with_item(op: Op, values: _Values, inputs: list[Tensor]) -> list[Any] | None:
    held, index, value = values
    if index is None or not 0 <= int(index) < _LARGEST:
        return None
    place = int(index)
    longer = held + (None,) * (place + 1 - len(held))
    return [(*longer[:place], taken(value, inputs[2]), *longer[place + 1 :])]


def _item(op: Op, values: _Values, inputs: list[Tensor]) -> list[Any] | None:
    held, index = values[:2]
    return None if index is None or not 0 <= int(index) < len(held) else [_handed_out(held[int(index)])]


def _pushed(op: Op, values: _Values, inputs: list[Tensor]) -> list[Any] | None:
    return [(*values[0], taken(values[1], inputs[1]))] if len(values[0]) < _LARGEST else None


def _resized(op: Op, values: _Values, inputs: list[Tensor]) -> list[Any] | None:
    held, size = values
    return None if size is None or int(size) > _LARGEST else [held[: int(size)] + (None,) * (int(size) - len(held))]


_Function = Callable[[Op, _Values, list[Tensor]], "list[Any] | None"]

_WITHOUT_LIST: dict[str, _Function] = {
    "EmptyTensorList": lambda op, values, inputs: [()],
    "IteratorGetNextAsOptional": lambda op, values, inputs: [(None,) * len(op.attrs.get("output_types", (None,)))],
    "OptionalFromValue": lambda op, values, inputs: [tuple(map(taken, values, inputs))],
    "OptionalNone": lambda op, values, inputs: [()],
    "TensorListReserve": lambda op, values, inputs: _reserved(values[1]),
    "TensorListFromTensor": _rows,
    "TensorListSplit": _split,
}
_WITH_LIST: dict[str, _Function] = {
    "OptionalHasValue": lambda op, values, inputs: [np.asarray(bool(values[0]))],
    "OptionalGetValue": lambda op, values, inputs: [_handed_out(element) for element in values[0]] or None,
    "TensorListPushBack": _pushed,
    "TensorListPopBack": lambda op, values, inputs: [values[0][:-1], _handed_out(values[0][-1])] if values[0] else None,
    "TensorListSetItem": _with_item,
    "TensorListGetItem": _item,
    "TensorListResize": _resized,
    "TensorListLength": lambda op, values, inputs: [np.asarray(len(values[0]))],
}
OPS = frozenset({*_WITHOUT_LIST, *_WITH_LIST})
"""The ops that `evaluate` knows."""
