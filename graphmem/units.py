"""Bytes as text, and text as bytes."""

from __future__ import annotations

import re

from graphmem.errors import TargetError

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_FACTORS = {"": 1, "b": 1}
_FACTORS |= {f"{p}ib": 1024**i for i, p in enumerate("kmgtp", 1)}
_FACTORS |= {f"{p}b": 1000**i for i, p in enumerate("kmgtp", 1)}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z]*)\s*")


def format_bytes(count: int) -> str:
    """Write a number of bytes with three significant digits in KiB, MiB, GiB… (powers of 1024).

    >>> format_bytes(0), format_bytes(1023), format_bytes(741_605_376)
    ('0 B', '1023 B', '707 MiB')
    >>> format_bytes(1024 * 1000), format_bytes(-1536)
    ('0.977 MiB', '-1.50 KiB')
    """
    sign, value, unit = ("-" if count < 0 else ""), abs(count), 0
    size = float(value)
    while size >= 999.5 and unit < len(_BINARY) - 1 and value >= 1024:
        size /= 1024
        unit += 1
    if unit == 0:
        return f"{sign}{value} B"
    digits = 3 if size < 0.9995 else 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{sign}{size:.{digits}f} {_BINARY[unit]}"


def as_bytes(size: int | str) -> int:
    """A size given as bytes or as text.

    Raises:
        TargetError: the text is not a size.
    """
    return parse_bytes(size) if isinstance(size, str) else size


def parse_bytes(text: str) -> int:
    """Read a size such as ``6GiB``, ``7.5 GB`` (powers of 1000) or ``1024``.

    Raises:
        TargetError: the text is not a size.
    """
    match = _SIZE.fullmatch(text)
    factor = _FACTORS.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise TargetError(f"{text!r} is not a size; write it like 6GiB, 7.5GB or 500MiB.")
    return int(float(match[1]) * factor)
