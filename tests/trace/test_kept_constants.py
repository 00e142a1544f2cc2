"""How many small constants shape inference keeps: by hand, and as TensorFlow's allocator has them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

tf = pytest.importorskip("tensorflow")

from graphmem.trace.kept_constants import kept_constants  # noqa: E402

pytestmark = pytest.mark.tf


def kept(function, *specs) -> int:
    return kept_constants(tf.function(function).get_concrete_function(*specs).graph.as_graph_def())


VECTOR = tf.TensorSpec((12,), tf.float32)


def test_what_shape_functions_ask_for_is_kept_and_operands_are_not():
    assert kept(lambda x: tf.reshape(x, (3, 4)) + 2.0, VECTOR) == 1
    assert kept(lambda x: x * tf.constant(2.0), VECTOR) == 0
    assert kept(lambda x: tf.concat([x, x], 0), VECTOR) == 1


def test_a_constant_asked_for_twice_is_kept_once():
    def twice(x):
        shape = tf.constant((3, 4))
        return tf.reshape(x, shape), tf.reshape(x + 1, shape)

    assert kept(twice, VECTOR) == 1


@pytest.mark.parametrize(("numbers", "found"), [(8, 1), (9, 0)])
def test_more_than_64_bytes_are_not_kept(numbers, found):
    shape = tf.constant([12] + [1] * (numbers - 1), tf.int64)
    assert kept(lambda x: tf.reshape(x, tf.identity(shape.numpy())), VECTOR) == 0
    assert kept(lambda x: tf.reshape(x, shape.numpy()), VECTOR) == found


def test_parts_of_a_shape_that_is_put_together_are_kept():
    assert kept(lambda x, n: tf.reshape(x, tf.stack([n, 3, 4])), VECTOR, tf.TensorSpec((), tf.int32)) == 2


def test_functions_that_are_called_count():
    inner = tf.function(lambda x: tf.reshape(x, (3, 4)))
    assert kept(lambda x: tf.transpose(inner(x)) + tf.transpose(inner(x)), VECTOR) == 3


MEASURED = """
import json, sys
sys.path.insert(0, sys.argv[1])
from benchmarks.record import Replay, memory_events, prepare, profiled
prepare("default")
import keras, tensorflow as tf
from graphmem.trace.kept_constants import MOST_BYTES, kept_constants
model = keras.Sequential([keras.Input((16, 16, 3)), keras.layers.Conv2D(8, 3), keras.layers.BatchNormalization(),
                          keras.layers.Flatten(), keras.layers.Dense(4)])
model.compile("adam", "mse", jit_compile=False)
model.optimizer.build(model.trainable_variables)
x, y = tf.ones((4, 16, 16, 3)), tf.ones((4, 4))
step, traced, replay = tf.function(lambda x, y: model.train_step((x, y))), [], Replay()
replay.run(memory_events(profiled(lambda: traced.append(step.get_concrete_function(x, y)))))
left = [event for event in replay.alive.values() if event["requested_bytes"] <= MOST_BYTES]
print(json.dumps([kept_constants(traced[0].graph.as_graph_def()), len(left)]))
"""


def test_a_training_step_keeps_what_the_allocator_still_has_after_tracing(pytestconfig):
    done = subprocess.run([sys.executable, "-c", MEASURED, pytestconfig.rootpath], capture_output=True, text=True)
    ours, theirs = json.loads(done.stdout.splitlines()[-1])
    assert theirs > 20
    assert ours == pytest.approx(theirs, rel=0.1)
