"""Which variables a program made, in which order, and which of them are gone: an allocator's holes depend on it."""

from __future__ import annotations

import functools
import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

#: Bytes of one chunk of an allocator. Variables up to it are told apart neither by size nor by what they are assigned,
#: and all that live count: a seed of a layer that the step does not run can keep a region of the pool in two pieces.
_CHUNK = 256


@dataclass(slots=True)
class _Value:
    """What a variable holds or held. Times are numbers that TensorFlow counts on, also for each eager tensor made."""

    variable: weakref.ref[Any] | None
    nbytes: int
    how: str
    made: int
    dropped: int | None = None


class Making:
    """Keeps what is made, without keeping it alive."""

    def __init__(self) -> None:
        self._values: list[_Value] = []
        self._current: dict[int, _Value] = {}  # id of a variable that is alive -> what it holds
        self._batch: _Value | None = None
        self._since = 0

    def begin(self) -> None:
        """A target is made from here on: what is older is there for another one that this process looks at."""
        self._since = _now()

    def add(self, variable: Any, initial_value: Any) -> None:
        """A variable was made of an initial value, a tensor or what computes one."""
        shape = None if variable.shape.rank is None else tuple(variable.shape)
        nbytes = tensor_bytes(variable.dtype.base_dtype.name, shape) or 0
        known = weakref.ref(variable, self._drop(id(variable)))
        self._hold(variable, _Value(known, nbytes, how_made(initial_value), _now()))

    def assign(self, variable: Any, value: Any) -> None:
        """A variable adopts a tensor, which may have been there before it; what it held goes."""
        old = self._current.get(id(variable))
        if old is not None and old.nbytes > _CHUNK and old.variable is not None and old.variable() is variable:
            made = getattr(value, "_id", None)
            self._hold(variable, _Value(old.variable, old.nbytes, "given", made if isinstance(made, int) else _now()))
            old.variable, old.dropped = None, _now()

    def examples(self, tensors: list[Any]) -> None:
        """The step is called with these tensors: the largest one tells when its batch was made."""
        made = [(int(tensor.shape.num_elements() or 0), tensor._id) for tensor in tensors if hasattr(tensor, "_id")]
        self._batch = _Value(None, 0, "batch", max(made)[1]) if made else None

    def _hold(self, variable: Any, value: _Value) -> None:
        self._values.append(value)
        self._current[id(variable)] = value

    def _drop(self, key: int) -> Callable[[Any], None]:
        def drop(_: Any) -> None:
            self._current.pop(key).dropped = _now()

        return drop

    def of(self, variables: list[Any]) -> list[Made]:
        """The variables given, those of them that were made here, among others that the target made.

        Of these those that were dropped, and those that are small. What is large and lives belongs to models that the
        step does not run: another program may not have them.

        Args:
            variables: those of a step; `None` for what is none.
        """
        numbers = {id(variable): number for number, variable in enumerate(variables) if variable is not None}
        found = []
        values = [*self._values, *([self._batch] if self._batch else [])]
        for value in sorted(values, key=lambda value: value.made):
            number = -1 if value.variable is None else numbers.get(id(value.variable()), -1)
            other = value.made >= self._since and (value.dropped is not None or value.nbytes <= _CHUNK)
            if number >= 0 or other or value is self._batch:
                found.append((value, number))
        times = [value.made for value, _ in found]
        return [
            Made(number, value.nbytes, value.how, -1 if value.dropped is None else bisect_left(times, value.dropped))
            for value, number in found
        ]


@contextmanager
def assignments_seen(making: Callable[[], Making]) -> Iterator[None]:
    """Within the block, eager assignments to variables are told to what `making` gives."""
    import tensorflow as tf
    from tensorflow.python.ops.resource_variable_ops import ResourceVariable

    assign = ResourceVariable.assign

    @functools.wraps(assign)
    def assign_seen(self: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        if tf.executing_eagerly():
            making().assign(self, value)
        return assign(self, value, *args, **kwargs)

    ResourceVariable.assign = assign_seen
    try:
        yield
    finally:
        ResourceVariable.assign = assign


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


def _now() -> int:
    from tensorflow.python.framework import ops

    return int(ops.uid())
