"""What of a Keras model decides which changes can be tried on it, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphmem.target.keras_compile import compile_settings, find_optimizers, optimizer_text
from graphmem.target.live import layers_of
from graphmem.target.losses import activation_of, loss_name


@dataclass(frozen=True)
class Seen:
    """A model as those who propose changes see it.

    Attributes:
        framework: "keras" or "tf_keras".
        optimizer: the class of its optimizer, without what wraps it; "" if it has none, or several.
        scaled: whether a `LossScaleOptimizer` wraps it.
        accumulates: steps between two updates; `None` if the optimizer cannot add up gradients.
        slots: how many variables of a weight's shape the optimizer has for most weights.
        head: name of the last layer with weights that train; "" if there is none.
        head_place: its place in `model.layers`.
        frozen_next: how many other layers have weights that train.
        embeddings: names of the layers that look up rows of a table that trains.
        amsgrad: whether an Adam keeps a third state.
        loss: name of its loss, "" for none or several.
        from_logits: whether the loss is told that it gets logits.
        activation: name of the activation that makes its only output, "" if it cannot be told.
        last_layer: name of the layer that has that activation as an attribute, "" if it cannot be replaced.
        metrics: names of its metrics where each is just a name; else empty.
        normalizes_batch: whether a layer normalizes over the batch.
    """

    framework: str
    optimizer: str = ""
    scaled: bool = False
    accumulates: int | None = None
    slots: int = 0
    head: str = ""
    head_place: int = 0
    frozen_next: int = 0
    embeddings: tuple[str, ...] = ()
    amsgrad: bool = False
    loss: str = ""
    from_logits: bool = False
    activation: str = ""
    last_layer: str = ""
    metrics: tuple[str, ...] = ()
    normalizes_batch: bool = False


def seen(model: Any, optimizers: list[Any], framework: str) -> Seen:
    """Look at a model and the optimizers of its step."""
    outer = optimizers[0] if len(optimizers) == 1 and len(dict(find_optimizers(model))) <= 1 else None
    optimizer = getattr(outer, "inner_optimizer", None) or outer
    layers = [layer for layer in getattr(model, "layers", []) if layer.trainable_weights]
    loss, last = getattr(model, "loss", None), _last_layer(model)
    single = loss is not None and not isinstance(loss, (list, tuple, dict))
    metrics = compile_settings(model).get("metrics") or ()
    named = isinstance(metrics, (list, tuple)) and all(isinstance(one, str) for one in metrics)
    return Seen(
        framework=framework,
        optimizer="" if optimizer is None else optimizer_text(optimizer),
        scaled=optimizer is not outer,
        accumulates=_accumulates(optimizer),
        slots=_slots(optimizer, model),
        head=layers[-1].name if layers else "",
        head_place=list(model.layers).index(layers[-1]) if layers else 0,
        frozen_next=len(layers[:-1]),
        embeddings=tuple(_embeddings(model)),
        amsgrad=bool(getattr(optimizer, "amsgrad", False)),
        loss=loss_name(loss) if single else "",
        from_logits=_from_logits(loss),
        activation=activation_of(last),
        last_layer=last.name if last is not None and callable(getattr(last, "activation", None)) else "",
        metrics=tuple(metrics) if named else (),
        normalizes_batch=any("BatchNormalization" in type(one).__name__ for one in layers_of(model)),
    )


def _accumulates(optimizer: Any) -> int | None:
    """Keras 3 adds up gradients in its optimizers; legacy Keras does not."""
    if not hasattr(optimizer, "gradient_accumulation_steps"):
        return None
    return int(optimizer.gradient_accumulation_steps or 1)


def _slots(optimizer: Any, model: Any) -> int:
    """State per weight, from the optimizer's variables; 0 before they are made."""
    variables = getattr(optimizer, "variables", [])
    variables = variables() if callable(variables) else variables
    weights = model.trainable_weights
    sizes = {tuple(weight.shape) for weight in weights}
    return round(sum(tuple(one.shape) in sizes for one in variables) / len(weights)) if weights else 0


def _embeddings(model: Any) -> list[str]:
    return [one.name for one in layers_of(model) if type(one).__name__ == "Embedding" and one.trainable_weights]


def _from_logits(loss: Any) -> bool:
    told = getattr(loss, "_fn_kwargs", None) or getattr(loss, "fn_kwargs", None) or {}
    return bool(getattr(loss, "from_logits", False) or told.get("from_logits", False))


def _last_layer(model: Any) -> Any:
    """The layer that makes the only output; `None` if there are several."""
    outputs = getattr(model, "outputs", None) or []
    layers = getattr(model, "layers", None) or []
    return layers[-1] if len(outputs) == 1 and layers else None
