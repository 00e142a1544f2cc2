"""Advice on real models: pasting a snippet gives the peak that was predicted, and `fit()` takes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphmem
from graphmem.answers.advise.advice import Advice
from graphmem.errors import TargetError
from graphmem.graph.store import save_trace
from tests import graphs

pytestmark = pytest.mark.tf

SETTINGS: dict[str, Any] = {"device": "cpu", "threads": 2, "orders": 4}


def unet() -> Any:
    """A Functional model with a skip, softmax, batch normalization and gelu."""
    import keras

    layers = keras.layers

    def conv(name: str, x: Any) -> Any:
        return layers.Conv2D(8, 3, padding="same", activation="gelu", name=name)(x)

    x = keras.Input((32, 32, 3), name="image")
    skip = conv("c2", conv("c1", x))
    low = layers.BatchNormalization(name="bn")(conv("c4", conv("c3", layers.MaxPooling2D(name="pool")(skip))))
    both = layers.Concatenate(name="both")([layers.UpSampling2D(name="up")(low), skip])
    out = layers.Conv2D(5, 1, name="out", activation="softmax")(conv("c5", both))
    model = keras.Model(x, out)
    model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def stack() -> Any:
    """A Sequential model with dropout in its middle."""
    import keras

    dense = [keras.layers.Dense(64, activation="gelu", name=f"d{i}") for i in range(4)]
    drop = keras.layers.Dropout(0.1, name="drop")
    model = keras.Sequential([keras.Input((64,)), *dense[:3], drop, dense[3], keras.layers.Dense(3, name="out")])
    model.compile("adam", "mse")
    return model


def words() -> Any:
    """An embedding that is much larger than the rest."""
    import keras

    layers = [keras.Input((20,), dtype="int32"), keras.layers.Embedding(5000, 16, name="emb")]
    layers += [keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(4, activation="softmax", name="head")]
    model = keras.Sequential(layers)
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


def subclassed() -> Any:
    """Blocks in a model with a call of its own."""
    import keras

    class Block(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.wide = keras.layers.Dense(128, activation="gelu")
            self.back = keras.layers.Dense(16)

        def call(self, x: Any) -> Any:
            return x + self.back(self.wide(x))

    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [Block() for _ in range(3)]
            self.out = keras.layers.Dense(2)

        def call(self, x: Any, training: bool = False) -> Any:
            for block in self.blocks:
                x = block(x)
            return self.out(x)

    model = Net()
    model(np.zeros((1, 16), "float32"))
    model.compile("adam", "mse")
    return model


MODELS: dict[str, tuple[Callable[[], Any], int, tuple[str, ...]]] = {
    "unet": (unet, 8, ("recompute", "freeze", "loss")),
    "stack": (stack, 256, ("recompute", "batch")),
    "words": (words, 8, ("optimizer", "precision", "batch", "freeze", "embedding", "loss", "runtime")),
    "subclassed": (subclassed, 64, ("recompute", "optimizer")),
}
"""How it is built, its batch, which changes are tried on it."""


@pytest.fixture(scope="module")
def found() -> Callable[[str], Advice]:
    """The advice on a model that is built by a function, made once."""
    made: dict[str, Advice] = {}

    def advice(name: str) -> Advice:
        if name not in made:
            build, batch, only = MODELS[name]
            made[name] = graphmem.advise(build, batch=batch, only=only, **SETTINGS)
        return made[name]

    return advice


def pasted(build: Callable[[], Any], code: str) -> Any:
    """The model with a snippet pasted after it, as in a user's file."""
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(1)
    if code.startswith("keras.config.set_dtype_policy"):
        before = keras.config.dtype_policy()
        try:
            exec(code, {"keras": keras})
            return build()
        finally:
            keras.config.set_dtype_policy(before)
    model = build()
    exec(code, {"model": model, "keras": keras, "tf": tf})
    return model


def peaks(model: Any, batch: int, **options: Any) -> range:
    """From the lowest to the highest peak of many orders: which few are drawn depends on Keras's numbers in names."""
    low, high = graphmem.analyze(model, batch=batch, **{**SETTINGS, "orders": 40, **options}).needed_range_bytes
    return range(low, high + 1)


