"""Losses and labels that a model needs for a step and that nobody has given: what suits its outputs."""

from __future__ import annotations

from typing import Any

from graphmem.target.specs import safe_name

_VOCABULARY = 256  # a last dimension from here on, over integer inputs, is read as a score for each token


def loss_name(loss: Any) -> str:
    """The bare name of a loss: an identifier, a function, an instance or a wrapper of Keras; lower case.

    >>> loss_name("sparse_categorical_crossentropy")
    'sparse_categorical_crossentropy'
    """
    if isinstance(loss, str):
        return loss.lower()
    function = getattr(loss, "fn", None)
    name = getattr(function, "__name__", None) or getattr(loss, "__name__", None) or type(loss).__name__
    return str(name).lower()


def takes_class_indices(loss: Any) -> bool:
    """Whether the loss compares scores with one integer per sample (sparse categorical) instead of one per score."""
    return "sparsecategorical" in loss_name(loss).replace("_", "") or "sparse_top" in loss_name(loss)


def label_specs(loss: Any, outputs: Any, output_names: list[str] | None, tree: Any) -> Any:
    """The labels that a compiled loss takes: `tf.TensorSpec`s in the structure of the outputs, `None` where none is.

    Args:
        loss: as given to `compile`: one for all outputs, a list, or a dict by output name.
        outputs: `tf.TensorSpec`s of the model's outputs, with all dimensions known.
        output_names: of the flat outputs, if the model names them.
        tree: `tf.nest`, to walk the outputs.
    """
    flat = tree.flatten(outputs)
    losses = loss_per_output(loss, outputs, output_names, tree)
    names = _label_names(outputs, output_names, len(flat))
    together = zip(losses, flat, names, strict=True)
    labels = [None if one is None else _label(one, out, name) for one, out, name in together]
    return tree.pack_sequence_as(outputs, labels)


def loss_per_output(loss: Any, outputs: Any, output_names: list[str] | None, tree: Any) -> list[Any]:
    """One loss for each flat output; `None` for an output without."""
    flat = tree.flatten(outputs)
    if isinstance(loss, dict):
        keys = sorted(outputs) if isinstance(outputs, dict) else (output_names or [])
        if len(keys) == len(flat):
            return [loss.get(key) for key in keys]
        return (tree.flatten(loss) + [None] * len(flat))[: len(flat)]
    if isinstance(loss, (list, tuple)):
        return (list(loss) + [None] * len(flat))[: len(flat)]
    return [loss] * len(flat)


def _label(loss: Any, output: Any, name: str) -> Any:
    import tensorflow as tf

    if takes_class_indices(loss):
        return tf.TensorSpec(output.shape[:-1], tf.int32, name=name)
    # labels come as float32 from the user's data whatever the precision of the model's outputs
    dtype = tf.float32 if output.dtype.is_floating and output.dtype.size < 4 else output.dtype
    return tf.TensorSpec(output.shape, dtype, name=name)


def _label_names(outputs: Any, output_names: list[str] | None, count: int) -> list[str]:
    if count == 1:
        return ["y"]
    keys = sorted(outputs) if isinstance(outputs, dict) else (output_names or [])
    if len(keys) != count:
        keys = [str(i) for i in range(count)]
    return [safe_name(f"y_{key}") or "y" for key in keys]


def suitable_loss(activation: str, output: Any, integer_inputs: bool) -> tuple[str, bool]:
    """A loss that suits an output of a model that was not compiled: (Keras identifier, whether from logits).

    Args:
        activation: name of the activation that makes the output, "" if not known.
        output: its `tf.TensorSpec`.
        integer_inputs: whether the model reads token numbers.
    """
    last = output.shape[-1] if output.shape.rank else None
    if activation in ("softmax", "log_softmax"):
        return "sparse_categorical_crossentropy", False
    if activation == "sigmoid":
        return "binary_crossentropy", False
    if integer_inputs and output.shape.rank >= 3 and (last or 0) >= _VOCABULARY:
        return "sparse_categorical_crossentropy", True
    return "mean_squared_error", False


def final_activation(model: Any, tensor: Any) -> str:
    """Name of the activation that makes an output of a Functional or Sequential model; "" if it cannot be told."""
    history = getattr(tensor, "_keras_history", None)
    layer = getattr(history, "operation", None) or getattr(history, "layer", None)
    return activation_of(layer) if layer is not None else ""


def activation_of(layer: Any) -> str:
    """Name of a layer's activation, looking into a model that serves as a layer; "" if it has none."""
    inner = getattr(layer, "layers", None)
    if inner and not callable(getattr(layer, "activation", None)):
        outputs = getattr(layer, "outputs", None) or []
        return final_activation(layer, outputs[0]) if len(outputs) == 1 else ""
    if type(layer).__name__ == "Softmax":
        return "softmax"
    return str(getattr(getattr(layer, "activation", None), "__name__", ""))
