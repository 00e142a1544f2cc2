"""Protocol buffers as they are written: the fields of one message, found without reading what is in them.

A step's program may take a gigabyte; all that is asked of it here lies at the top.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator

_FIXED = {1: 8, 5: 4}
_VARINT, _MESSAGE = 0, 2


def fields(data: bytes | mmap.mmap) -> Iterator[tuple[int, int, int]]:
    """(number, begin, end) of the content of each field of a message, in the order in which they are written.

    >>> list(fields(bytes([0x0A, 2, 7, 8, 0x10, 5])))
    [(1, 2, 4), (2, 5, 6)]

    Raises:
        ValueError: the message is cut off, or is none.
    """
    at, size = 0, len(data)
    while at < size:
        tag, at = _varint(data, at)
        kind, begin = tag & 7, at
        if kind == _VARINT:
            _, end = _varint(data, at)
        elif kind == _MESSAGE:
            length, begin = _varint(data, at)
            end = begin + length
        elif kind in _FIXED:
            end = begin + _FIXED[kind]
        else:
            raise ValueError(f"no field is of kind {kind}")
        if end > size:
            raise ValueError("the message is cut off")
        yield tag >> 3, begin, end
        at = end


def _varint(data: bytes | mmap.mmap, at: int) -> tuple[int, int]:
    """The number of variable length that begins at a position, and where it ends."""
    value = shift = 0
    for place in range(at, min(at + 10, len(data))):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    raise ValueError("the message is cut off")