@pytest.mark.parametrize("name", MODELS)
def test_a_pasted_snippet_gives_the_predicted_peak(name: str, found: Callable[[str], Advice]) -> None:
    advice, (build, batch, only) = found(name), MODELS[name]
    assert advice.report.needed_bytes in peaks(build(), batch)
    seen = set()
    for one in advice.tried:
        model = pasted(build, one.change.snippet)
        runtime = "auto"
        if one.change.kind == "runtime":
            assert model.jit_compile is True
            runtime = "xla"
        assert one.peak_bytes in peaks(model, one.change.batch or batch, runtime=runtime), one.change.name
        assert one.saved_bytes == advice.report.needed_bytes - one.peak_bytes
        seen.add(one.change.kind)
    assert seen == set(only)
    assert [one.saved_bytes for one in advice.tried] == sorted((one.saved_bytes for one in advice.tried), reverse=True)


def data(name: str) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    if name == "words":
        return random.integers(0, 5000, (8, 20)).astype("int32"), random.integers(0, 4, 8)
    if name == "unet":
        return random.random((8, 32, 32, 3), "float32"), random.integers(0, 5, (8, 32, 32))
    wide, out = {"stack": (64, 3), "subclassed": (16, 2)}[name]
    return random.random((16, wide), "float32"), random.random((16, out), "float32")


@pytest.mark.parametrize("name", ["unet", "stack", "subclassed"])
def test_recomputing_trains_the_same(name: str, found: Callable[[str], Advice]) -> None:
    """Two epochs of `fit()` end with the same weights, dropout or not."""
    again = next(one for one in found(name).tried if one.change.kind == "recompute")
    assert again.saved_bytes > 0
    x, y = data(name)
    results = []
    for code in ("", again.change.snippet):
        model = pasted(MODELS[name][0], code)
        model.fit(x, y, batch_size=8, epochs=2, verbose=0, shuffle=False)
        results.append([np.array(weight) for weight in model.trainable_variables])
    for before, after in zip(*results, strict=True):
        np.testing.assert_allclose(before, after, rtol=1e-4, atol=1e-5)


def test_sparse_updates_are_adams_in_the_first_step_and_leave_other_rows_alone(
    found: Callable[[str], Advice],
) -> None:
    lazy = next(one for one in found("words").tried if one.change.kind == "embedding")
    assert lazy.saved_bytes > 0.9 * 4 * 5000 * 16  # a dense gradient of the table is gone
    assert not lazy.report.at_least
    x, y = data("words")
    x[0, :3] = 7  # a row that comes several times
    tables = []
    for code in ("", lazy.change.snippet):
        model = pasted(words, code)
        start = np.array(model.get_layer("emb").embeddings)
        model.fit(x, y, batch_size=8, epochs=1, verbose=0)
        tables.append(np.array(model.get_layer("emb").embeddings))
    rows, times = np.unique(x, return_counts=True)
    np.testing.assert_allclose(tables[0][rows[times == 1]], tables[1][rows[times == 1]], rtol=1e-5, atol=1e-7)
    # Adam's first step is the learning rate; for a row that comes several times Keras squares each part of its gradient
    assert np.median(np.abs(tables[1][7] - start[7])) == pytest.approx(1e-3, rel=0.05)
    others = np.setdiff1d(np.arange(5000), x)
    assert (tables[1][others] == start[others]).all()


def test_a_loss_that_keras_fuses_itself_does_not_move_the_peak(found: Callable[[str], Advice]) -> None:
    fused = next(one for one in found("words").tried if one.change.kind == "loss")
    assert fused.saved_bytes == 0
    assert fused in found("words").idle
    assert "loss from logits: the same" in str(found("words"))


