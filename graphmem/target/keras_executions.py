"""Several steps in one call, as Keras runs them for `compile(steps_per_execution=N)`: a loop that gets batches."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from graphmem.target import live as live_models


def several_steps(
    model: Any, kind: str, framework: str, steps: int, data: tuple[Any, ...], overlay: dict[str, Any] | None
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What `fit`, `evaluate` or `predict` call for several steps, and its arguments.

    `fit` and `evaluate` hand over an iterator, from which the loop takes a batch per step; `predict` a list of batches,
    whose outputs it joins. In legacy Keras each call takes an iterator.

    Args:
        steps: how many.
        data: specs of one batch: `(x,)`, `(x, y)` or `(x, y, sample_weight)`.
        overlay: see `graphmem.target.live.untouched`; `None`: the model is graphmem's own.
    """
    made: list[Any] = []

    def run(batches: Any) -> Any:
        with live_models.untouched(model, overlay, made) if overlay is not None else nullcontext():
            if framework == "tf_keras":
                return _run_legacy(model, kind, steps, batches)
            model.jit_compile = False
            return _keras_function(model, kind)(batches)

    run.__name__ = f"{steps}_{kind}_steps"
    import tensorflow as tf

    function = tf.autograph.experimental.do_not_convert(run)
    if kind == "predict" and framework == "keras":
        return function, ([_batch(data)] * steps,)
    return function, (_iterator(_batch(data)),)


def _keras_function(model: Any, kind: str) -> Callable[..., Any]:
    """Keras's own function for several steps; it is traced as part of the one around it."""
    if kind == "predict":
        return model.make_predict_function(force=True) or model.predict_function
    made = model._make_function(getattr(model, f"{kind}_step"))
    return inspect.getclosurevars(made).nonlocals["multi_step_on_iterator"]


class _Number(int):
    """In place of the variable in which legacy Keras keeps how many steps: a trace could not tell its value."""

    def numpy(self) -> np.int64:
        """As of a variable."""
        return np.int64(self)


def _run_legacy(model: Any, kind: str, steps: int, batches: Any) -> Any:
    """Call legacy Keras's function for several steps, as it is made and traced for so many."""
    before = dict(vars(model))
    try:
        model._jit_compile = False
        vars(model)["_steps_per_execution"] = _Number(steps)
        return getattr(model, f"make_{kind}_function")(force=True)(batches)
    finally:
        vars(model).update(before)


def _batch(data: tuple[Any, ...]) -> Any:
    return data[0] if len(data) == 1 else data


def _iterator(batch: Any) -> Any:
    """An iterator over batches of zeros, none of which is made before the loop asks for it.

    Every tensor is made of a number of its own: TensorFlow would make constants, and tensors that are alike, only once.
    """
    import tensorflow as tf

    specs = tf.nest.flatten(batch)

    def zeros(numbers: Any) -> Any:
        return tf.nest.pack_sequence_as(batch, [_filled(spec, numbers[place]) for place, spec in enumerate(specs)])

    options = tf.data.Options()
    options.autotune.enabled = False  # else TensorFlow makes batches ahead
    return iter(tf.data.Dataset.from_tensors([0] * len(specs)).repeat().map(zeros).with_options(options))


def _filled(spec: Any, number: Any) -> Any:
    """A tensor whose items are a number, or that number as text."""
    import tensorflow as tf

    item = tf.strings.as_string(number) if spec.dtype == tf.string else tf.cast(number, spec.dtype)
    return tf.fill(spec.shape, item)
