"""Whether XLA compiles a step, as the target says or Keras decides."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.target.jit import asked_of_model, compiles_watched, jit_of_function, jit_of_model
from graphmem.target.step import Jit

pytestmark = pytest.mark.tf


def _model(**compiled: Any) -> Any:
    import keras

    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="scores")])
    with compiles_watched():
        model.compile("sgd", "mse", **compiled)
    return model


def _runtimes(jit: Jit) -> tuple[str, str]:
    return jit.runtime("cpu")[0], jit.runtime("gpu")[0]


@pytest.mark.parametrize(
    ("compiled", "asked", "runtimes"),
    [
        ({}, "auto", ("graph", "xla")),
        ({"jit_compile": "auto"}, "auto", ("graph", "xla")),
        ({"jit_compile": True}, True, ("xla", "xla")),
        ({"jit_compile": False}, False, ("graph", "graph")),
        ({"run_eagerly": True}, "auto", ("graph", "graph")),
    ],
)
def test_keras_models(compiled: dict[str, Any], asked: Any, runtimes: tuple[str, str]) -> None:
    model = _model(**compiled)
    assert asked_of_model(model) == asked
    assert _runtimes(jit_of_model(model, "keras", asked_of_model(model))) == runtimes


def test_a_layer_may_not_allow_it() -> None:
    model = _model()
    model.get_layer("scores").supports_jit = False
    jit = jit_of_model(model, "keras", "auto")
    assert jit.runtime("gpu") == ("graph", "layer 'scores' cannot be compiled by XLA")


def test_a_model_compiled_before_graphmem_watched_is_taken_for_auto_unless_it_says_true() -> None:
    import keras

    told = []
    for jit_compile in (False, True):
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        model.compile("sgd", "mse", jit_compile=jit_compile)
        told.append(asked_of_model(model))
    assert told == ["auto", True]


def test_legacy_keras_compiles_with_xla_only_if_told() -> None:
    tf_keras = pytest.importorskip("tf_keras")
    model = tf_keras.Sequential([tf_keras.layers.Dense(2, input_shape=(3,))])
    model.compile("sgd", "mse")
    assert _runtimes(jit_of_model(model, "tf_keras", asked_of_model(model))) == ("graph", "graph")
    model.compile("sgd", "mse", jit_compile=True)
    assert _runtimes(jit_of_model(model, "tf_keras", asked_of_model(model))) == ("xla", "xla")


def test_functions_say_it_themselves() -> None:
    import tensorflow as tf

    def double(x: Any) -> Any:
        return x + x

    assert _runtimes(jit_of_function(tf.function(double, jit_compile=True))) == ("xla", "xla")
    assert jit_of_function(tf.function(double, jit_compile=False)).runtime("gpu")[1].endswith("jit_compile=False")
    assert _runtimes(jit_of_function(tf.function(double))) == _runtimes(jit_of_function(double)) == ("graph", "graph")
