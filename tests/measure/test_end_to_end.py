"""`graphmem verify` on a file that a user might write, and steps that fail only when they run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from graphmem.errors import CheckFailed, UserCodeError
from graphmem.measure.run import Request, measure
from graphmem.target.step import Options

pytestmark = [pytest.mark.tf, pytest.mark.cli]

MODEL = """
import keras
import numpy as np
import tensorflow as tf

print("hello from the script")


@tf.function
def picky(x):
    tf.debugging.assert_greater(x, 2.0, message="x is too small")
    return x * x


@tf.function(jit_compile=True)
def compiled(x):
    return tf.reduce_sum(tf.sort(tf.matmul(x, x, transpose_b=True)), axis=0)


@tf.function
def large(x):
    return tf.reduce_sum(tf.matmul(x, x, transpose_b=True) ** 2)


if __name__ == "__main__":
    layers = [keras.layers.Conv2D(16, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(4)]
    model = keras.Sequential([keras.Input((24, 24, 3)), *layers])
    model.compile(optimizer="adam", loss="mse")
    model.fit(np.zeros((64, 24, 24, 3), "float32"), np.zeros((64, 4), "float32"), batch_size=32)
"""
WEIGHTS = 4 * (3 * 3 * 3 * 16 + 16 + 22 * 22 * 16 * 4 + 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "model.py").write_text(MODEL)
    return folder


def request(folder: Path, name: str, spec: str, limit: int = 1 << 30) -> Request:
    return Request(f"{folder / 'model.py'}:{name}", Options(inputs=(spec,)), 2, "default", 1, 240, limit)


def test_prediction_and_measurement_agree(folder: Path) -> None:
    command = [sys.executable, "-c", "from graphmem.cli.main import entry; entry()"]
    given = ["verify", str(folder / "model.py"), "--json", "--runs", "1", "--threads", "2", "-o", "curve.svg"]
    work = folder / "work"
    work.mkdir()
    done = subprocess.run([*command, *given], cwd=work, capture_output=True, text=True, timeout=500)
    assert (done.returncode, done.stderr) == (0, "Wrote curve.svg\n")
    data = json.loads(done.stdout)
    variables, inputs, step_peak = data["layers"]
    assert variables["predicted_bytes"] == variables["measured_bytes"] > 3 * WEIGHTS  # Adam: two slots for each weight
    assert inputs["predicted_bytes"] == inputs["measured_bytes"] == 32 * (24 * 24 * 3 + 4) * 4
    assert abs(step_peak["error"]) < 0.01
    assert data["agrees"]
    assert data["tensors"]["matched_share"] > 0.98
    assert data["runs"][0]["in_use_peak_bytes"] > data["runs"][0]["in_use_before_bytes"] > 3 * WEIGHTS


@pytest.mark.parametrize(("runtime", "blocks"), [("auto", [512 * 4, 512 * 512 * 4]), ("graph", None)])
def test_a_step_that_xla_compiles(folder: Path, runtime: str, blocks: list[int] | None) -> None:
    command = [sys.executable, "-c", "from graphmem.cli.main import entry; entry()"]
    given = [f"{folder / 'model.py'}:compiled", "--input", "x:float32:512x8", "--runtime", runtime, "--runs", "1"]
    done = subprocess.run([*command, "verify", *given, "--json"], capture_output=True, text=True, timeout=500)
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert data["runtime"] == ("xla" if blocks else "graph")
    if blocks:
        assert (data["layers"][2]["predicted_bytes"], data["layers"][2]["measured_bytes"]) == (sum(blocks), sum(blocks))
        assert data["tensors"]["matched"] == data["tensors"]["measured"] == len(blocks)
        assert data["in_use_peak_bytes"] == pytest.approx(data["runs"][0]["in_use_peak_bytes"], rel=0.05)
    else:
        assert data["tensors"]["matched_share"] == 1.0


def test_a_step_that_does_not_like_its_data(folder: Path) -> None:
    with pytest.raises(
        UserCodeError, match=r"failed when it ran on made-up data: assertion failed: \[x is too small\]"
    ):
        measure(request(folder, "picky", "x:float32:8"))


def test_a_step_larger_than_what_it_is_allowed(folder: Path) -> None:
    with pytest.raises(CheckFailed, match="ran out of memory: OOM when allocating"):
        measure(request(folder, "large", "x:float32:8192x2", limit=64 << 20))
