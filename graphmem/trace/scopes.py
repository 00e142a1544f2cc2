"""The name scopes that layers open while a step is traced.

Keras's own name scopes are watched: each says which layer opened which scope. Shared layers keep one path however often
they are called.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from graphmem.graph.scopes import ScopePaths


class Scopes(ScopePaths):
    """The name scopes that layers opened while a step was traced.

    Attributes:
        layers: id of a layer -> its path.
    """

    def __init__(self) -> None:
        super().__init__()
        self.layers: dict[int, str] = {}
        self._kept: list[Any] = []

    def entered(self, scope: str, layer: Any, name: str) -> None:
        """A layer opened a scope."""
        if scope in self.paths:
            return
        path = self.layers.get(id(layer))
        if path is None:
            above = self.recorded(scope.rpartition("/")[0])
            same = above.rpartition("/")[2] == name and id(layer) in self.layers
            path = above if same else f"{above}/{name}" if above else name
            self.layers[id(layer)] = path
            self._kept.append(layer)
        self.paths[scope] = path

    def seen(self) -> list[Any]:
        """The layers that were met, in the order of their first call."""
        return self._kept

    def know(self, models: list[Any]) -> None:
        """Layer names of models whose scopes cannot be watched, so that made-unique names can be read."""
        for model in models:
            for layer in _layers_below(model):
                self.names.add(layer.name)


@contextlib.contextmanager
def watched(models: list[Any]) -> Iterator[Scopes]:
    """Watch Keras's name scopes while a step is traced; Keras is left as it was."""
    scopes = Scopes()
    scopes.know([model for model in models if not _is_keras_3(model)])
    try:
        from keras.src.backend.tensorflow.core import name_scope
    except ImportError:
        yield scopes
        return
    from tensorflow.python.framework import ops

    original = name_scope.__enter__

    def enter(self: Any) -> Any:
        result = original(self)
        caller = getattr(self, "caller", None)
        if caller is not None and hasattr(caller, "compute_output_spec"):  # an operation, no optimizer or metric
            scopes.entered(ops.get_default_graph().get_name_scope(), caller, caller.name)
        return result

    name_scope.__enter__ = enter
    try:
        yield scopes
    finally:
        name_scope.__enter__ = original


def _is_keras_3(model: Any) -> bool:
    return any(kind.__module__.startswith("keras.src") for kind in type(model).__mro__)


def _layers_below(model: Any) -> list[Any]:
    flatten = getattr(model, "_flatten_layers", None)
    return list(flatten(include_self=True)) if flatten else []
