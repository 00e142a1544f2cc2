"""One step of a Keras model as a function with its inputs: what the cases return."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf


def train_step(model: keras.Model, x: Any, y: Any = None, optimizer: Any = "adam", loss: Any = None) -> tuple[Any, Any]:
    """`model.train_step` on one batch, op by op."""
    model.compile(optimizer=optimizer, loss=loss, jit_compile=False)
    model.optimizer.build(model.trainable_variables)

    @tf.function
    def step(x: Any, y: Any = None) -> Any:
        return model.train_step((x,) if y is None else (x, y))

    return step, (x,) if y is None else (x, y)


def test_step(model: keras.Model, x: Any, y: Any, loss: str) -> tuple[Any, Any]:
    """`model.test_step` on one batch."""
    model.compile(loss=loss, jit_compile=False)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        return model.test_step((x, y))

    return step, (x, y)


def predict_step(model: keras.Model, x: Any) -> tuple[Any, Any]:
    """`model.predict_step` on one batch."""

    @tf.function
    def step(x: Any) -> Any:
        return model.predict_step((x,))

    return step, (x,)


def tape_step(forward: Any, optimizer: Any, weights: list[Any], *args: Any) -> tuple[Any, Any]:
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
