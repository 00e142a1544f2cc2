"""What Keras models, of Keras 3 or tf_keras, declare of their layers, as plain data. Nothing is called or allocated."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from graphmem.graph.layers import Call, Layer, Layers, Model, Output
from graphmem.target.keras_models import framework_of, is_model


def describe_layers(models: Iterable[Any]) -> Layers:
    """The layers of these models and of the models inside them; none if a model of the user's does not tell its own.

    Args:
        models: built ones; of one that was never built, the weights are unknown and count as none.
    """
    walk = _Walk()
    try:
        roots = [walk.model(model) for model in models]
    except Exception:  # a property of the user's class raised: no reason to refuse an analysis that needs none of it
        return Layers((), ())
    return Layers(tuple(walk.found), tuple(roots), walk.floatx)


class _Walk:
    """Describes every model once, those inside another before it."""

    def __init__(self) -> None:
        self.found: list[Model] = []
        self.floatx = "float32"
        self._index: dict[int, int] = {}

    def model(self, model: Any) -> int:
        """The index of a model's description."""
        if id(model) not in self._index:
            self.floatx = str(sys.modules[str(framework_of(model))].backend.floatx())
            described = self._describe(model)
            self._index[id(model)] = len(self.found)
            self.found.append(described)
        return self._index[id(model)]

    def _describe(self, model: Any) -> Model:
        layers = [layer for layer in getattr(model, "layers", ()) if layer is not model]
        nodes = _nodes(model)
        at = {id(layer): index for index, layer in enumerate(layers)}
        outputs: dict[int, tuple[Output, ...]] = {}
        for node in nodes or ():
            outputs.setdefault(id(_operation(node)), _tensors(node.outputs))
        made = [self._layer(layer, outputs.get(id(layer))) for layer in layers]
        calls = None if nodes is None else tuple(_calls(nodes, at))
        return Model(str(model.name), type(model).__name__, tuple(made), calls, *_params(model))

    def _layer(self, layer: Any, outputs: tuple[Output, ...] | None) -> Layer:
        inside = None
        if is_model(layer):
            inside = self.model(layer)
            if outputs is None and _nodes(layer) is not None:
                outputs = _tensors(layer.outputs)  # inside a model that is no graph of layers, but one itself
        dtype = getattr(layer, "dtype", None)
        name = str(getattr(dtype, "name", dtype) or self.floatx)
        return Layer(str(layer.name), type(layer).__name__, name, *_params(layer), outputs, inside)


def _nodes(model: Any) -> list[Any] | None:
    """The calls of a graph of layers, an input before its readers; `None` for a model that is none."""
    function = getattr(model, "_functional", None) or model
    by_depth = getattr(function, "_nodes_by_depth", None)
    if not by_depth or getattr(function, "outputs", None) is None:
        return None
    return [node for depth in sorted(by_depth, reverse=True) for node in by_depth[depth]]


def _calls(nodes: list[Any], layers: dict[int, int]) -> Iterator[Call]:
    made: dict[int, int] = {}
    for index, node in enumerate(nodes):
        operation = _operation(node)
        taken = node.arguments.keras_tensors if hasattr(node, "arguments") else node.keras_inputs
        inputs = dict.fromkeys(made[id(tensor)] for tensor in taken if id(tensor) in made)
        yield Call(str(operation.name), layers.get(id(operation)), _tensors(node.outputs), tuple(inputs))
        for tensor in _flat(node.outputs):
            made.setdefault(id(tensor), index)


def _operation(node: Any) -> Any:
    """The layer that a node calls: Keras 3 and tf_keras name it differently."""
    return node.operation if hasattr(node, "operation") else node.layer


def _tensors(nest: Any) -> tuple[Output, ...]:
    return tuple(Output(_shape(tensor), str(getattr(tensor.dtype, "name", tensor.dtype))) for tensor in _flat(nest))


def _flat(nest: Any) -> list[Any]:
    import tensorflow as tf

    return [tensor for tensor in tf.nest.flatten(nest) if hasattr(tensor, "shape")]


def _shape(tensor: Any) -> tuple[int | None, ...] | None:
    shape = tensor.shape
    if shape is None or getattr(shape, "rank", 0) is None:
        return None
    return tuple(None if dim is None else int(dim) for dim in shape)


def _params(owner: Any) -> tuple[int, int]:
    """Elements of a layer's weights, and of those that may be trained; each weight once."""
    return _elements(owner, "weights"), _elements(owner, "trainable_weights")


def _elements(owner: Any, name: str) -> int:
    weights = {id(weight): weight for weight in getattr(owner, name, None) or ()}
    return sum(math.prod(int(dim) for dim in weight.shape) for weight in weights.values())
