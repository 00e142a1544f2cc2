"""Arithmetic on shapes in which an unknown stays unknown."""

from __future__ import annotations

from graphmem.graph.model import DTYPE_BITS, Op, Tensor

ALIGNMENT = 64
"""Bytes that Eigen wants a buffer's address to be a multiple of (`EIGEN_MAX_ALIGN_BYTES` of TensorFlow's builds)."""


def times(*factors: int | None) -> int | None:
    """The product of the factors; `None` if one is unknown.

    >>> times(2, 3), times(2, None), times()
    (6, None, 1)
    """
    product = 1
    for factor in factors:
        if factor is None:
            return None
        product *= factor
    return product


def count(shape: tuple[int | None, ...] | None) -> int | None:
    """Number of elements of a shape; `None` if unknown."""
    return None if shape is None else times(*shape)


def itemsize(dtype: str) -> int | None:
    """Bytes of one element; `None` for types without a fixed size."""
    bits = DTYPE_BITS.get(dtype)
    return None if bits is None else bits // 8


def known(shape: tuple[int | None, ...] | None) -> tuple[int, ...] | None:
    """The shape if all of it is known, else `None`."""
    if shape is None or any(dim is None for dim in shape):
        return None
    return tuple(dim for dim in shape if dim is not None)


def constant(op: Op, position: int) -> list[int] | None:
    """An integer vector that the op reads from a small constant, or `None` where the trace does not know it.

    The trace leaves it in `op.attrs["_const_inputs"]`, by the input's position as text.
    """
    value = op.attrs.get("_const_inputs", {}).get(str(position))
    if value is None:
        return None
    flat = value if isinstance(value, (list, tuple)) else [value]
    return [int(item) for item in flat]


def copy_of(tensor: Tensor, dtype: str | None = None) -> int | None:
    """Bytes of a copy of a tensor, in its own element type or another."""
    return tensor.nbytes if dtype is None else times(count(tensor.shape), itemsize(dtype))