def test_a_live_model_stays_as_it_is() -> None:
    model = unet()
    x, y = data("unet")
    model.fit(x, y, epochs=1, verbose=0)
    kept = {"optimizer": model.optimizer, "activation": model.layers[-1].activation, "attributes": set(vars(model))}
    before = [np.array(weight) for weight in (*model.weights, *model.optimizer.variables)]
    advice = graphmem.advise(model, batch=8, only=("precision", "batch", "recompute", "freeze", "loss"), **SETTINGS)
    assert {one.change.kind for one in advice.tried} == {"batch", "recompute", "freeze", "loss"}
    reasons = {one.kind: one.reason for one in advice.untried}
    assert "built" in reasons["precision"]
    assert model.optimizer is kept["optimizer"]
    assert model.layers[-1].activation is kept["activation"]
    assert set(vars(model)) == kept["attributes"]
    assert all(weight.trainable for layer in model.layers for weight in layer.trainable_weights)
    assert len(model.trainable_weights) == 14
    for old, new in zip(before, (*model.weights, *model.optimizer.variables), strict=True):
        assert (old == np.array(new)).all()
    model.fit(x, y, epochs=1, verbose=0)


def test_a_live_model_that_is_not_compiled() -> None:
    import keras

    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64), keras.layers.Dense(64, name="last")])
    advice = graphmem.advise(model, batch=4, only=("optimizer",), **SETTINGS)
    saved = {one.change.name: one.saved_bytes for one in advice.tried}
    assert saved["SGD instead of Adam"] > 2 * 4 * 64 * 64
    assert not model.compiled


def test_a_budget_and_dimensions() -> None:
    import keras

    def build() -> Any:
        tokens = keras.Input((None,), dtype="int32", name="tokens")
        x = keras.layers.Embedding(100, 32)(tokens)
        model = keras.Model(tokens, keras.layers.Dense(100, name="head")(keras.layers.Dense(64)(x)))
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        return model

    base = graphmem.analyze(build, batch=64, dims={"tokens.1": 64}, **SETTINGS)
    budget = base.needed_bytes * 3 // 4
    advice = graphmem.advise(build, batch=64, dims={"tokens.1": 64}, budget=budget, only=["batch"], **SETTINGS)
    assert advice.report.needed_bytes in peaks(build, 64, dims={"tokens.1": 64})
    assert advice.budget_bytes == budget
    assert advice.fits is False
    half = next(one for one in advice.tried if one.change.kind == "batch")
    assert half.fits is True
    assert half.report.batch == 32
    assert advice.exit_code == 0
    with pytest.raises(TargetError, match="nothing is left"):
        graphmem.advise(build, batch=8, budget="1MiB", reserve="2MiB", **SETTINGS)


def test_legacy_keras() -> None:
    import tf_keras

    def build() -> Any:
        layers = [tf_keras.layers.Dense(64, activation="gelu", name=f"d{i}") for i in range(4)]
        model = tf_keras.Sequential([tf_keras.Input((64,)), *layers, tf_keras.layers.Dense(3, name="out")])
        model.compile("adam", "mse")
        return model

    advice = graphmem.advise(build, batch=256, only=("recompute", "batch", "embedding"), **SETTINGS)
    by_kind = {one.change.kind: one for one in advice.tried}
    assert by_kind["batch"].change.name == "half the batch"
    assert by_kind["recompute"].saved_bytes > 0
    model = build()
    import tensorflow as tf

    exec(by_kind["recompute"].change.snippet, {"model": model, "keras": tf_keras, "tf": tf})
    assert by_kind["recompute"].peak_bytes in peaks(model, 256)
    model.fit(np.zeros((8, 64), "float32"), np.zeros((8, 3), "float32"), verbose=0)


def test_a_step_of_the_users_own() -> None:
    import tensorflow as tf

    weight = tf.Variable(tf.zeros((32, 32)))

    @tf.function
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.gelu(x @ weight))
        weight.assign_sub(tape.gradient(loss, weight))
        return loss

    advice = graphmem.advise(train, tf.TensorSpec((64, 32)), **SETTINGS)
    assert {one.change.kind for one in advice.tried} <= {"batch", "runtime"}
    assert {one.kind for one in advice.untried} >= {"optimizer", "freeze", "recompute", "precision"}


def test_a_saved_trace_is_refused(tmp_path: Any) -> None:
    path = str(tmp_path / "step.graphmem")
    save_trace(graphs.two_weights(), path)
    with pytest.raises(TargetError, match=re.escape("is a saved trace")):
        graphmem.advise(path)
    with pytest.raises(TargetError, match="there is no kind of change 'magic'; the kinds are optimizer, precision"):
        graphmem.advise(lambda: None, only=("magic",))
