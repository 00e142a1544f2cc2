"""Small steps of which XLA compiles parts: name -> a function that returns a model or a `tf.function`, and data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from tests.measure import control_flow_steps

uniform = tf.random.uniform
STEPS: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
    name: control_flow_steps.STEPS[name] for name in ("called_functions", "functional_while")
}


def step(function: Callable[[], Any]) -> Callable[[], Any]:
    """Enter a function under its name."""
    STEPS[function.__name__] = function
    return function


def sorted_products(w: Any) -> Any:
    """A function that XLA compiles, with temporary memory for what it sorts, and a result larger than its input."""
    return tf.function(lambda x: tf.matmul(tf.sort(tf.matmul(x, w)), x, transpose_b=True), jit_compile=True)


@step
def one_call() -> Any:
    inner = sorted_products(tf.Variable(uniform((64, 64))))
    return tf.function(lambda x: tf.reduce_sum((inner(tf.nn.relu(x) * 2.0) + 1.0) ** 2)), (uniform((128, 64)),)


@step
def a_gradient_and_an_update() -> Any:
    w = tf.Variable(uniform((64, 64)))
    inner = sorted_products(w)
    update = tf.function(lambda gradient: w.assign_sub(tf.sort(gradient)), jit_compile=True)

    @tf.function
    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(inner(x * 2.0) + 1.0)
        update(tape.gradient(loss, w))
        return loss

    return run, (uniform((128, 64)),)


@step
def in_a_loop() -> Any:
    inner = sorted_products(tf.Variable(uniform((64, 64))))

    @tf.function
    def run(x: Any) -> Any:
        return tf.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, h + inner(h)[:, :64]), (0, x))[1]

    return run, (uniform((128, 64)),)


@step
def grouped_convolution() -> Any:
    inputs = keras.Input((16, 16, 16))
    x = keras.layers.Conv2D(64, 7, groups=16, padding="same")(inputs)
    x = keras.layers.Dense(16)(keras.layers.LayerNormalization()(x))
    model = keras.Model(inputs, keras.layers.GlobalAveragePooling2D()(x))
    model.compile("adam", "mse")
    return model, (uniform((8, 16, 16, 16)), uniform((8, 16)))


@step
def shaped_by_data() -> Any:
    inner = tf.function(lambda n, x: tf.zeros(n) + tf.reduce_sum(x), jit_compile=True)
    return tf.function(lambda x: inner(tf.cast(x[:2] + 3, tf.int32), x)), (tf.ones(4),)
