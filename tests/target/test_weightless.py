"""Variables of any size cost no memory, and nothing that was patched stays so."""

import gc
import os
import resource
import subprocess
import sys

import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402
import numpy as np  # noqa: E402
from tensorflow.python.ops import array_ops  # noqa: E402

from graphmem.target import weightless as module  # noqa: E402
from graphmem.target.weightless import TINY_BYTES, weightless, zero_tensor  # noqa: E402

pytestmark = pytest.mark.tf

PAGE = resource.getpagesize()


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE


def mapped():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * PAGE


@pytest.fixture(scope="module", autouse=True)
def _warm():
    with weightless():
        tf.Variable(tf.zeros((4096, 4096)))


def test_a_hundred_gigabytes_cost_nothing():
    before = resident()
    with weightless() as record:
        variables = [tf.Variable(tf.zeros((25_000, 100_000))) for _ in range(10)]
    assert record.nbytes == 100_000_000_000
    assert record.variables == 10
    assert record.notes == []
    assert resident() - before < 50_000_000
    assert variables[3].shape == (25_000, 100_000)
    assert float(variables[3][24_999, 99_999]) == 0.0, "reads see zeros"


def test_pages_go_with_the_last_holder():
    gc.collect()
    before = mapped()
    tensor = zero_tensor((1 << 20, 1 << 10), tf.float32)
    variable = tf.Variable(tensor)
    del tensor
    assert mapped() - before >= 1 << 32
    assert float(variable[5, 5]) == 0.0
    del variable
    gc.collect()
    assert mapped() - before < 1 << 30


def test_many_models_leave_no_mappings():
    def build():
        with weightless():
            model = keras.Sequential([keras.Input((100,)), keras.layers.Dense(40_000), keras.layers.Dense(40_000)])
            model.compile("adam", "mse")
            model.optimizer.build(model.trainable_variables)

    build()
    gc.collect()
    before = mapped()
    for _ in range(20):
        build()
    gc.collect()
    assert mapped() - before < 1 << 30, "20 models of 19 GB each are unmapped"


def test_initialisers_of_large_variables_do_not_run():
    class Loud(keras.initializers.Initializer):
        calls = 0

        def __call__(self, shape, dtype=None):
            Loud.calls += 1
            return keras.ops.ones(shape, dtype)

    with weightless():
        layer = keras.layers.Dense(5000, kernel_initializer=Loud())
        layer.build((None, 5000))
        assert Loud.calls == 0
        small = keras.layers.Dense(2, kernel_initializer=Loud())
        small.build((None, 2))
    assert Loud.calls == 1
    np.testing.assert_array_equal(small.kernel.numpy(), np.ones((2, 2)), "tiny variables keep their value")
    assert layer.kernel.shape == (5000, 5000)


def test_both_kerases_and_modules():
    tf_keras = pytest.importorskip("tf_keras")
    before = resident()
    with weightless() as record:
        old = tf_keras.Sequential([tf_keras.Input((30_000,)), tf_keras.layers.Dense(30_000, use_bias=False)])
        old.compile("adam", "mse")
        old.optimizer.build(old.trainable_variables)
        new = keras.Sequential([keras.Input((30_000,)), keras.layers.Dense(30_000, use_bias=False)])
        new.compile("adam", "mse")
        new.optimizer.build(new.trainable_variables)

        class Module(tf.Module):
            def __init__(self):
                self.w = tf.Variable(lambda: tf.random.normal((30_000, 30_000)), name="w")

        plain = Module()
    assert record.nbytes == 7 * 30_000 * 30_000 * 4
    assert resident() - before < 100_000_000
    assert plain.w.shape == (30_000, 30_000)
    assert [v.trainable for v in old.variables] == [True]


