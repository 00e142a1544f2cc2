"""Which variables a program makes, in which order, and how."""

import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402

from graphmem.graph.model import Made  # noqa: E402
from graphmem.target.functions import step_of_pair  # noqa: E402
from graphmem.target.making import Making, how_made  # noqa: E402
from graphmem.target.step import Options, Step  # noqa: E402
from graphmem.target.weightless import making, weightless  # noqa: E402
from graphmem.trace.tracer import trace  # noqa: E402

pytestmark = pytest.mark.tf


def test_what_is_made_is_told_in_its_order_whatever_order_is_asked_for():
    with weightless() as record:
        first, second = tf.Variable(tf.ones((4, 5))), tf.Variable(lambda: tf.ones(3))
        assert record.making is making()
    assert record.making.of([second, None, first]) == [Made(2, 80, "given"), Made(0, 12, "filled")]


def test_what_is_large_and_kept_but_not_asked_for_is_left_out_and_what_is_dropped_is_not():
    with weightless() as record:
        dropped = tf.Variable(tf.ones(100))
        kept = tf.Variable(tf.ones(10))
        other, seed = tf.Variable(tf.ones(65)), tf.Variable(tf.ones(64))
        del dropped
        last = tf.Variable(tf.ones(30))
    assert (other.shape, seed.shape) == ((65,), (64,))
    found = record.making.of([last, kept])
    assert found == [
        Made(-1, 400, "given", until=3),
        Made(1, 40, "given"),
        Made(-1, 256, "given"),
        Made(0, 120, "given"),
    ]


@pytest.mark.parametrize(
    ("initializer", "how"),
    [
        ("zeros", "filled"),
        ("ones", "filled"),
        (keras.initializers.Constant(0.1), "scaled"),
        ("glorot_uniform", "drawn"),
        ("he_normal", "drawn"),
        ("random_normal", "drawn"),
        ("orthogonal", "orthogonal"),
        (lambda shape, dtype=None: tf.zeros(shape, dtype), "filled"),
    ],
)
def test_initialisers_are_told_apart(initializer, how):
    with weightless() as record:
        layer = keras.layers.Dense(8, kernel_initializer=initializer, use_bias=False)
        layer.build((None, 4))
    assert [one.how for one in record.making.of([layer.kernel.value])] == [how]


def test_initialisers_of_legacy_keras_are_told_apart():
    legacy = pytest.importorskip("tf_keras")
    with weightless() as record:
        layer = legacy.layers.SimpleRNN(8)
        layer.build((None, 3, 4))
    assert [one.how for one in record.making.of(layer.weights)] == ["drawn", "orthogonal", "filled"]


def test_a_tensor_is_given():
    assert [how_made(tf.ones(3)), how_made(lambda: 1)] == ["given", "filled"]


def test_outside_of_a_block_nothing_is_known():
    variable = tf.Variable(tf.ones(3))
    assert isinstance(making(), Making)
    assert making().of([variable]) == []


def test_a_trace_has_the_variables_of_the_step_and_those_that_quantising_dropped():
    with weightless():
        model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(32), keras.layers.Dense(16)])
        model.quantize("int8")
        graph = trace(Step(tf.function(lambda x: model(x)), (tf.TensorSpec((4, 64)),), {}))
    made = [one if one.variable < 0 else graph.variables[one.variable].nbytes for one in graph.made]
    first, second = 64 * 32, 32 * 16
    assert made == [
        Made(-1, 4 * first, "drawn", until=5),  # dropped when its int8 values are there
        4 * 32,
        Made(-1, 4 * second, "drawn", until=8),
        4 * 16,
        first,
        Made(-1, first, "filled", until=7),
        4 * 32,
        second,
        Made(-1, second, "filled", until=10),
        4 * 16,
    ]


def test_a_tensor_that_is_assigned_takes_the_place_of_what_the_variable_held():
    with weightless() as record:
        value, old = tf.ones(100), tf.Variable(tf.ones(200))
        del old
        variable, counter = tf.Variable(lambda: tf.zeros(100)), tf.Variable(0)
        for _ in range(3):
            counter.assign(1)
        variable.assign(value)
        loaded = tf.Variable(lambda: tf.zeros(100))
        loaded.assign([1.0] * 100)
    found = record.making.of([variable, loaded, counter])
    assert found == [
        Made(0, 400, "given"),
        Made(-1, 800, "given", until=2),
        Made(-1, 400, "filled", until=4),
        Made(2, 4, "given"),
        Made(-1, 400, "filled", until=6),
        Made(1, 400, "given"),
    ]
    assign = tf.Variable.assign
    with weightless():
        pass
    assert tf.Variable.assign is assign


def test_a_step_and_its_example_tensors_tell_when_the_batch_was_made():
    with weightless():
        first = tf.Variable(tf.ones(100), name="first")
        x = tf.ones((8, 4))
        second = tf.Variable(tf.ones(100), name="second")
        step = step_of_pair(tf.function(lambda x, k: k * x * first[0] + second[0]), (x, 3), Options(), "step")
        graph = trace(step)
    order = [graph.variables[one.variable].name if one.variable >= 0 else one.how for one in graph.made]
    assert order == ["first", "batch", "second"]


def test_what_another_target_made_in_this_process_is_not_counted():
    with weightless() as record:
        seed, dropped = tf.Variable(1), tf.Variable(tf.ones(100))
        record.making.begin()
        weight, own = tf.Variable(tf.ones(100)), tf.Variable(2)
        del dropped
    assert (seed.shape, own.shape) == ((), ())
    assert record.making.of([weight]) == [Made(0, 400, "given"), Made(-1, 4, "given")]
    assert record.making.of([seed])[0] == Made(0, 4, "given")
