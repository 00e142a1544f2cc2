"""Analysing models leaves the user's process as it was, and does not make it grow."""

from __future__ import annotations

import gc
import os
import random
import sys
import types
import warnings
from typing import Any

import numpy as np
import pytest

from benchmarks.many_models import KINDS, analyse, drift, target

pytestmark = pytest.mark.tf

WATCHED = ("tensorflow", "keras", "tf_keras", "builtins", "random", "numpy", "time", "signal", "sys", "os")
#: Analyses after which the caches of Python, TensorFlow and Keras hold what they will hold.
WARM = 2 * len(KINDS)


def callables() -> dict[tuple[str, str], Any]:
    """Functions and classes by module and name, and the functions of these classes."""
    found: dict[tuple[str, str], Any] = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in WATCHED or not isinstance(module, types.ModuleType):
            continue
        for key, value in list(vars(module).items()):
            if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
                found[name, key] = value
            if isinstance(value, type) and value.__module__ == name:
                for attribute, member in list(vars(value).items()):
                    if isinstance(member, (types.FunctionType, classmethod, staticmethod, property)):
                        found[name, f"{key}.{attribute}"] = member
    return found


def state() -> dict[str, Any]:
    """What an analysis could leave changed, by name."""
    import keras
    import tensorflow as tf
    from tensorflow.python.eager import context

    eager = context.context()
    return {
        "environment": dict(os.environ),
        "working directory": os.getcwd(),
        "sys.path": list(sys.path),
        "sys.argv": list(sys.argv),
        "modules of the user": sorted(name for name in sys.modules if "many_models" in name),
        "warning filters": list(warnings.filters),
        "policy": keras.config.dtype_policy().name,
        "floatx": keras.config.floatx(),
        "traceback filtering": keras.config.is_traceback_filtering_enabled(),
        "default graph": tf.compat.v1.get_default_graph().as_graph_def().ByteSize(),
        "eager": tf.executing_eagerly(),
        "Keras' names": dict(keras.src.backend.common.global_state.get_global_attribute("object_name_uids", {})),
        "functions run eagerly": tf.config.functions_run_eagerly(),
        "optimizer options": tf.config.optimizer.get_experimental_options(),
        "devices": tf.config.get_visible_devices(),
        "soft placement": tf.config.get_soft_device_placement(),
        "TensorFlow's seed": eager._seed,
        "Python's random state": random.getstate(),
        "NumPy's random state": np.random.get_state()[1].tolist(),
        "log level": tf.get_logger().level,
        "garbage collection": gc.isenabled(),
        "recursion limit": sys.getrecursionlimit(),
    }


@pytest.fixture(scope="module")
def growth() -> list[tuple[int, int]]:
    """(objects, functions) after each of 15 models, live and by name, when each kind was analysed twice before."""
    from tensorflow.python.eager import context

    for index in range(WARM):
        analyse(index, target(index))
    counts = []
    for index in range(WARM, WARM + 15):
        analyse(index, target(index))
        gc.collect()
        counts.append((len(gc.get_objects()), len(context.context().list_function_names())))
    return counts


def test_nothing_of_the_process_stays_changed(growth: Any):
    targets = [target(index) for index in range(WARM)]
    before, patched_before = state(), callables()
    for index, made in enumerate(targets):
        analyse(index, made)
    now = state()
    assert {name: now[name] for name in now if now[name] != before[name]} == {}
    after = callables()
    changed = [".".join(key) for key, value in patched_before.items() if after.get(key) is not value]
    assert changed == []


UNTIDY = """
import os, random, sys
import keras, numpy, tensorflow as tf

keras.mixed_precision.set_global_policy("mixed_float16")
keras.utils.set_random_seed(7)
keras.config.set_floatx("float64")
keras.backend.clear_session()
tf.config.run_functions_eagerly(True)
os.environ["GRAPHMEM_TEST"] = "1"
os.chdir("/")

def build():
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="three"), keras.layers.Dense(2)])
"""


def test_what_a_file_sets_ends_with_its_analysis(tmp_path: Any, growth: Any):
    import graphmem

    (tmp_path / "untidy.py").write_text(UNTIDY)
    before = state()
    reports = [graphmem.analyze(f"{tmp_path / 'untidy.py'}:build()", batch=8, loss="mse") for _ in range(2)]
    now = state()
    assert {name: now[name] for name in now if now[name] != before[name]} == {}
    scopes = [{row.scope for row in report.frontier} for report in reports]
    assert scopes[0] == scopes[1], "names do not depend on what was analysed before"


def test_functions_of_the_library_do_not_accumulate(growth: list[tuple[int, int]]):
    assert [functions for _, functions in growth] == [growth[0][1]] * len(growth)


def test_objects_do_not_accumulate(growth: list[tuple[int, int]]):
    """A step is thousands of objects; what stays are the code and the cache entries of each new file and shape."""
    assert drift([float(objects) for objects, _ in growth]) < 50


def test_kernels_are_dropped_from_time_to_time(monkeypatch: pytest.MonkeyPatch):
    from tensorflow.python.eager import context

    from graphmem.target.leftovers import FEWEST_VARIABLES, MANY_VARIABLES, Kernels

    cleared: list[int] = []
    monkeypatch.setattr(type(context.context()), "clear_kernel_cache", lambda self: cleared.append(1))
    kernels = Kernels()
    kernels.count(MANY_VARIABLES - 2 * FEWEST_VARIABLES)
    kernels.count(0)  # counts as a few
    assert cleared == []
    kernels.count(FEWEST_VARIABLES)
    assert cleared == [1]
    kernels.count(MANY_VARIABLES - 1)
    assert cleared == [1]


def test_a_gradient_function_lives_as_long_as_its_graph():
    """Within the block the registry holds no graph; the gradient still works for whoever holds it."""
    import tensorflow as tf
    from tensorflow.python.framework import ops

    from graphmem.target.leftovers import collectable_gradients

    @tf.custom_gradient
    def tripled_backwards(x: Any) -> Any:
        return x * 2.0, lambda upstream: upstream * 3.0

    entries = ops.gradient_registry._registry
    gc.collect()
    before = set(entries)
    with collectable_gradients():
        traced = tf.function(lambda x: tripled_backwards(x) + 1.0)
        traced.get_concrete_function(tf.TensorSpec((2,)))
    assert len(set(entries) - before) == 1
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = traced(x)
    assert tape.gradient(y, x).numpy().tolist() == [3.0, 3.0]
    del traced, tape, y
    gc.collect()
    assert set(entries) == before
