"""Estimates of real models: the figures known of three applications, and models on which published functions crash."""

from __future__ import annotations

import importlib
import math
from typing import Any

import pytest

import graphmem
from graphmem.answers import estimates
from graphmem.answers.compare import STATIC
from graphmem.errors import TargetError
from graphmem.graph.layers import Layers
from graphmem.graph.store import save_trace

pytestmark = pytest.mark.tf

FRAMEWORKS = ["keras", "tf_keras"]


def described(*models: Any) -> Layers:
    from graphmem.target.layers import describe_layers

    return describe_layers(models)


@pytest.mark.parametrize(
    ("name", "gib"),
    [("VGG16", (18.31, 2.335, 1.95)), ("ResNet50", (7.48, 4.52, 4.45)), ("MobileNetV2", (3.02, 2.61, 2.60))],
)
def test_known_figures_at_batch_32(name: str, gib: tuple[float, ...]) -> None:
    import keras

    from graphmem.target.weightless import weightless

    with weightless():
        layers = described(getattr(keras.applications, name)(weights=None))
    formulas = (
        estimates.all_times_batch, estimates.model_memory_usage, estimates.keras_model_memory_usage_in_bytes
    )  # fmt: skip
    for formula, known in zip(formulas, gib, strict=True):
        assert formula(layers, 32).value / 2**30 == pytest.approx(known, abs=0.005)


def published(model: Any, batch: int) -> float:
    """What `get_model_memory_usage` computes of a flat legacy model, in bytes: legacy layers have an `output_shape`."""
    outputs = 0
    for layer in model.layers:
        shape = layer.output_shape[0] if isinstance(layer.output_shape, list) else layer.output_shape
        outputs += math.prod(dim for dim in shape if dim is not None)
    return 4.0 * (batch * outputs + sum(math.prod(weight.shape) for weight in model.weights))


def test_as_published_where_the_published_function_runs() -> None:
    import tf_keras

    model = tf_keras.applications.MobileNetV2(weights=None, input_shape=(32, 32, 3), alpha=0.35)
    assert estimates.model_memory_usage(described(model), 7).value == published(model, 7)


def hard(k: Any) -> Any:
    """Nested, shared, of two inputs and two outputs, in mixed precision."""
    layers = k.layers
    policy = "mixed_float16"
    inner = k.Sequential(
        [layers.Input((8, 8, 3)), layers.Conv2D(4, 3, dtype=policy), layers.BatchNormalization(dtype=policy)],
        name="inner",
    )
    a, b = k.Input((8, 8, 3), name="a"), k.Input((8, 8, 3), name="b")
    flat = layers.Flatten(dtype=policy)(layers.Concatenate(dtype=policy)([inner(a), inner(b)]))
    return k.Model([a, b], [layers.Dense(5, name="classes")(flat), layers.Dense(1, name="score")(flat)])


