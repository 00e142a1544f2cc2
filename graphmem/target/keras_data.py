"""The data of a Keras step: what the caller gives, and labels and sample weights that the loss calls for."""

from __future__ import annotations

from typing import Any

from graphmem.errors import TargetError
from graphmem.target.keras_inputs import batch_of, label_names
from graphmem.target.losses import label_specs
from graphmem.target.specs import close_spec, parse_inputs, safe_name, spec_of
from graphmem.target.step import Options


def given_specs(model: Any, specs: tuple[Any, ...] | None, batch: int | None, options: Options) -> tuple[Any, ...]:
    """The caller's specs, with the user's batch size and every dimension known."""
    import tensorflow as tf

    def closed(value: Any, name: str) -> Any:
        spec = spec_of(value)
        if isinstance(spec, tf.TensorSpec) and spec.shape.rank and options.batch is not None:
            spec = tf.TensorSpec([options.batch, *spec.shape[1:]], spec.dtype, name=spec.name)
        return close_spec(spec, name, batch, options.dims)

    if specs is None:
        return ()
    if len(specs) > 3:
        raise TargetError("A model's data are (x,), (x, y) or (x, y, sample_weight).")
    names = ("x", "y", "sample_weight")
    return tuple(
        tf.nest.map_structure(lambda leaf, name=name: closed(leaf, name), part)
        for part, name in zip(specs, names, strict=False)
    )


def step_data(
    model: Any,
    kind: str,
    options: Options,
    x: Any,
    given: tuple[Any, ...],
    outputs: Any,
    batch: int | None,
    notes: list[str],
) -> tuple[Any, ...]:
    """The step's arguments: (x,), (x, y) or (x, y, sample_weight).

    Args:
        x: specs of the inputs.
        given: the caller's specs, with or without labels.
        outputs: specs of the model's outputs, from which labels that nobody gives are derived; noted.

    Raises:
        TargetError: a label that `--input` describes has an open dimension.
    """
    import tensorflow as tf

    said = {n: s for n, s in parse_inputs(options.inputs).items() if n in label_names(model)}
    if kind == "predict":
        return (x,)
    y = given[1] if len(given) > 1 else None
    weight = given[2] if len(given) > 2 else None
    if y is None and getattr(model, "loss", None):
        y = label_specs(model.loss, outputs, getattr(model, "output_names", None), tf.nest)
        if not said:
            notes.append(f"Labels: {_described(y)}, as the loss and the outputs suggest.")
    for name, spec in said.items():
        dims = batch_of(x) if batch is None else batch
        closed = close_spec(tf.TensorSpec(spec.shape, spec.dtype, name=safe_name(name)), name, dims, options.dims)
        if name == "sample_weight":
            weight = closed
        elif isinstance(y, dict) and name.removeprefix("y_") in y:
            y = {**y, name.removeprefix("y_"): closed}
        elif isinstance(y, (list, tuple)) and name.removeprefix("y_") in (model.output_names or []):
            index = list(model.output_names).index(name.removeprefix("y_"))
            y = [closed if i == index else one for i, one in enumerate(y)]
        else:
            y = closed
    if y is None:
        if kind == "train" and not given:
            notes.append("No labels: the model has no loss of Keras' own; describe labels with --input y:DTYPE:SHAPE.")
        return (x,) if weight is None else (x, None, weight)
    return (x, y) if weight is None else (x, y, weight)


def _described(y: Any) -> str:
    import tensorflow as tf

    leaves = [leaf for leaf in tf.nest.flatten(y) if leaf is not None]
    return ", ".join(f"{leaf.dtype.name} {'x'.join(map(str, leaf.shape)) or 'scalar'}" for leaf in leaves)
