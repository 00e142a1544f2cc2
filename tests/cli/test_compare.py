"""`graphmem compare` through the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from graphmem.cli.main import main
from graphmem.graph.store import save_trace
from tests import graphs
from tests.answers.test_compare_estimates import NESTED

pytestmark = pytest.mark.cli

MODEL = """
import keras
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32), keras.layers.Dense(4)])
model.compile(optimizer="adam", loss="mse")
"""


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A saved trace, which needs no TensorFlow."""
    monkeypatch.chdir(tmp_path)
    graph = graphs.two_weights()
    graph.info |= {"target": "net.py", "step": "train", "batch": 10, "models": NESTED.to_plain()}
    save_trace(graph, "step.graphmem")
    return "step.graphmem"


def test_text_json_and_files(trace: str, capfd: pytest.CaptureFixture[str]) -> None:
    files = [name for ending in "csv tex md json txt svg png pdf".split() for name in ("-o", f"a.{ending}")]
    assert main(["compare", trace, "--orders", "1", "--layers", *files]) == 0
    shown, told = capfd.readouterr()
    assert "simulated peak" in shown
    assert "plain/dense" in shown
    assert told.count("Wrote a.") == 8
    assert main(["compare", trace, "--orders", "1", "--json"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert data == json.loads(Path("a.json").read_text())
    assert len(data["estimates"]) == 9
    assert {"number", "name", "bytes", "ratio", "at_least", "prints", "says", "source"} == set(data["estimates"][0])


@pytest.mark.parametrize("width", ["80", "120"])
def test_lines_fit(trace: str, width: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", trace, "--width", width, "--layers"]) == 0
    assert max(map(len, capfd.readouterr().out.splitlines())) <= int(width)


def test_help_has_examples(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--help"]) == 0
    assert "graphmem compare app:VGG16 --batch 32" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["nope.py"], "There is no file 'nope.py'."),
        (["step.graphmem", "-o", "a.doc"], "the endings are .csv"),
        (["step.graphmem", "-o", "taken.csv"], "taken.csv exists"),
        (["step.graphmem", "--batch", "3"], "--batch cannot change"),
        (["step.graphmem", "--verify"], "holds nothing that can be run"),
        (["model.py", "--verify", "--device", "gpu"], "pass --device cpu"),
        (["model.py", "--verify", "--order", "graph"], "pass --order default"),
        (["model.py", "--verify", "--no-rewrite"], "leave out --no-rewrite"),
        (["model.py", "--verify", "--runtime", "xla"], "pass --runtime graph"),
        (["step.graphmem", "--runs", "0"], "is not a whole number"),
    ],
)
def test_bad_input_is_one_sentence(trace: str, argv: list[str], says: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("model.py").write_text(MODEL)
    Path("taken.csv").write_text("mine")
    before = sorted(Path().iterdir())
    assert main(["compare", *argv]) == 2
    shown, told = capfd.readouterr()
    assert (shown, told.count("\n")) == ("", 1)
    assert told.startswith("graphmem: ")
    assert says in told
    assert sorted(Path().iterdir()) == before
    assert Path("taken.csv").read_text() == "mine"


@pytest.mark.tf
def test_measured_beside_predicted(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    settled = ["--order", "deterministic"]  # by default a step so small has several peaks, and a run is one of them
    argv = ["compare", "model.py", "--batch", "8", "--verify", "--runs", "1", "--json", *settled]
    run = subprocess.run(
        [sys.executable, "-m", "graphmem", *argv], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    data = json.loads(run.stdout)
    assert data["measured_bytes"] == pytest.approx(data["peak_bytes"], rel=0.03)
    assert data["estimates"][8]["bytes"] == 16 * (16 * 32 + 32 + 32 * 4 + 4)
    assert data["estimates"][7]["bytes"] > 0
