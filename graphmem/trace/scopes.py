"""From op names to the model's own path to a layer.

TensorFlow makes name scopes unique ("dense" becomes "dense_1_2"), so names alone do not say which layer an op belongs
to. While the step is traced, Keras's own name scopes are watched: each says which layer opened which scope. Shared
layers keep one path however often they are called.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

#: What TensorFlow and Grappler put in front of a name: gradients, rewrites, inlined calls, lowered loop bodies.
_PREFIX = re.compile(
    r"^(?:gradient_tape|gradients|ConstantFolding|ArithmeticOptimizer|LayoutOptimizer|LoopOptimizer|RemapperOptimizer"
    r"|(?:Stateful)?PartitionedCall(?:_\d+)?|Func)/"
)
_LOWERED = re.compile(r"/(?:body|cond|then|else)/_\d+/")
_NUMBER = re.compile(r"_\d+$")


class Scopes:
    """The name scopes that layers opened while a step was traced.

    Attributes:
        paths: name scope -> path of the layer ("encoder/block_3/conv2d").
        layers: id of a layer -> its path.
        ops: names of the ops that were traced.
    """

    def __init__(self) -> None:
        self.paths: dict[str, str] = {}
        self.layers: dict[int, str] = {}
        self.ops: set[str] = set()
        self._kept: list[Any] = []
        self._known: dict[str, str] = {}
        self._names: set[str] = set()

    def entered(self, scope: str, layer: Any, name: str) -> None:
        """A layer opened a scope."""
        if scope in self.paths:
            return
        path = self.layers.get(id(layer))
        if path is None:
            above = self._recorded(scope.rpartition("/")[0])
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
                self._names.add(layer.name)

    def of_op(self, name: str) -> str:
        """The layer path of an op; what no layer opened keeps its own name scope, without the op's name."""
        parent = name.rpartition("/")[0]
        known = self._known.get(parent)
        if known is None:
            known = self._known[parent] = self._resolve(parent)
        return known

    def _resolve(self, parent: str) -> str:
        parent += "/"
        gradient = "gradient" in parent
        while True:
            shorter = _PREFIX.sub("", parent)
            bodies = _LOWERED.split(shorter)
            shorter = bodies[-1] if len(bodies) > 1 and bodies[-1] else shorter
            if shorter == parent:
                break
            parent = shorter
        scope = parent.rstrip("/")
        if gradient and scope in self.ops:  # the gradient of an op is named after it
            scope = scope.rpartition("/")[0]
        return self._recorded(scope) or "/".join(self._plain(part) for part in scope.split("/") if part)

    def _recorded(self, scope: str) -> str:
        while scope:
            if scope in self.paths:
                return self.paths[scope]
            scope = scope.rpartition("/")[0]
        return ""

    def _plain(self, part: str) -> str:
        """A made-unique part of a name: the layer's own name if there is such a layer."""
        if part in self._names:
            return part
        shorter = _NUMBER.sub("", part)
        return shorter if shorter in self._names else part


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
