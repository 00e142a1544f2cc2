"""One step of a Keras model as a function with its inputs: what the cases return."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

Step = tuple[Any, tuple[Any, ...]]
"""A `tf.function` and the tensors it is called with."""


@dataclass
class Training:
    """A model with one batch, which it may learn from or be asked about."""

    model: keras.Model
    x: Any
    y: Any = None
    optimizer: Any = "adam"
    loss: Any = None

    def step(self, kind: str) -> Step:
        """The step of a kind: "train" or "predict"."""
        if kind == "predict":
            return predict_step(self.model, self.x)
        return train_step(self.model, self.x, self.y, self.optimizer, self.loss)


VARIANTS = ("train", "predict", "train+mixed", "predict+mixed")
"""Mixed ones have Keras's `mixed_float16` as the policy of every layer that names none."""


def variants(*names: str) -> Callable[[Callable[[], Training]], Callable[..., Step]]:
    """Make a case of each variant named, or of all of them."""

    def decorate(case: Callable[[], Training]) -> Callable[..., Step]:
        @functools.wraps(case)
        def variant(step: str = "train", policy: str = "float32") -> Step:
            name = step if policy == "float32" else f"{step}+mixed"
            if name not in (names or VARIANTS):
                raise ValueError(f"{case.__name__} has no variant {name}.")
            before = keras.config.dtype_policy()
            keras.config.set_dtype_policy(policy)
            try:
                return case().step(step)
            finally:
                keras.config.set_dtype_policy(before)

        del variant.__wrapped__  # its own parameters are what a call takes
        return variant

    return decorate


def train_step(model: keras.Model, x: Any, y: Any = None, optimizer: Any = "adam", loss: Any = None) -> Step:
    """`model.train_step` on one batch, op by op."""
    model.compile(optimizer=optimizer, loss=loss, jit_compile=False)
    if isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer):
        model.optimizer.initial_scale = 1.0  # with Keras's own, gradients overflow at first, and nothing is updated
    model.optimizer.build(model.trainable_variables)

    @tf.function
    def step(x: Any, y: Any = None) -> Any:
        return model.train_step((x,) if y is None else (x, y))

    return step, (x,) if y is None else (x, y)


def test_step(model: keras.Model, x: Any, y: Any, loss: str) -> Step:
    """`model.test_step` on one batch."""
    model.compile(loss=loss, jit_compile=False)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        return model.test_step((x, y))

    return step, (x, y)


def predict_step(model: keras.Model, x: Any) -> Step:
    """`model.predict_step` on one batch."""

    @tf.function
    def step(x: Any) -> Any:
        return model.predict_step((x,))

    return step, (x,)


def tape_step(forward: Any, optimizer: Any, weights: list[Any], *args: Any) -> Step:
    """A custom loop's step: the gradients of `forward(*args)`, a scalar, and the optimizer's update."""
    optimizer.build(weights)

    @tf.function
    def step(*args: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = forward(*args)
        gradients = tape.gradient(loss, [weight.value for weight in weights])
        optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return loss

    return step, args


def labels(batch: int) -> tf.Tensor:
    """Class numbers."""
    return tf.zeros((batch,), tf.int32)


def images(batch: int, size: int, channels: int = 3) -> tf.Tensor:
    """Square images of random values."""
    return tf.random.uniform((batch, size, size, channels))


def tokens(batch: int, length: int) -> tf.Tensor:
    """Token numbers, padded with zeros at the end."""
    return tf.pad(tf.ones((batch, length - length // 4), tf.int32), [[0, 0], [0, length // 4]])
