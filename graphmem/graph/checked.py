"""Typed access to data that was read from a file and may hold anything: each function returns what it checked."""

from __future__ import annotations

from typing import Any

from graphmem.graph.model import Argument, Made, Variable


def a(kind: type, value: Any, what: str) -> Any:
    """The value, of exactly this type: a bool is no int.

    Raises:
        ValueError: it is of another type, or text that is not proper Unicode.
    """
    if type(value) is not kind:
        raise ValueError(f"{what} is a {type(value).__name__}, not a {kind.__name__}")
    if isinstance(value, str):
        value.encode()
    return value


def entry(data: Any, key: str) -> Any:
    """An entry of an object.

    Raises:
        ValueError: there is none, or the data is no object.
    """
    if key not in a(dict, data, f"what holds {key!r}"):
        raise ValueError(f"{key!r} is missing")
    return data[key]


def entries(kind: type, data: Any, key: str) -> list[Any]:
    """An entry of an object that is a list of nothing but this type.

    Raises:
        ValueError: there is none, or it is something else.
    """
    values = a(list, entry(data, key), repr(key))
    if not set(map(type, values)) <= {kind}:
        raise ValueError(f"{key!r} holds something that is not a {kind.__name__}")
    if kind is str:
        "".join(values).encode()
    return values


def size(value: Any) -> int | None:
    """A number of bytes or elements, or `None`: unknown.

    Raises:
        ValueError: it is negative, has more than 63 bits, or is no integer.
    """
    if value is not None and not 0 <= a(int, value, "a size") < 2**63:
        raise ValueError("a size is negative or too large")
    return value


def shape(value: Any) -> tuple[int | None, ...] | None:
    """The dimensions of a tensor, or `None`: an unknown rank.

    Raises:
        ValueError: it is not a list of at most 254 sizes (TensorFlow's own limit).
    """
    if value is None:
        return None
    if len(a(list, value, "a shape")) > 254:
        raise ValueError("a shape has too many dimensions")
    return tuple(map(size, value))


def tensor(row: list[Any]) -> tuple[str, tuple[int | None, ...] | None, int | None, bool]:
    """The fields of a `Tensor`, which each output makes anew.

    Raises:
        ValueError: the row has other fields.
    """
    dtype, dims, nbytes, host = row
    return a(str, dtype, "a dtype"), shape(dims), size(nbytes), a(bool, host, "host")


def variable(row: list[Any]) -> Variable:
    """A variable.

    Raises:
        ValueError: the row has other fields.
    """
    name, dtype, dims, nbytes, role, trainable, slot_of, scope = row
    texts = [a(str, text, "a text") for text in (role, slot_of, scope)]
    return Variable(*_typed(name, dtype, dims, nbytes), texts[0], a(bool, trainable, "trainable"), *texts[1:])


def argument(row: list[Any]) -> Argument:
    """An argument.

    Raises:
        ValueError: the row has other fields.
    """
    name, dtype, dims, nbytes = row
    return Argument(*_typed(name, dtype, dims, nbytes))


def made(row: list[Any]) -> Made:
    """A variable that the program made.

    Raises:
        ValueError: the row has other fields.
    """
    number, nbytes, how, until = row
    numbers = [a(int, value, "a number") for value in (number, nbytes, until)]
    return Made(numbers[0], numbers[1], a(str, how, "a text"), numbers[2])


def _typed(name: Any, dtype: Any, dims: Any, nbytes: Any) -> tuple[str, str, tuple[int | None, ...] | None, int | None]:
    return a(str, name, "a name"), a(str, dtype, "a dtype"), shape(dims), size(nbytes)
