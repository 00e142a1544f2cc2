"""`graphmem advise` through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphmem.cli.main import main
from graphmem.graph.store import save_trace
from tests import graphs

pytestmark = pytest.mark.cli

MODEL = """
import keras

def build(width=64):
    layers = [keras.layers.Dense(width, activation="gelu", name=f"d{i}") for i in range(3)]
    model = keras.Sequential([keras.Input((64,)), *layers, keras.layers.Dense(4, name="out")])
    model.compile(optimizer="adam", loss="mse")
    return model
"""
ONLY = ("--only", "optimizer", "--only", "recompute", "--device", "cpu", "--threads", "2", "--orders", "2")


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    return "model.py:build"


@pytest.mark.tf
def test_text_json_files_and_budgets(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    files = [name for ending in "txt md csv json tex".split() for name in ("-o", f"a.{ending}")]
    assert main(["advise", target, "--batch", "256", *ONLY, "--budget", "64MiB", "--json", *files]) == 0
    shown, told = capfd.readouterr()
    data = json.loads(shown)
    assert data == json.loads(Path("a.json").read_text())
    assert told.count("Wrote a.") == 5
    assert data["schema"] == 1
    assert data["budget_bytes"] == 64 << 20
    assert data["fits"] is True
    saved = [one["saved_bytes"] for one in data["changes"]]
    assert saved == sorted(saved, reverse=True)
    assert all(data["peak_bytes"] - one["peak_bytes"] == one["saved_bytes"] for one in data["changes"])
    assert {one["kind"] for one in data["changes"]} == {"optimizer", "recompute"}
    assert main(["advise", target, "--batch", "256", *ONLY, "--budget", "64KiB", "--width", "70"]) == 1
    text = capfd.readouterr().out
    assert "budget 64.0 KiB: the step does not fit; with none of the changes" in " ".join(text.split())
    assert "model.optimizer = keras.optimizers.SGD(learning_rate=0.01)" in text


@pytest.mark.parametrize(
    ("argv", "code", "says"),
    [
        (("missing.py",), 2, "missing.py"),
        (("step.graphmem",), 2, "name the target that it was traced from"),
        (("model.py:build", "--budget", "6Gi"), 2, "is not a size"),
        (("model.py:build", "--budget", "6GiB", "--memory", "6GiB"), 2, "say the same thing"),
        (("model.py:build", "--budget", "1GiB", "--reserve", "2GiB"), 2, "nothing is left"),
        (("model.py:build", "--only", "magic"), 2, "magic"),
        (("model.py:build", "-o", "a.svg"), 2, ".txt, .md, .csv, .json, .tex"),
        (("model.py:build", "-o", "model.py.md", "-o", "model.py.md"), 2, "named twice"),
        (("model.py:build", "more"), 2, "there is one TARGET"),
    ],
)
def test_bad_input(target: str, argv: tuple[str, ...], code: int, says: str, capfd: pytest.CaptureFixture[str]) -> None:
    save_trace(graphs.two_weights(), "step.graphmem")
    assert main(["advise", *argv]) == code
    shown, told = capfd.readouterr()
    assert shown == ""
    assert says in told
    assert "Traceback" not in told


def test_help_has_examples(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--help"]) == 0
    assert "graphmem advise train.py --budget 6GiB" in capfd.readouterr().out
