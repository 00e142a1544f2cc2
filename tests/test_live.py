"""Live objects, as in a notebook: a model that trains is analysed between two epochs, and never notices."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphmem
from graphmem.target.leftovers import Kernels

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.tf

BATCH, SAMPLES, FEATURES, CLASSES = 8, 32, 16, 4
WEIGHT_BYTES = 4 * (FEATURES * 32 + 32 + 2 * 32 + 32 * CLASSES + CLASSES)  # dense, batch normalisation, dense
KINDS = ("train", "test", "predict")


@pytest.fixture(params=["keras", "tf_keras"])
def keras(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(request.param)
    return importlib.import_module(request.param)


def classifier(keras: Any) -> Any:
    """With random and moving state, so that a step too many would show."""
    keras.utils.set_random_seed(7)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            layers.Dense(32, activation="relu"),
            layers.BatchNormalization(),
            layers.Dropout(0.5, seed=3),
            layers.Dense(CLASSES),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])
    return model


def data() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    return random.normal(size=(SAMPLES, FEATURES)).astype("float32"), random.integers(0, CLASSES, SAMPLES)


def train(model: Any) -> dict[str, list[float]]:
    history = model.fit(*data(), batch_size=BATCH, epochs=1, shuffle=False, verbose=0).history
    return {name: list(values) for name, values in history.items()}


def values(model: Any) -> list[np.ndarray]:
    optimizer = model.optimizer.variables
    optimizer = optimizer() if callable(optimizer) else optimizer
    return [np.array(v) for v in [*model.variables, *optimizer]]


def analyse_all(model: Any) -> list[graphmem.Report]:
    return [
        graphmem.analyze(model, batch=BATCH, step=kind, device=d, orders=1) for d in ("cpu", "gpu") for kind in KINDS
    ]


@pytest.mark.parametrize("trained", [False, True])
def test_training_goes_on_as_if_nobody_had_looked(keras: Any, trained: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Every thousand variables TensorFlow's kernels are dropped, and stateful random ops (legacy dropout) start again.
    monkeypatch.setattr("graphmem.target.weightless.kernels", Kernels())
    alone = classifier(keras)
    expected = [train(alone), train(alone)]
    model = classifier(keras)
    seen = [train(model)] if trained else []
    before, attributes, history = values(model), dict(vars(model)), model.history if trained else None
    analyse_all(model)
    assert {k: v for k, v in vars(model).items() if attributes.get(k) is not v} == {}
    assert vars(model).keys() == attributes.keys()
    assert not trained or model.history is history
    for old, new in zip(before, values(model), strict=True):
        np.testing.assert_array_equal(old, new)
    assert model.optimizer.iterations == (SAMPLES // BATCH if trained else 0)
    seen += [train(model) for _ in range(2 - len(seen))]
    assert seen == expected


def test_the_steps_of_a_live_model(keras: Any) -> None:
    model = classifier(keras)
    train(model)
    reports = dict(zip([(d, kind) for d in ("cpu", "gpu") for kind in KINDS], analyse_all(model), strict=True))
    for (_, kind), report in reports.items():
        assert (report.step, report.batch) == (kind, BATCH)
        inputs = 4 * BATCH * FEATURES
        labels = report.argument_bytes - inputs
        assert labels == 0 if kind == "predict" else labels in (4 * BATCH, 8 * BATCH)
        assert report.peak_bytes == report.needed_bytes > 0
    for device in ("cpu", "gpu"):
        train_report = reports[device, "train"]
        assert train_report.weight_bytes + train_report.optimizer_bytes >= 3 * (WEIGHT_BYTES - 4 * 2 * 32)
        assert train_report.peak_bytes > reports[device, "test"].peak_bytes >= reports[device, "predict"].peak_bytes


def test_what_a_report_offers(tmp_path: Path) -> None:
    keras = pytest.importorskip("keras")
    model = classifier(keras)
    train(model)
    report = graphmem.analyze(model, batch=BATCH)
    assert report.peak_bytes == report.resident_bytes + report.argument_bytes + report.step_peak_bytes
    assert max(report.timeline.total) == report.step_peak_bytes
    assert sum(buffer.bytes or 0 for buffer in report.frontier) == report.step_peak_bytes
    at_peak = [attributes for _, attributes in report.dag.nodes(data=True) if attributes["at_peak"]]
    assert report.step_peak_bytes <= sum(attributes["bytes"] or 0 for attributes in at_peak)
    assert json.loads(report.to_json())["needed_bytes"] == report.peak_bytes
    for name in ("peak.svg", "peak.json", "peak.html", "peak.txt", "peak.graphmem"):
        report.render(str(tmp_path / name))
        assert (tmp_path / name).stat().st_size > 0
    for name in ("peak.json", "peak.graphmem"):
        assert graphmem.load(tmp_path / name).peak_bytes == report.peak_bytes
    with pytest.raises(graphmem.TargetError, match="exists"):
        report.render(str(tmp_path / "peak.svg"))
    assert "<" in report._repr_html_()
    assert str(report).startswith("sequential train step, batch 8: peak ") or " train step, batch 8: peak " in str(
        report
    )


class Loop:
    """A training loop of the user's own, in use."""

    def __init__(self) -> None:
        self.weight = tf.Variable(tf.ones((FEATURES, CLASSES)))

        @tf.function
        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, self.weight) - y))
            self.weight.assign_sub(0.1 * tape.gradient(loss, self.weight))
            return loss

        self.step = step
        self.batch = tf.ones((BATCH, FEATURES)), tf.ones((BATCH, CLASSES))


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("called", [False, True])
def test_a_function_in_use(device: str, called: bool) -> None:
    alone, loop = Loop(), Loop()
    expected = [float(alone.step(*alone.batch)) for _ in range(3)]
    seen = [float(loop.step(*loop.batch))] if called else []
    weight, traces = loop.weight.numpy(), loop.step.experimental_get_tracing_count()
    first, again = (graphmem.analyze(loop.step, *loop.batch, device=device) for _ in range(2))
    assert first.to_json() == again.to_json()
    assert (first.weight_bytes, first.argument_bytes) == (4 * FEATURES * CLASSES, 4 * BATCH * (FEATURES + CLASSES))
    np.testing.assert_array_equal(loop.weight.numpy(), weight)
    seen += [float(loop.step(*loop.batch)) for _ in range(3 - len(seen))]
    assert seen == expected
    assert loop.step.experimental_get_tracing_count() <= max(traces, 1)