def test_user_values_that_are_tiny_stay_and_large_ones_are_let_go():
    with weightless():
        counter = tf.Variable(7, dtype=tf.int64)
        table = tf.Variable(np.full((1024, 1024), 3.0, np.float32))
        edge = tf.Variable(tf.ones((TINY_BYTES // 4,)))
        names = tf.Variable(["a"] * 5000)
    assert int(counter) == 7
    assert float(table[0, 0]) == 0.0
    assert table.dtype == tf.float32
    assert float(edge[0]) == 1.0
    assert names.shape == (5000,)
    assert names[3] == b"a"


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int64", "float16", "bfloat16", "float64", "complex128", "qint8", "qint32"]
)
def test_zero_tensors_of_each_dtype(dtype):
    before = resident()
    tensor = zero_tensor((1 << 14, 1 << 15), dtype)
    assert tensor.dtype == tf.as_dtype(dtype)
    assert tensor.shape == (1 << 14, 1 << 15)
    assert resident() - before < 20_000_000


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "int4"])
def test_dtypes_without_dlpack(dtype):
    assert zero_tensor((8,), dtype).dtype == tf.as_dtype(dtype)
    assert zero_tensor((1 << 20,), dtype) is None
    with weightless() as record:
        layer = keras.layers.Layer()
        if dtype != "int4":
            weight = layer.add_weight(shape=(1 << 12, 1 << 12), dtype=dtype, initializer="zeros")
            assert weight.shape == (1 << 12, 1 << 12)
            assert len(record.notes) == 1
            assert f"A variable of {dtype} [4096, 4096]" in record.notes[0]


def test_odd_shapes():
    assert zero_tensor((), "float32").shape == ()
    assert zero_tensor((0, 5), "float32").shape == (0, 5)
    assert zero_tensor((0, 5), "float8_e5m2").shape == (0, 5)


def test_refused_pages_leave_the_variable_without_a_value(monkeypatch):
    monkeypatch.setattr(module, "_untouched_pages", lambda nbytes: None)
    with weightless() as record:
        variable = tf.Variable(tf.zeros((2048, 2048)), name="big")
        traced = tf.function(lambda x: x @ variable).get_concrete_function(tf.TensorSpec((2, 2048)))
    assert traced.outputs[0].shape == (2, 2048)
    assert record.notes == [
        "A variable of float32 [2048, 2048] (big) was left without a value, as no untouched pages could be had for it; "
        "code that reads it while the model is built fails."
    ]


def test_an_address_space_limit_is_survived():
    code = (
        "import resource, tensorflow as tf\n"
        "from graphmem.target.weightless import weightless\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 30),) * 2)\n"
        "with weightless() as record:\n"
        "    v = tf.Variable(lambda: tf.zeros((1 << 20, 1 << 14)))\n"
        "print(v.shape, len(record.notes))\n"
    )
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=120)
    assert done.stdout.strip() == "(1048576, 16384) 1", done.stderr[-2000:]


def test_clear_session_does_not_end_it():
    with weightless() as record:
        keras.backend.clear_session()
        tf.Variable(lambda: tf.zeros((4096, 4096)))
        keras.backend.clear_session()
        tf.Variable(lambda: tf.zeros((4096, 4096)))
    assert record.variables == 2


def test_blocks_join_and_everything_is_put_back():
    reset, fill = tf.compat.v1.reset_default_graph, array_ops.fill
    with weightless() as outer, weightless() as inner:
        assert inner is outer
    with pytest.raises(ZeroDivisionError), weightless():
        print(1 / 0)
    with weightless():
        keras.backend.clear_session()
    assert tf.compat.v1.reset_default_graph is reset
    assert array_ops.fill is fill
    variable = tf.Variable(tf.ones((2048, 2048)))
    assert float(variable[0, 0]) == 1.0


def test_variables_born_in_a_trace_are_born_once():
    traces = []

    class Lazy(tf.Module):
        def __init__(self):
            self.w = self.b = None

        @tf.function
        def step(self, x):
            traces.append(1)
            if self.w is None:
                self.w = tf.Variable(tf.random.normal((4096, 4096)))
                self.b = tf.Variable(tf.fill((4,), 2.0))
            return x @ self.w

    lazy = Lazy()
    with weightless() as record:
        lazy.step.get_concrete_function(tf.TensorSpec((2, 4096)))
    assert len(traces) == 1, "TensorFlow alone traces a second time for the variables"
    assert record.variables == 1
    assert lazy.b.numpy().tolist() == [2.0] * 4


def test_large_zeros_are_untouched_and_other_fills_are_real():
    before = resident()
    with weightless():
        zeros = tf.zeros((1 << 14, 1 << 15))
        ones = tf.ones((1024, 1024))
    assert resident() - before < 50_000_000
    assert float(zeros[5, 5]) == 0.0
    assert float(tf.reduce_sum(ones)) == 1024.0 * 1024
