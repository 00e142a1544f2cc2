"""Prediction beside measurement: models saved by Keras and TensorFlow, loaded in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmem.answers.load.answer import load_cost

pytestmark = pytest.mark.tf

WEIGHTS = 4 * (2000 * 3000 + 3000)
SLOTS = 2 * WEIGHTS


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with 24 MB of weights and twice that in Adam's slots, in several formats; `bare.keras` has no slots."""
    import keras
    import tensorflow as tf

    folder = tmp_path_factory.mktemp("saved")
    model = keras.Sequential([keras.Input((2000,)), keras.layers.Dense(3000)])
    model.compile(keras.optimizers.Adam(), keras.losses.MeanSquaredError(), metrics=["mae"])
    model.save(folder / "bare.keras")
    model.optimizer.build(model.trainable_variables)
    model.save(folder / "net.keras")
    tf.train.Checkpoint(model=model, opt=model.optimizer).write(str(folder / "ckpt"))
    tf.saved_model.save(model, str(folder / "saved"))
    return folder


def test_each_way_of_loading_a_keras_file(saved: Path) -> None:
    cost = load_cost(saved / "net.keras", verify=True, timeout=300)
    after = [way.measured.after for way in cost.ways if way.measured]
    assert after == [pytest.approx(size, rel=0.1) for size in (WEIGHTS + SLOTS, WEIGHTS, WEIGHTS)]
    assert [cost.agrees(way) for way in cost.ways] == [True, True, True]
    peaks = [way.measured.peak for way in cost.ways if way.measured]
    assert peaks == [pytest.approx(way.peak_bytes, rel=0.15) for way in cost.ways]


def test_slots_that_only_compiling_makes_are_counted(saved: Path) -> None:
    cost = load_cost(saved / "bare.keras")
    assert cost.ways[0].made_bytes == SLOTS
    assert cost.ways[0].stored_bytes == pytest.approx(WEIGHTS, abs=20)


def test_a_checkpoint_whatever_its_optimizer_is_called(saved: Path) -> None:
    cost = load_cost(saved / "ckpt.index", verify=True, timeout=300)
    sums = {row["kind"]: row["bytes"] for row in cost.contents.sums if row["dtype"] == "float32"}
    assert sums == {"weight": WEIGHTS, "optimizer": SLOTS + 4}
    assert [cost.agrees(way) for way in cost.ways] == [True, True]
    assert [way.measured.peak for way in cost.ways if way.measured] == [
        pytest.approx(way.peak_bytes, rel=0.15) for way in cost.ways
    ]


def test_a_saved_model_folder(saved: Path) -> None:
    cost = load_cost(saved / "saved", verify=True, timeout=300)
    assert cost.contents.format == "savedmodel"
    assert cost.contents.bytes_of() == pytest.approx(WEIGHTS + SLOTS, abs=20)
    assert cost.agrees(cost.ways[0]) is True
