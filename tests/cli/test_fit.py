"""`graphmem fit` as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from graphmem.graph.store import save_trace
from tests.test_first import first_step

MODEL = """
import keras

model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(4)])
model.compile(optimizer="adam", loss="mse")
"""


def graphmem(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphmem", *argv]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.cli
@pytest.mark.tf
def test_the_value_found_passes_peak_and_the_next_does_not(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "pyproject.toml").write_text("[tool.graphmem]\norders = 3\nthreads = 2\nbatch = 8\ndevice = 'cpu'\n")
    done = graphmem(tmp_path, "fit", "model.py", "--budget", "1MiB", "--reserve", "100KiB", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert (data["schema"], data["vary"], data["budget_bytes"]) == (1, "batch", (1 << 20) - 102400)
    for part, fits in (("fit", True), ("next", False)):
        memory = str(data["budget_bytes"])
        peak = graphmem(tmp_path, "peak", "model.py", "--batch", str(data[part]["value"]), "--memory", memory, "--json")
        report = json.loads(peak.stdout)
        assert (report["allocator"]["fails"] is None) == fits
        assert report["needed_bytes"] == data[part]["needed_bytes"]
    nothing = graphmem(tmp_path, "fit", "model.py", "--budget", "2KiB")
    assert nothing.returncode == 1
    assert "nothing fits into 2.00 KiB: batch 1 needs" in " ".join(nothing.stdout.split())


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["train.py"], "there is no budget"),
        (["train.py", "--budget", "much"], "'much' is not a size"),
        (["train.py", "--budget", "1GiB", "--memory", "2GiB"], "say the same thing"),
        (["train.py", "--gpu", "GTX 1060 6GB", "--device", "cpu"], "say two things"),
        (["train.py", "--gpu", "GTX 9999"], "no card is called 'GTX 9999'"),
        (["train.py", "--budget", "1GiB", "--reserve", "2GiB"], "nothing is left"),
        (["train.py", "--budget", "1GiB", "--batch", "4"], "--batch 4 fixes what --vary batch is to find"),
        (["train.py", "--budget", "1GiB", "--vary", "x", "--set", "x=4"], "--set x fixes"),
        (["train.py", "--budget", "1GiB", "--min", "5", "--max", "4"], "there is no multiple of 1 from 5 to 4"),
        (["train.py", "--budget", "1GiB", "--power-of-two", "--multiple-of", "2"], "do not go together"),
        (["train.py", "--budget", "1GiB", "--vary", "size", "--target-batch", "8"], "does not go with --vary size"),
        (["train.py:b(?, width=?)", "--budget", "1GiB"], "has several places"),
        (["train.py:b(width=?)", "--budget", "1GiB", "--vary", "batch"], "has a ? for 'width'"),
        (["missing.py", "--budget", "1GiB"], "There is no file 'missing.py'"),
        (["step.graphmem", "--budget", "1GiB"], "is a saved trace, which has one size"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(
    argv: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from graphmem.cli.main import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("raise SystemExit('was run')")
    save_trace(first_step(), str(tmp_path / "step.graphmem"))
    assert main(["fit", *argv]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert said in err
    assert err.startswith("graphmem: ")
    assert "Traceback" not in err


def test_help_has_examples(capfd: pytest.CaptureFixture[str]) -> None:
    from graphmem.cli.main import main

    assert main(["fit", "--help"]) == 0
    assert "graphmem fit train.py --budget 6GiB" in capfd.readouterr().out
