"""Attribute values as strict JSON and back: what comes back is equal to what went in, tuples included.

JSON knows no tuples, infinities and NaNs; they are written as an object whose only key is the empty string:
`{"": [1, 2]}` is the tuple `(1, 2)`, `{"": "inf"}` a float. No other object may have that key.
"""

from __future__ import annotations

import math
from typing import Any

MAX_DEPTH = 50
"""Most levels of lists, tuples and dicts inside each other."""

_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def encode(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Plain data as what strict JSON can write.

    Raises:
        ValueError: the value, or something in it, is not plain data, or is nested deeper than `depth`.

    >>> encode({"begin": (0, None), "value": float("-inf")})
    {'begin': {'': [0, None]}, 'value': {'': '-inf'}}
    """
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int or kind is str:
        return _portable(value)
    if kind is float:
        return value if math.isfinite(value) else {"": str(value)}
    if kind not in (list, tuple, dict):
        raise ValueError(f"a {kind.__name__} is not plain data")
    _check_depth(depth)
    if kind is dict:
        for key in value:
            if type(key) is not str or not key:
                raise ValueError(f"{key!r} cannot be a key")
        return {_portable(key): encode(item, depth - 1) for key, item in value.items()}
    items = [encode(item, depth - 1) for item in value]
    return items if kind is list else {"": items}


def decode(value: Any, depth: int = MAX_DEPTH) -> Any:
    """What `encode` was given; `value` comes from a JSON parser.

    Raises:
        ValueError: `encode` never writes such a value.

    >>> decode({"begin": {"": [0, None]}})
    {'begin': (0, None)}
    """
    kind = type(value)
    if kind is int or kind is str:
        return _portable(value)
    if kind is not list and kind is not dict:
        return value
    _check_depth(depth)
    if kind is list:
        return [decode(item, depth - 1) for item in value]
    if "" not in value:
        return {_portable(key): decode(item, depth - 1) for key, item in value.items()}
    inner = value[""]
    if len(value) == 1 and type(inner) is list:
        return tuple(decode(item, depth - 1) for item in inner)
    if len(value) == 1 and type(inner) is str and inner in _FLOATS:
        return _FLOATS[inner]
    raise ValueError("an object with an empty key is neither a tuple nor a float")


def _portable(value: Any) -> Any:
    """The value, if it is a 64-bit integer or proper Unicode text."""
    if isinstance(value, str):
        value.encode()  # a lone surrogate could be read, but never be printed
    elif not -(2**63) <= value < 2**64:
        raise ValueError("an integer does not fit in 64 bits")
    return value


def _check_depth(depth: int) -> None:
    if depth == 0:
        raise ValueError(f"something is nested more than {MAX_DEPTH} levels deep")