INNER = (6 * 6 * 4) * 2  # elements of a sample's outputs of the layers inside
PARAMS_INSIDE = 3 * 3 * 3 * 4 + 4 + 4 * 4
FLAT = 6 * 6 * 8
PARAMS = PARAMS_INSIDE + 6 * (FLAT + 1)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_nested_shared_and_mixed_models(framework: str) -> None:
    layers = described(hard(importlib.import_module(framework)))
    outer = 2 * (8 * 8 * 3) + 6 * 6 * 4 + 2 * FLAT + 5 + 1  # inputs, inner, concatenation, flattening, heads
    batch = 3
    assert estimates.all_times_batch(layers, batch).value == 4 * batch * (outer + PARAMS)
    both = 4 * (batch * outer + PARAMS) + 4 * (batch * INNER + PARAMS_INSIDE)
    assert estimates.model_memory_usage(layers, batch).value == both
    in_bytes = 4 * batch * (outer + INNER) + PARAMS + PARAMS_INSIDE  # the weights, and so `dtype`, are float32
    assert estimates.keras_model_memory_usage_in_bytes(layers, batch).value == in_bytes
    trained = PARAMS - 2 * 4
    outputs = outer - 6 * 6 * 4 + INNER
    assert estimates.model_mem_bits(layers, batch).value == 32 * (PARAMS + trained + batch * outputs)
    by_hand = 2 * batch * (outputs + INNER + 2 * 8 * 8 * 3) + 3 * PARAMS  # inside, each of two calls, with its input
    assert estimates.by_hand(layers, batch).value == 4 * by_hand
    # the outputs that follow each other are float16: a concatenation, and it flattened
    assert estimates.two_largest_in_a_row(layers, batch).value == 2 * batch * 2 * FLAT


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_all_nine_of_a_hard_model(framework: str) -> None:
    k = importlib.import_module(framework)
    model = hard(k)
    model.compile("adam", loss=["sparse_categorical_crossentropy", "mse"])
    before = [weight.numpy().copy() for weight in model.weights]
    found = graphmem.compare(model, batch=4, orders=2, device="cpu")
    assert [item.number for item in found.estimates] == list(range(1, 10))
    assert all(item.bytes and item.ratio and not item.at_least for item in found.estimates)
    assert found.estimates[8].name == "16 bytes per parameter"
    assert all((old == new.numpy()).all() for old, new in zip(before, model.weights, strict=True))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_subclassed_models_give_lower_bounds(framework: str, tmp_path) -> None:
    k = importlib.import_module(framework)

    class Net(k.Model):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = k.Sequential([k.layers.Input((4,)), k.layers.Dense(8)], name="inner")
            self.head = k.layers.Dense(2, name="head")

        def call(self, x: Any) -> Any:
            return self.head(self.inner(x))

    net = Net()
    net.build((None, 4)) if framework == "tf_keras" else net(k.ops.zeros((1, 4)))
    net.compile("sgd", "mse")
    found = graphmem.compare(net, batch=3, inputs=("x:float32:3x4",), orders=2, device="cpu")
    assert [item.at_least for item in found.estimates] == [True] * 6 + [False] * 3
    assert found.estimates[0].bytes == 4 * 3 * (8 + 40 + 18)
    assert found.estimates[8].bytes == 58 * (8 if framework == "keras" else 12)  # legacy SGD always has a momentum
    assert any("no output of head" in note for note in found.notes)
    simulation = found.report.simulation
    assert simulation is not None
    save_trace(simulation.graph, str(tmp_path / "s.graphmem"))
    again = graphmem.compare(str(tmp_path / "s.graphmem"))
    assert [item.bytes for item in again.estimates] == [item.bytes for item in found.estimates]
    del simulation.graph.info[STATIC]
    save_trace(simulation.graph, str(tmp_path / "without.graphmem"))
    without = graphmem.compare(str(tmp_path / "without.graphmem")).estimates[7]
    assert without.bytes is None
    assert "while a step is traced" in without.says
    with pytest.raises(TargetError, match="saved trace"):
        graphmem.compare(str(tmp_path / "s.graphmem"), verify=True)


def test_a_model_that_does_not_tell_its_layers_is_analysed_all_the_same() -> None:
    import keras

    class Secretive(keras.Sequential):
        @property
        def trainable_weights(self) -> Any:
            raise RuntimeError("none of your business") if self.stack else []

        stack = True

    assert described(Secretive([keras.Input((2,)), keras.layers.Dense(1)])) == Layers((), ())


def test_grapplers_own_estimate_of_a_gpu(monkeypatch) -> None:
    import keras

    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32), keras.layers.Dense(4)])
    model.compile("sgd", "mse")
    found = graphmem.compare(model, batch=8, device="gpu", runtime="graph", orders=1).estimates[7]
    assert found.bytes is not None
    assert 4 * (16 * 32 + 8 * 32) <= found.bytes < 2**20
    with pytest.raises(TargetError, match="by a text"):
        graphmem.compare(model, batch=8, verify=True)


def test_functions_without_a_model() -> None:
    import tensorflow as tf

    step = tf.function(lambda x: tf.reduce_sum(x * 2.0))
    found = graphmem.compare(step, tf.TensorSpec((4, 8)), orders=1, device="cpu")
    assert [item.number for item in found.estimates if item.bytes is not None] == [7, 8]
