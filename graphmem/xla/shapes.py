"""Shapes of HLO values: a tuple's arrays, flattened, are what the outputs of an op are elsewhere in graphmem."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from graphmem.graph.model import Tensor

#: `PrimitiveType` of xla_data.proto -> TensorFlow's name of the type, or XLA's where TensorFlow has none; bits.
_TYPES: dict[int, tuple[str, int]] = {
    1: ("bool", 8), 30: ("int1", 1), 26: ("int2", 2), 21: ("int4", 4), 2: ("int8", 8), 3: ("int16", 16),
    4: ("int32", 32), 5: ("int64", 64), 31: ("uint1", 1), 27: ("uint2", 2), 22: ("uint4", 4), 6: ("uint8", 8),
    7: ("uint16", 16), 8: ("uint32", 32), 9: ("uint64", 64), 10: ("float16", 16), 11: ("float32", 32),
    16: ("bfloat16", 16), 12: ("float64", 64), 19: ("float8_e5m2", 8), 28: ("float8_e4m3", 8),
    20: ("float8_e4m3fn", 8), 23: ("float8_e4m3b11fnuz", 8), 29: ("float8_e3m4", 8), 24: ("float8_e5m2fnuz", 8),
    25: ("float8_e4m3fnuz", 8), 32: ("float4_e2m1fn", 4), 33: ("float8_e8m0fnu", 8), 15: ("complex64", 64),
    18: ("complex128", 128), 14: ("opaque", 0), 17: ("token", 0), 34: ("buffer", 0),
}  # fmt: skip
_TUPLE = 13


class Leaf(NamedTuple):
    """An array of a value: where it is in the tuple (`()` if the value is no tuple), and what it is."""

    index: tuple[int, ...]  # type: ignore[assignment]
    tensor: Tensor


def is_tuple(shape: Any) -> bool:
    """Whether a `Shape` is a tuple's."""
    return bool(shape.element_type == _TUPLE)


def count_leaves(shape: Any) -> int:
    """How many arrays a value of this shape has."""
    return sum(map(count_leaves, shape.tuple_shapes)) if shape.element_type == _TUPLE else 1


def leaves_of(shape: Any) -> list[Leaf]:
    """The arrays of a value, in depth-first order."""
    if shape.element_type != _TUPLE:
        return [Leaf((), array_of(shape))]
    return [
        Leaf((place, *leaf.index), leaf.tensor)
        for place, inner in enumerate(shape.tuple_shapes)
        for leaf in leaves_of(inner)
    ]


def array_of(shape: Any) -> Tensor:
    """The array that a `Shape` without a tuple describes; bounds stand for dynamic dimensions, as XLA reserves them."""
    dtype, bits = _TYPES.get(shape.element_type, ("unknown", 0))
    dims = tuple(shape.dimensions)
    bits = shape.layout.element_size_in_bits or (max(bits, 8) if bits else 0)
    return Tensor(dtype, dims, (math.prod(dims) * bits + 7) // 8)
