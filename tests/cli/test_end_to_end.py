"""The whole way, on a file that a user might write: `graphmem peak` in a process of its own."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.cli, pytest.mark.tf]

MODEL = """
import keras

print("hello from the script")
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(4)])
model.compile(optimizer="adam", loss="mse")


def broken():
    return model.nonsense
"""
FILES = ("peak.svg", "peak.json", "peak.html", "step.graphmem")
WEIGHTS = 4 * (16 * 32 + 32 + 32 * 4 + 4)
OFFLINE = (
    "import sys; from graphmem.cli.main import main; code = main(sys.argv[1:]); "
    "sys.exit('imported TensorFlow' if {'tensorflow', 'keras'} & set(sys.modules) else code)"
)


def graphmem(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphmem", *argv]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "model.py").write_text(MODEL)
    (folder / "pyproject.toml").write_text("[tool.graphmem]\nbatch = 8\norders = 3\nthreads = 2\n")
    return folder


@pytest.fixture(scope="module")
def done(folder: Path) -> subprocess.CompletedProcess[str]:
    files = (item for name in FILES for item in ("-o", name))
    return graphmem(folder, "peak", "model.py", "--json", *files)


def test_stdout_is_the_report_and_stderr_what_was_written(done: subprocess.CompletedProcess[str]) -> None:
    assert (done.returncode, done.stderr) == (0, "".join(f"Wrote {name}\n" for name in FILES))
    data = json.loads(done.stdout)
    assert (data["schema"], data["target"], data["step"], data["batch"]) == (1, "model.py", "train", 8)
    assert (data["orders"], data["facts"]["threads"]) == (3, "2")


def test_what_can_be_computed_by_hand(done: subprocess.CompletedProcess[str]) -> None:
    data = json.loads(done.stdout)
    assert data["weight_bytes"] == WEIGHTS
    assert data["optimizer_bytes"] == 2 * WEIGHTS  # Adam: two slots for each weight
    assert data["other_state_bytes"] == 8 + 4 + 2 * 4  # iterations, learning rate; total and count of the loss
    assert data["argument_bytes"] == 4 * (8 * 16 + 8 * 4)
    assert data["needed_bytes"] == data["resident_bytes"] + data["argument_bytes"] + data["step_peak_bytes"]
    assert data["step_peak_bytes"] == sum(item["bytes"] for item in data["frontier"]) == data["by_scope"][0]["bytes"]
    for name in ("by_role", "by_phase", "by_op_type", "by_source"):
        assert sum(data[name].values()) == data["step_peak_bytes"], name


def test_the_timeline_in_the_file_peaks_at_the_step_peak(folder: Path, done: subprocess.CompletedProcess[str]) -> None:
    data = json.loads((folder / "peak.json").read_text())
    timeline = data.pop("timeline")
    assert data == json.loads(done.stdout)
    assert max(timeline["total"]) == data["step_peak_bytes"]
    assert [sum(column) for column in zip(*timeline["by_role"].values(), strict=True)] == timeline["total"]


def test_the_picture_is_a_picture(folder: Path, done: subprocess.CompletedProcess[str]) -> None:
    assert "<svg" in (folder / "peak.svg").read_text()


def test_the_page_has_tensorflows_own_estimate(folder: Path, done: subprocess.CompletedProcess[str]) -> None:
    found = re.search(r"Grappler's static estimate</th><td class=\"number\">([\d.]+) KiB", html.unescape(page(folder)))
    assert found is not None
    assert 0 < float(found[1]) < 20 * WEIGHTS / 1024


def page(folder: Path) -> str:
    return (folder / "peak.html").read_text(encoding="utf-8")


def test_a_saved_trace_says_the_same_without_tensorflow(folder: Path, done: subprocess.CompletedProcess[str]) -> None:
    command = [sys.executable, "-c", OFFLINE, "peak", "step.graphmem", "--json"]
    again = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr) == (0, "")
    assert json.loads(again.stdout) == json.loads(done.stdout)


def test_an_error_in_the_users_file_shows_the_users_line(folder: Path) -> None:
    done = graphmem(folder, "peak", "model.py:broken", "-o", "broken.svg")
    assert (done.returncode, done.stdout) == (3, "")
    assert "return model.nonsense" in done.stderr
    assert "graphmem" not in done.stderr.rpartition("graphmem: ")[0]
    assert not (folder / "broken.svg").exists()


def test_a_missing_file_is_one_sentence(folder: Path) -> None:
    done = graphmem(folder, "peak", "missing.py")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "missing.py" in done.stderr


@pytest.mark.tf
def test_what_onednn_fuses_beyond_reading_is_told(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import keras\n"
        "def net():\n"
        "    keras.mixed_precision.set_global_policy('mixed_bfloat16')\n"
        "    model = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Conv2D(4, 3, activation='relu')])\n"
        "    model.compile('sgd', 'mse')\n"
        "    return model\n"
    )
    command = [sys.executable, "-m", "graphmem", "peak", "net.py:net", "--batch", "2", "--device", "cpu"]
    environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": "1"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode in (0, 2)  # TensorFlow fuses so only on processors that have bfloat16
    assert "internal error" not in done.stderr
