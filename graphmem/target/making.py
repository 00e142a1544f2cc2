"""Which variables a program made, in which order, and which of them are gone: an allocator's holes depend on it."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphmem.graph.model import Made, tensor_bytes

#: Class of an initialiser, or of one that it is derived from -> how it makes a value (`graphmem.graph.model.MAKING`).
_INITIALIZERS = {
    "Zeros": "filled",
    "Ones": "filled",
    "Constant": "scaled",
    "Identity": "scaled",
    "Orthogonal": "orthogonal",
    "RandomInitializer": "drawn",
    "RandomNormal": "drawn",
    "RandomUniform": "drawn",
    "TruncatedNormal": "drawn",
    "VarianceScaling": "drawn",
}


@dataclass(slots=True)
class _Birth:
    variable: weakref.ref[Any]
    nbytes: int
    how: str
    until: int = -1


class Making:
    """Keeps what is made, without keeping it alive."""

    def __init__(self) -> None:
        self._births: list[_Birth] = []

    def add(self, variable: Any, initial_value: Any) -> None:
        """A variable was made of an initial value, a tensor or what computes one."""
        shape = None if variable.shape.rank is None else tuple(variable.shape)
        nbytes = tensor_bytes(variable.dtype.base_dtype.name, shape) or 0
        number = len(self._births)
        self._births.append(_Birth(weakref.ref(variable, self._dropped(number)), nbytes, how_made(initial_value)))

    def _dropped(self, number: int) -> Callable[[Any], None]:
        def drop(_: Any) -> None:
            self._births[number].until = len(self._births)

        return drop

    def of(self, variables: list[Any]) -> list[Made]:
        """The variables given, those of them that were made here, among those that were made and dropped.

        Args:
            variables: those of a step; `None` for what is none.
        """
        numbers = {id(variable): number for number, variable in enumerate(variables) if variable is not None}
        found = []
        for birth in self._births:
            number = numbers.get(id(birth.variable()), -1)
            if number >= 0 or birth.until >= 0:
                found.append((birth, number))
        position = {id(birth): place for place, (birth, _) in enumerate(found)}
        before = [0]  # how many of those found are among the first so many births
        for birth in self._births:
            before.append(before[-1] + (id(birth) in position))
        return [
            Made(number, birth.nbytes, birth.how, -1 if birth.until < 0 else before[birth.until])
            for birth, number in found
        ]


def how_made(initial_value: Any) -> str:
    """How an initial value comes about, of what a variable is given: one of `graphmem.graph.model.MAKING`."""
    if not callable(initial_value) or hasattr(initial_value, "dtype"):
        return "given"
    for kind in type(_initializer(initial_value)).__mro__:
        if kind.__name__ in _INITIALIZERS and ".initializers" in kind.__module__:
            return _INITIALIZERS[kind.__name__]
    return "filled"


def _initializer(value: Callable[[], Any]) -> Any:
    """The initialiser that Keras wraps: tf_keras in `partial(initializer, shape)`, Keras 3 in a lambda's closure."""
    if isinstance(value, functools.partial):
        return value.func
    cells = [cell.cell_contents for cell in getattr(value, "__closure__", None) or ()]
    return next((cell for cell in cells if ".initializers" in type(cell).__module__), None)
