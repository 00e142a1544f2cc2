"""`graphmem diff` through the command line: what it compares, what it writes, what it refuses."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from graphmem.cli.main import main
from graphmem.graph.store import save_trace
from tests.answers.test_diff import grown, small
from tests.cli.conftest import Outcome
from tests.graphs import two_weights

Run = Callable[..., Outcome]

MODEL = """
import keras

def build(width=8, extra=False, optimizer="sgd"):
    layers = [keras.layers.Dense(width, activation="relu"), keras.layers.Dense(2)]
    if extra:
        layers.insert(1, keras.layers.Dense(24))
    model = keras.Sequential([keras.Input((64,)), *layers], name="net")
    model.compile(optimizer, loss="mse")
    return model
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """The command in a folder with two reports, a trace and a file with a factory; nothing is invented."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.graphmem]\norders = 1\nthreads = 2\ndevice = "cpu"\n')
    (tmp_path / "small.json").write_text(small().to_json())
    (tmp_path / "grown.json").write_text(grown().to_json())
    (tmp_path / "model.py").write_text(MODEL)
    save_trace(two_weights(), "step.graphmem")

    def cli(*argv: str) -> Outcome:
        capfd.readouterr()
        code = main(list(argv))
        return Outcome(code, *capfd.readouterr())

    return cli


def test_two_reports(run: Run) -> None:
    done = run("diff", "small.json", "grown.json")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1] == "peak 12.0 MiB → 17.0 MiB: 5.01 MiB more (+41.6 %)"
    assert max(map(len, done.out.splitlines())) <= 80


def test_json_goes_to_stdout(run: Run) -> None:
    done = run("diff", "small.json", "grown.json", "--json", "--top", "1")
    assert done.data["change_bytes"] == grown().needed_bytes - small().needed_bytes
    assert len(done.data["tensors"]) == 4


def test_a_trace_and_a_report(run: Run) -> None:
    done = run("diff", "step.graphmem", "small.json", "--json", "--order", "graph")
    assert (done.code, done.err) == (0, "")
    assert {"name": "order", "before": "graph", "after": "default"} in done.data["settings"]


def test_a_trace_and_itself(run: Run) -> None:
    data = run("diff", "step.graphmem", "step.graphmem", "--json").data
    assert data["change_bytes"] == 0
    assert {item["status"] for item in data["tensors"]} == {"same"}
    assert data["settings"] == []


def test_options_for_b_alone(run: Run) -> None:
    data = run("diff", "step.graphmem", "step.graphmem", "--json", "--for-b", "--order graph").data
    assert [(item["name"], item["before"], item["after"]) for item in data["settings"]] == [
        ("order", "default", "graph")
    ]


def test_files(run: Run, tmp_path: Path) -> None:
    names = ["d.txt", "d.md", "d.csv", "d.tex", "d.json"]
    done = run("diff", "small.json", "grown.json", *(word for name in names for word in ("-o", name)))
    assert done.err.splitlines() == [f"Wrote {name}" for name in names]
    rows = list(csv.DictReader((tmp_path / "d.csv").open()))
    assert {row["name"]: row["change_bytes"] for row in rows if row["kind"] == "memory"}["inputs"] == "64"
    assert json.loads((tmp_path / "d.json").read_text())["schema"] == 1
    assert "\\toprule" in (tmp_path / "d.tex").read_text()
    assert "| dense " in (tmp_path / "d.md").read_text()
    refused = run("diff", "small.json", "grown.json", "-o", "d.txt")
    assert (refused.code, refused.out) == (2, "")
    assert "d.txt exists" in refused.err
    assert run("diff", "small.json", "grown.json", "-o", "d.txt", "--force").code == 0


BAD = [
    (("small.json",), "missing argument 'B'."),
    (("small.json", "grown.json", "more.json"), "there is an A and a B, and the arguments of a script come after --."),
    (("small.json", "gone.json"), "gone.json cannot be read: No such file or directory."),
    (("gone.py", "small.json"), "There is no file 'gone.py'"),
    (("small.json", "pyproject.toml"), "pyproject.toml is no Python file, saved model"),
    (("small.json", "grown.json", "--batch", "3"), "A and B are saved reports, which --batch cannot change; name"),
    (("small.json", "grown.json", "--for-b", "--batch 3"), "saved reports, which --for-b cannot change"),
    (("small.json", "grown.json", "--", "--epochs"), "saved reports, which arguments of a script cannot change"),
    (("step.graphmem", "step.graphmem", "--for-b", "--batch"), "option '--batch' requires an argument"),
    (("step.graphmem", "step.graphmem", "--for-b", "--bach 3"), "no such option '--bach'"),
    (("step.graphmem", "step.graphmem", "--for-b", "'"), "cannot be read as options: no closing quotation."),
    (("step.graphmem", "step.graphmem", "--for-b", "x.py"), "there is an A and a B"),
    (("step.graphmem", "step.graphmem", "--for-b", "--top 3"), "give it nothing but options of the analysis."),
    (("step.graphmem", "step.graphmem", "--batch", "3"), "is a saved trace, which --batch cannot change"),
    (("small.json", "grown.json", "-o", "x.svg"), "the endings are .txt, .md, .csv, .tex, .json."),
    (("small.json", "grown.json", "--width", "10"), "'10' is not a whole number of 60 or more."),
]  # fmt: skip


@pytest.mark.parametrize(("argv", "said"), BAD)
def test_bad_commands(run: Run, tmp_path: Path, argv: tuple[str, ...], said: str) -> None:
    before = sorted(tmp_path.iterdir())
    done = run("diff", *argv)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("graphmem: ")
    assert sorted(tmp_path.iterdir()) == before


def test_help(run: Run) -> None:
    text = run("diff", "--help").out
    for part in ("Usage: graphmem diff [OPTIONS] A B", "A and B are each one of", "Examples:", "--for-b OPTIONS"):
        assert part in text


@pytest.mark.tf
@pytest.mark.cli
def test_models(run: Run) -> None:
    done = run("diff", "model.py:build()", "model.py:build(width=16, extra=True)", "--batch", "4", "--json")
    assert (done.code, done.err) == (0, "")
    layers = {layer["scope"]: layer for layer in done.data["by_scope"]}
    weights = {name: (x["variables_before_bytes"], x["variables_after_bytes"]) for name, x in layers.items()}
    assert weights["net/dense"] == (4 * 65 * 8, 4 * 65 * 16)
    assert layers["net/dense_1"]["before_scope"] is None or layers["net/dense_2"]["before_scope"] is None
    change = {item["name"]: item["change_bytes"] for item in done.data["memory"]}
    assert change["weights"] == 4 * (65 * 16 + 17 * 24 + 25 * 2 - 65 * 8 - 9 * 2)
    assert sum(x["step_after_bytes"] - x["step_before_bytes"] for x in layers.values()) == change["step peak"]


@pytest.mark.tf
@pytest.mark.cli
def test_one_model_under_two_settings(run: Run) -> None:
    done = run("diff", *["model.py:build()"] * 2, "--batch", "4", "--for-b", "--batch 8 --step predict", "--json")
    assert (done.code, done.err) == (0, "")
    assert (done.data["before"]["batch"], done.data["after"]["batch"]) == (4, 8)
    assert (done.data["before"]["step"], done.data["after"]["step"]) == ("train", "predict")


@pytest.mark.tf
@pytest.mark.cli
def test_two_versions_of_a_project_do_not_share_modules(run: Run, tmp_path: Path) -> None:
    for folder, width in (("old", 8), ("new", 80)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "sizes.py").write_text(f"WIDTH = {width}\n")
        (tmp_path / folder / "train.py").write_text(f"from sizes import WIDTH\n{MODEL}\nmodel = build(WIDTH)\n")
    done = run("diff", "old/train.py:model", "new/train.py:model", "--batch", "4", "--json")
    assert (done.code, done.err) == (0, "")
    change = {item["name"]: item["change_bytes"] for item in done.data["memory"]}
    assert change["weights"] == 4 * (65 * 72 + 72 * 2)


@pytest.mark.tf
@pytest.mark.cli
def test_users_code_that_raises(run: Run, tmp_path: Path) -> None:
    (tmp_path / "raises.py").write_text("raise ValueError('no')\n")
    done = run("diff", "small.json", "raises.py", "-o", "x.md")
    assert (done.code, done.out) == (3, "")
    assert done.err.splitlines()[-1] == "graphmem: raises.py line 1 raised ValueError: no."
    assert not (tmp_path / "x.md").exists()
