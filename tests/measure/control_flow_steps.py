"""Small steps with control flow of every kind: name -> a function that returns a model or a `tf.function`, and data.

They are run for real by `tests.measure.recorded` and predicted beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1
uniform = tf.random.uniform
STEPS: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {}


def step(function: Callable[[], Any]) -> Callable[[], Any]:
    """Enter a function under its name."""
    STEPS[function.__name__] = function
    return function


def trained(body: Callable[[Any, Any], Any], *shape: int) -> tuple[Any, tuple[Any, ...]]:
    """A step that trains one 64×64 weight: `body(x, w)` gives what is squared and averaged."""
    w = tf.Variable(uniform((64, 64)) * 0.1)

    @tf.function
    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(body(x, w) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    return run, (uniform(shape or (128, 64)),)


def repeated(x: Any, w: Any, times: Any, **options: Any) -> Any:
    """`x = tanh(x @ w)`, so many times."""
    return tf.while_loop(lambda i, h: i < times, lambda i, h: (i + 1, tf.tanh(h @ w)), (0, x), **options)[1]


@step
def loop() -> Any:
    return trained(lambda x, w: repeated(x, w, 8))


@step
def one_iteration_at_a_time() -> Any:
    return trained(lambda x, w: repeated(x, w, 6, parallel_iterations=1))


@step
def no_gradient() -> Any:
    w = tf.Variable(uniform((64, 64)))

    @tf.function
    def run(x: Any) -> Any:
        return repeated(x, w, 8)

    return run, (uniform((128, 64)),)


@step
def nested() -> Any:
    def body(x: Any, w: Any) -> Any:
        def outer(i: Any, h: Any) -> Any:
            return i + 1, tf.nn.relu(repeated(h, w, 4))

        return tf.while_loop(lambda i, h: i < 3, outer, (0, x))[1]

    return trained(body)


@step
def nested_of_growing_length() -> Any:
    def body(x: Any, w: Any) -> Any:
        return tf.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, tf.nn.relu(repeated(h, w, i))), (0, x))[1]

    return trained(body)


@step
def counter_and_condition() -> Any:
    def body(x: Any, w: Any) -> Any:
        def goes_on(i: Any, h: Any) -> Any:
            return tf.logical_and(i < 5, tf.reduce_sum(h) < 1e30)

        return tf.while_loop(goes_on, lambda i, h: (i + 1, tf.tanh(h @ w)), (0, x))[1]

    return trained(body)


@step
def maximum_iterations() -> Any:
    def body(x: Any, w: Any) -> Any:
        return tf.while_loop(
            lambda h: tf.reduce_sum(h) < 1e30, lambda h: (tf.tanh(h @ w),), (x,), maximum_iterations=5
        )[0]

    return trained(body)


@step
def length_from_data() -> Any:
    w = tf.Variable(uniform((64, 64)) * 0.1)

    @tf.function
    def run(x: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(repeated(x, w, n) ** 2)
        w.assign_sub(tape.gradient(loss, w))
        return loss

    return run, (uniform((128, 64)), tf.constant(5))


@step
def branch_in_loop() -> Any:
    def body(x: Any, w: Any) -> Any:
        def either(i: Any, h: Any) -> Any:
            return i + 1, tf.cond(i % 2 == 0, lambda: tf.tanh(h @ w), lambda: h * 2.0)

        return tf.while_loop(lambda i, h: i < 6, either, (0, x))[1]

    return trained(body)


@step
def gradients_in_loop() -> Any:
    w = tf.Variable(uniform((64, 64)) * 0.1)

    @tf.function
    def run(x: Any) -> None:
        total = tf.zeros((64, 64))
        for i in tf.range(4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.tanh(x[i] @ w) ** 2)
            total += tape.gradient(loss, w)
        w.assign_sub(total)

    return run, (uniform((4, 64, 64)),)


def written(x: Any, w: Any, times: int, size: int | None = None, **options: Any) -> Any:
    """A TensorArray that a loop fills with `relu(x @ w)`."""
    array = tf.TensorArray(tf.float32, times if size is None else size, **options)
    return tf.while_loop(lambda i, a: i < times, lambda i, a: (i + 1, a.write(i, tf.nn.relu(x @ w))), (0, array))[1]


@step
def stacked() -> Any:
    w = tf.Variable(uniform((64, 64)))

    @tf.function
    def run(x: Any) -> Any:
        return written(x, w, 32).stack()

    return run, (uniform((64, 64)),)


@step
def stacked_with_gradient() -> Any:
    return trained(lambda x, w: written(x, w, 6).stack(), 64, 64)


@step
def unstacked() -> Any:
    def body(x: Any, w: Any) -> Any:
        array = tf.TensorArray(tf.float32, 8).unstack(x)
        return tf.while_loop(
            lambda i, h: i < 8, lambda i, h: (i + 1, tf.tanh(array.read(i) @ w + h)), (0, tf.zeros((32, 64)))
        )[1]

    return trained(body, 8, 32, 64)


def grown(x: Any, w: Any, times: int, **options: Any) -> Any:
    """A TensorArray that grows as a loop fills it with `relu(x @ w)`."""
    return written(x, w, times, size=0, dynamic_size=True, **options)


@step
def sliced_by_a_number_carried_along() -> Any:
    w = uniform((64, 64))

    @tf.function
    def run(x: Any) -> Any:
        def body(i: Any, size: Any, h: Any) -> Any:
            rows = tf.slice(x, tf.stack([i * size, 0]), tf.stack([size, 64]))
            return i + 1, size, h + tf.tanh(rows @ w)

        return tf.while_loop(lambda i, size, h: i < 4, body, (0, tf.constant(32), tf.zeros((32, 64))))[2]

    return run, (uniform((128, 64)),)


@step
def grown_and_stacked() -> Any:
    return trained(lambda x, w: grown(x, w, 6).stack(), 64, 64)


@step
def grown_and_joined() -> Any:
    return trained(lambda x, w: grown(x, w, 6, element_shape=(64, 64)).concat(), 64, 64)


@step
def grown_and_gathered() -> Any:
    return trained(lambda x, w: grown(x, w, 6, clear_after_read=False).gather([0, 3]), 64, 64)


@step
def grown_by_its_size() -> Any:
    def body(x: Any, w: Any) -> Any:
        def longer(i: Any, h: Any, array: Any) -> Any:
            h = tf.tanh(h @ w)
            return i + 1, h, array.write(array.size(), h)

        array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        return tf.while_loop(lambda i, h, array: i < 5, longer, (0, x, array))[2].stack()

    return trained(body, 64, 64)


@step
def grown_by_rows_of_other_lengths() -> Any:
    def body(x: Any, w: Any) -> Any:
        array = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False)
        return tf.while_loop(
            lambda i, array: i < 4,
            lambda i, array: (i + 1, array.write(i, tf.nn.relu(x[: 8 * (i + 1)] @ w))),
            (0, array),
        )[1].concat()

    return trained(body, 64, 64)


@step
def split_and_read() -> Any:
    def body(x: Any, w: Any) -> Any:
        array = tf.TensorArray(tf.float32, 4).split(x, [16, 16, 16, 16])
        return tf.while_loop(
            lambda i, h: i < 4, lambda i, h: (i + 1, tf.tanh(h + array.read(i) @ w)), (0, tf.zeros((16, 64)))
        )[1]

    return trained(body, 64, 64)


@step
def scattered_and_gathered() -> Any:
    def body(x: Any, w: Any) -> Any:
        array = tf.TensorArray(tf.float32, 8, clear_after_read=False).scatter(tf.range(8), x)
        return array.gather([0, 2, 4]) @ w

    return trained(body, 8, 32, 64)


@step
def unknown_condition() -> Any:
    return trained(lambda x, w: tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.relu(x @ w) @ w, lambda: x * 2.0))


@step
def known_condition() -> Any:
    return trained(lambda x, w: tf.cond(tf.shape(x)[0] > 10, lambda: tf.nn.relu(x @ w) @ w, lambda: x * 2.0))


@step
def one_of_three() -> Any:
    def body(x: Any, w: Any) -> Any:
        number = tf.cast(tf.reduce_min(x), tf.int32) + 1
        return tf.switch_case(number, [lambda: x * 2.0, lambda: tf.nn.relu(x @ w) @ w, lambda: tf.tanh(x)])

    return trained(body)


@step
def custom_gradient() -> Any:
    @tf.custom_gradient
    def kept(x: Any) -> Any:
        y = tf.nn.relu(x)
        return y, lambda dy: dy * tf.cast(y > 0, tf.float32) * 2.0

    return trained(lambda x, w: kept(kept(x @ w) @ w))


@step
def inlined_functions() -> Any:
    def body(x: Any, w: Any) -> Any:
        layer = tf.function(lambda x: tf.nn.relu(x @ w))
        return layer(layer(layer(x)))

    return trained(body)


@step
def called_functions() -> Any:
    def body(x: Any, w: Any) -> Any:
        layer = tf.function(lambda x: tf.nn.relu(x @ w), experimental_attributes={"_noinline": True})
        return layer(layer(layer(x)))

    return trained(body)


@step
def recomputed() -> Any:
    def body(x: Any, w: Any) -> Any:
        block = tf.recompute_grad(lambda x: tf.tanh(tf.tanh(tf.tanh(x @ w) @ w) @ w))
        return block(block(block(x)))

    return trained(body)


@step
def mapped() -> Any:
    return trained(lambda x, w: tf.map_fn(lambda row: tf.nn.relu(row @ w), x), 12, 32, 64)


@step
def folded_left() -> Any:
    return trained(lambda x, w: tf.foldl(lambda total, row: tf.tanh(total + row @ w), x), 12, 32, 64)


@step
def folded_right() -> Any:
    return trained(lambda x, w: tf.foldr(lambda total, row: tf.tanh(total + row @ w), x), 12, 32, 64)


@step
def scanned() -> Any:
    return trained(lambda x, w: tf.scan(lambda total, row: tf.tanh(total @ w + row), x), 12, 32, 64)


@step
def vectorised() -> Any:
    return trained(lambda x, w: tf.vectorized_map(lambda row: tf.nn.relu(row @ w), x), 12, 32, 64)


def functional(body: Callable[[Any], Any]) -> tuple[Any, tuple[Any, ...]]:
    """A step around an op that TensorFlow does not lower."""

    @tf.function
    def run(x: Any) -> Any:
        return body(x)

    return run, (uniform((128, 64)),)


def signed(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Any:
    """A function of float32 tensors of these shapes; `()` is an integer."""
    specs = [tf.TensorSpec(shape, tf.float32 if shape else tf.int32) for shape in shapes]
    return tf.function(function).get_concrete_function(*specs)


@step
def functional_while() -> Any:
    shapes: tuple[Any, ...] = ((), (128, 64), (64, 64))
    condition = signed(lambda i, h, w: i < 6, *shapes)
    body = signed(lambda i, h, w: (i + 1, tf.tanh(h @ w), w), *shapes)

    def loop(x: Any) -> Any:
        return tf.raw_ops.While(input=[tf.constant(0), x, tf.ones((64, 64))], cond=condition, body=body)[1]

    return functional(loop)


@step
def functional_if() -> Any:
    then = signed(lambda h: tf.nn.relu(h @ tf.transpose(h)) @ h, (128, 64))
    otherwise = signed(lambda h: h * 2.0, (128, 64))
    return functional(
        lambda x: tf.raw_ops.If(
            cond=tf.reduce_sum(x) > 0, input=[x], Tout=[tf.float32], then_branch=then, else_branch=otherwise
        )[0]
    )


def chain(h: Any) -> Any:
    """Tensors each of which is made of the one before alone."""
    return tf.transpose(tf.tanh(tf.transpose(tf.tanh(tf.transpose(h)))))


@step
def functional_case() -> Any:
    branches = [signed(body, (128, 64)) for body in (lambda h: h * 2.0, chain, lambda h: -h)]
    return functional(
        lambda x: tf.raw_ops.Case(
            branch_index=tf.cast(tf.reduce_min(x), tf.int32) + 1, input=[tf.nn.relu(x)], Tout=[tf.float32],
            branches=branches,
        )[0]
    )  # fmt: skip


@step
def functional_if_with_effect() -> Any:
    w = tf.Variable(tf.zeros((64, 128)))

    def effect(h: Any) -> None:
        w.assign_add(chain(h))

    then = signed(effect, (128, 64))
    handle = tf.TensorSpec((), tf.resource)
    otherwise = tf.function(lambda h, w: None).get_concrete_function(tf.TensorSpec((128, 64)), handle)

    def body(x: Any) -> Any:
        y = tf.nn.relu(x)
        done = tf.raw_ops.If(
            cond=tf.reduce_sum(x) > 0, input=[y, w.handle], Tout=[], then_branch=then, else_branch=otherwise
        )
        with tf.control_dependencies([done]):
            return tf.reduce_sum(w.read_value())

    return functional(body)


@step
def functional_while_of_a_value() -> Any:
    condition = signed(lambda i, h: i < 3, (), (128, 64))
    body = signed(lambda i, h: (i + 1, tf.transpose(tf.tanh(tf.transpose(h)))), (), (128, 64))
    return functional(lambda x: tf.raw_ops.While(input=[tf.constant(0), tf.nn.relu(x)], cond=condition, body=body)[1])


@step
def ctc_loss() -> Any:
    w = tf.Variable(uniform((16, 20)))

    @tf.function
    def run(x: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            losses = tf.nn.ctc_loss(
                labels, x @ w, tf.fill((8,), 5), tf.fill((8,), 12), logits_time_major=False, blank_index=0
            )
            loss = tf.reduce_mean(losses)
        w.assign_sub(tape.gradient(loss, w))
        return loss

    return run, (uniform((8, 12, 16)), tf.ones((8, 5), tf.int32))


@step
def legacy_lstm() -> Any:
    import tf_keras

    layers = [tf_keras.layers.Input((10, 16)), tf_keras.layers.LSTM(32), tf_keras.layers.Dense(1)]
    model = tf_keras.Sequential(layers)
    model.compile("sgd", "mse")
    return model, (uniform((8, 10, 16)), tf.zeros((8, 1)))


def batches(*, ahead: bool) -> Any:
    """An endless pipeline of 64×64 batches; TensorFlow makes some `ahead` unless it is told not to."""
    options = tf.data.Options()
    options.autotune.enabled = ahead
    whole = tf.data.Dataset.from_tensor_slices(tf.ones((640, 64)))
    return iter(whole.batch(64, drop_remainder=True).repeat().with_options(options))


def trained_on_next() -> Any:
    """A step that trains on four batches of an iterator."""
    w = tf.Variable(uniform((64, 64)) * 0.1)

    @tf.function
    def run(iterator: Any) -> None:
        for _ in tf.range(4):
            x = next(iterator)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((x @ w) ** 2)
            w.assign_sub(tape.gradient(loss, w))

    return run


@step
def iterator_in_loop() -> Any:
    return trained_on_next(), (batches(ahead=False),)


@step
def iterator_that_prefetches() -> Any:
    return trained_on_next(), (batches(ahead=True),)


@step
def iterator_without_effects() -> Any:
    w = uniform((64, 64)) * 0.1

    @tf.function
    def run(iterator: Any) -> Any:
        total = tf.zeros((64, 64))
        for _ in tf.range(12):
            h = next(iterator)
            for _ in range(8):
                h = tf.tanh(h @ w)
            total += h
        return total

    return run, (batches(ahead=False),)


def elements() -> Any:
    """A dataset of six 64×64 tensors that are made when they are asked for."""
    options = tf.data.Options()
    options.autotune.enabled = False
    return tf.data.Dataset.range(6).map(lambda i: tf.fill((64, 64), tf.cast(i, tf.float32))).with_options(options)


def trained_by_hand(x: Any, w: Any) -> Any:
    with tf.GradientTape() as tape:
        y = tf.tanh(tf.tanh(x @ w) @ w)
    w.assign_sub(tape.gradient(y, w, output_gradients=y))
    return tf.reduce_sum(y)


@step
def dataset_loop() -> Any:
    w, dataset = tf.Variable(uniform((64, 64)) * 0.01), elements()

    @tf.function
    def run() -> Any:
        total = 0.0
        for x in dataset:
            total += trained_by_hand(x, w)
        return total

    return run, ()


@step
def dataset_loop_with_break() -> Any:
    w = tf.Variable(uniform((64, 64)) * 0.01)

    @tf.function
    def run(dataset: Any) -> Any:
        total = 0.0
        for x in dataset:
            total += trained_by_hand(x, w)
            if total > 1e30:
                break
        return total

    return run, (elements(),)


@step
def dataset_loop_with_state() -> Any:
    w, dataset = tf.Variable(uniform((64, 64)) * 0.01), elements()

    @tf.function
    def run(h: Any) -> Any:
        for x in dataset:
            h = tf.tanh(h @ w + x)
        return h

    return run, (uniform((64, 64)),)


@step
def dataset_reduced() -> Any:
    w, dataset = tf.Variable(uniform((64, 64)) * 0.01), elements()

    @tf.function
    def run() -> Any:
        return dataset.reduce(tf.zeros((64, 64)), lambda h, x: tf.tanh(h @ w + x))

    return run, ()


@step
def loop_in_dataset_loop() -> Any:
    w, dataset = tf.Variable(uniform((64, 64)) * 0.01), elements()

    @tf.function
    def run() -> Any:
        total = 0.0
        for x in dataset:
            for _ in tf.range(3):
                x = tf.tanh(x @ w)
            total += tf.reduce_sum(x)
        return total

    return run, ()


def old(body: Callable[[Any], Any], *shape: int) -> tuple[Any, tuple[Any, ...]]:
    """What TensorFlow 1 built: a frozen graph with `Enter`, `Switch`, stacks; and the gradient of its input."""
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, shape, name="x")
            loss = tf.reduce_mean(body(x) ** 2)
            tf.identity(v1.gradients(loss, x)[0], name="gradient")
    finally:
        v1.enable_control_flow_v2()
    frozen = graph.as_graph_def()
    wrapped = v1.wrap_function(lambda: tf.import_graph_def(frozen, name=""), [])
    pruned = wrapped.prune("x:0", "gradient:0")

    @tf.function
    def run(x: Any) -> Any:
        return pruned(x)

    return run, (uniform(shape),)


@step
def old_condition() -> Any:
    w = tf.ones((64, 64)).numpy()
    return old(lambda x: v1.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.relu(x @ w) @ w, lambda: x * 2.0), 128, 64)


@step
def old_loop() -> Any:
    w = (tf.ones((64, 64)) * 0.1).numpy()
    return old(lambda x: v1.while_loop(lambda i, h: i < 6, lambda i, h: (i + 1, tf.tanh(h @ w)), (0, x))[1], 128, 64)


@step
def old_array() -> Any:
    w = (tf.ones((64, 64)) * 0.1).numpy()

    def body(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, 6)
        return v1.while_loop(lambda i, a: i < 6, lambda i, a: (i + 1, a.write(i, tf.nn.relu(x @ w))), (0, array))[
            1
        ].stack()

    return old(body, 64, 64)


@step
def old_rnn() -> Any:
    w = (tf.ones((64, 64)) * 0.1).numpy()

    def body(x: Any) -> Any:
        rows, states = tf.TensorArray(tf.float32, 8).unstack(x), tf.TensorArray(tf.float32, 8)

        def cell(i: Any, h: Any, states: Any) -> Any:
            h = tf.tanh(rows.read(i) + h @ w)
            return i + 1, h, states.write(i, h)

        return v1.while_loop(lambda i, h, states: i < 8, cell, (0, tf.zeros((32, 64)), states))[2].stack()

    return old(body, 8, 32, 64)


def recurrent(layer: Callable[[Any], Any], *, masked: bool = False, batch: int | None = None) -> Callable[[], Any]:
    """A Keras model around a recurrent layer, which `layer(keras.layers)` makes."""

    def make() -> Any:
        import keras

        layers = [layer(keras.layers), keras.layers.Dense(1)]
        if masked:
            inputs = [keras.Input((10,), dtype="int32"), keras.layers.Embedding(50, 16, mask_zero=True)]
            x = tf.ones((8, 10), tf.int32)
        else:
            inputs, x = [keras.Input((10, 16), batch_size=batch)], uniform((8, 10, 16))
        model = keras.Sequential(inputs + layers)
        model.compile("sgd", "mse", jit_compile=False)
        return model, (x, tf.zeros(model.compute_output_shape(x.shape)))

    return make


STEPS |= {
    "simple_rnn": recurrent(lambda layers: layers.SimpleRNN(32)),
    "lstm": recurrent(lambda layers: layers.LSTM(32)),
    "gru": recurrent(lambda layers: layers.GRU(32)),
    "lstm_of_sequences": recurrent(lambda layers: layers.LSTM(32, return_sequences=True)),
    "lstm_backwards": recurrent(lambda layers: layers.LSTM(32, go_backwards=True)),
    "lstm_with_dropout": recurrent(lambda layers: layers.LSTM(32, dropout=0.2, recurrent_dropout=0.2)),
    "lstm_masked": recurrent(lambda layers: layers.LSTM(32), masked=True),
    "lstm_unrolled": recurrent(lambda layers: layers.LSTM(32, unroll=True)),
    "gru_stateful": recurrent(lambda layers: layers.GRU(32, stateful=True), batch=8),
    "gru_masked": recurrent(lambda layers: layers.GRU(32), masked=True),
    "bidirectional": recurrent(lambda layers: layers.Bidirectional(layers.LSTM(32))),
    "cells": recurrent(lambda layers: layers.RNN([layers.LSTMCell(32), layers.GRUCell(16)])),
}


@step
def conv_lstm() -> Any:
    import keras

    layers = [keras.layers.ConvLSTM2D(8, 3, padding="same"), keras.layers.Flatten(), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((4, 12, 12, 4)), *layers])
    model.compile("sgd", "mse", jit_compile=False)
    return model, (uniform((4, 4, 12, 12, 4)), tf.zeros((4, 1)))


@step
def time_distributed() -> Any:
    import keras

    layers = [keras.layers.TimeDistributed(keras.layers.Conv2D(8, 3)), keras.layers.Flatten(), keras.layers.Dense(3)]
    model = keras.Sequential([keras.Input((6, 16, 16, 4)), *layers])
    model.compile("sgd", "mse", jit_compile=False)
    return model, (uniform((4, 6, 16, 16, 4)), tf.zeros((4, 3)))


def several_steps(keras: Any, **options: Any) -> Any:
    """A model that is trained four steps per call."""
    layers = [keras.layers.Dense(256, activation="relu"), keras.layers.Dense(256), keras.layers.Dense(64)]
    model = keras.Sequential([keras.Input((64,)), *layers])
    model.compile("adam", "mse", steps_per_execution=4, **options)
    return model, (uniform((8, 64)), tf.zeros((8, 64)))


@step
def steps_per_execution() -> Any:
    import keras

    return several_steps(keras, jit_compile=False)


@step
def legacy_steps_per_execution() -> Any:
    import tf_keras

    return several_steps(tf_keras)


@step
def growing_value() -> Any:
    w = uniform((64, 64))

    @tf.function
    def run(x: Any) -> Any:
        return tf.while_loop(
            lambda i, h: i < 4,
            lambda i, h: (i + 1, tf.concat([h, tf.nn.relu(x @ w)], 0)),
            (0, x),
            shape_invariants=(tf.TensorShape(()), tf.TensorShape((None, 64))),
        )[1]

    return run, (uniform((64, 64)),)
