"""What the Keras models of a step say of their own layers, as plain data: the input of estimates made from layers.

It is kept in `StepGraph.info["models"]`, and so in a saved trace. Nothing of it enters the simulation.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from graphmem.errors import TargetError
from graphmem.graph import checked
from graphmem.graph.model import StepGraph


@dataclass(frozen=True)
class Output:
    """A tensor as a model declares it: `None` for an open dimension, such as the batch; `None` for an unknown rank."""

    shape: tuple[int | None, ...] | None
    dtype: str


@dataclass(frozen=True)
class Layer:
    """One layer of a model, however often it is called.

    Attributes:
        name: its own name.
        kind: its class.
        dtype: what `layer.dtype` says: the type of its weights, also under mixed precision.
        params: elements of all its weights, those of layers inside it included.
        trainable: those of them that an optimizer may change.
        outputs: of its first call in the model; `None` if the model does not declare them.
        model: index in `Layers.models` if it is a model itself.
    """

    name: str
    kind: str
    dtype: str
    params: int
    trainable: int
    outputs: tuple[Output, ...] | None
    model: int | None = None


@dataclass(frozen=True)
class Call:
    """One call of a layer, or of an operation without weights.

    Attributes:
        name: of the layer or operation.
        layer: index in `Model.layers`; `None` for an operation.
        outputs: what it gives.
        inputs: indices in `Model.calls` of the calls whose outputs it takes.
    """

    name: str
    layer: int | None
    outputs: tuple[Output, ...]
    inputs: tuple[int, ...]


@dataclass(frozen=True)
class Model:
    """One model.

    Attributes:
        name, kind: its name and class.
        layers: its direct layers, in Keras' order.
        calls: how they are connected, an input before its reader; `None` if the model is no graph of layers.
        params, trainable: as a layer's; a weight that several layers share counts once.
    """

    name: str
    kind: str
    layers: tuple[Layer, ...]
    calls: tuple[Call, ...] | None
    params: int
    trainable: int


@dataclass(frozen=True)
class Layers:
    """The models of a step.

    Attributes:
        models: every model, nested ones included, once.
        roots: indices of those that are inside no other.
        floatx: Keras' default float type.
    """

    models: tuple[Model, ...]
    roots: tuple[int, ...]
    floatx: str = "float32"

    def to_plain(self) -> dict[str, Any]:
        """Dicts, lists, texts and numbers."""
        return dataclasses.asdict(self)


def layers_of(graph: StepGraph) -> Layers | None:
    """The layers of a step's models; `None` if it has no Keras model.

    Raises:
        TargetError: the trace holds something else in their place.
    """
    data = graph.info.get("models")
    if not data:
        return None
    try:
        found = _layers(data)
    except (TypeError, ValueError, KeyError) as error:
        raise TargetError(f"what the trace says of the model's layers is damaged: {error}.") from error
    return found if found.roots else None


def _layers(data: dict[str, Any]) -> Layers:
    models = tuple(_model(row) for row in _rows(data["models"]))
    inside = [layer.model for model in models for layer in model.layers if layer.model is not None]
    if any(index >= len(models) for index in (*data["roots"], *inside)):
        raise ValueError("a model is missing")
    _check_nesting(models)
    return Layers(models, tuple(map(_count, _rows(data["roots"]))), checked.a(str, data["floatx"], "floatx"))


def _check_nesting(models: tuple[Model, ...]) -> None:
    """Models are listed after those inside them, so that none can be inside itself."""
    for index, model in enumerate(models):
        if any(layer.model is not None and layer.model >= index for layer in model.layers):
            raise ValueError("a model is inside itself")


def _model(row: dict[str, Any]) -> Model:
    layers = tuple(_layer(item) for item in _rows(row["layers"]))
    calls = None if row["calls"] is None else tuple(_call(item) for item in _rows(row["calls"]))
    for index, call in enumerate(calls or ()):
        if any(source >= index for source in call.inputs) or (call.layer is not None and call.layer >= len(layers)):
            raise ValueError("a call takes what is not there")
    return Model(_text(row["name"]), _text(row["kind"]), layers, calls, _count(row["params"]), _count(row["trainable"]))


def _layer(row: dict[str, Any]) -> Layer:
    outputs = None if row["outputs"] is None else _outputs(row["outputs"])
    names = _text(row["name"]), _text(row["kind"]), _text(row["dtype"])
    return Layer(*names, _count(row["params"]), _count(row["trainable"]), outputs, _index(row["model"]))


def _call(row: dict[str, Any]) -> Call:
    inputs = tuple(map(_count, _rows(row["inputs"])))
    return Call(_text(row["name"]), _index(row["layer"]), _outputs(row["outputs"]), inputs)


def _outputs(rows: Any) -> tuple[Output, ...]:
    return tuple(Output(_shape(row["shape"]), _text(row["dtype"])) for row in _rows(rows))


def _shape(value: Any) -> tuple[int | None, ...] | None:
    return None if value is None else checked.shape(list(_rows(value)))


def _rows(value: Any) -> list[Any] | tuple[Any, ...]:
    if type(value) not in (list, tuple):
        raise ValueError(f"a {type(value).__name__} is no list")
    return value


def _text(value: Any) -> str:
    return str(checked.a(str, value, "a text"))


def _count(value: Any) -> int:
    checked.size(checked.a(int, value, "a count"))
    return int(value)


def _index(value: Any) -> int | None:
    return None if value is None else _count(value)
