"""`graphmem peak` around the analysis: options in, answer and files out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphmem.render.text import as_text
from graphmem.settings import Settings
from graphmem.target.step import Options
from tests.cli.conftest import Analysis, Outcome
from tests.example_reports import with_timeline

Run = Callable[..., Outcome]


def noisy(progress: Callable[[str], None]) -> None:
    """Write where TensorFlow and scripts write: the descriptors and Python's streams."""
    progress("importing TensorFlow")
    os.write(1, b"native stdout\n")
    os.write(2, b"native stderr\n")
    print("python stdout")
    print("python stderr", file=sys.stderr)
    progress("tracing")


def test_the_answer_is_the_text_on_stdout(cli: Run) -> None:
    done = cli("peak", "x.py")
    assert (done.code, done.out, done.err) == (0, as_text(with_timeline(), width=80), "")


def test_width_and_top(cli: Run) -> None:
    assert cli("peak", "x.py", "--width", "120", "--top", "1").out == as_text(with_timeline(), width=120, top=1)


def test_json_is_all_of_stdout(cli: Run, analysis: Analysis) -> None:
    analysis.action = noisy
    done = cli("peak", "x.py", "--json", "-v")
    assert done.data == json.loads(with_timeline().to_json())
    assert "native stdout" in done.err


def test_allocator_and_memory_reach_the_analysis(cli: Run, analysis: Analysis) -> None:
    cli("peak", "x.py", "--memory", "6GiB")
    cli("peak", "x.py", "--memory", "1.5 GB", "--allocator", "exact")
    asked = [(settings.memory, settings.allocator, settings.replayed) for _, _, settings in analysis.calls]
    assert asked == [(6 << 30, None, "bfc"), (1_500_000_000, "exact", "exact")]


def test_everything_said_reaches_the_analysis(cli: Run, analysis: Analysis) -> None:
    cli(
        *("peak", "x.py", "--step", "test", "--batch", "4", "--input", "a:int32:3", "--input", "b:int32:4"),
        *("--set", "sequence=128", "--set", "x.1=7", "--loss", "mse", "--optimizer", "sgd", "--device", "gpu"),
        *("--order", "graph", "--orders", "3", "--threads", "2", "--no-rewrite", "--", "--epochs", "3", "-o", "--"),
    )
    options = Options(
        kind="test", batch=4, inputs=("a:int32:3", "b:int32:4"), dims={"sequence": 128, "x.1": 7}, loss="mse",
        optimizer="sgd", script_args=("--epochs", "3", "-o", "--"),
    )  # fmt: skip
    settings = Settings(device="gpu", order="graph", orders=3, threads=2, rewrite=False)
    assert analysis.calls == [("x.py", options, settings)]


def test_nothing_said_is_all_defaults(cli: Run, analysis: Analysis) -> None:
    cli("peak", "x.py")
    assert analysis.calls == [("x.py", Options(), Settings())]


def test_others_noise_is_held_back(cli: Run, analysis: Analysis) -> None:
    analysis.action = noisy
    done = cli("peak", "x.py")
    assert (done.out, done.err) == (as_text(with_timeline()), "")


@pytest.mark.parametrize("flag", ["-v", "--debug"])
def test_verbose_shows_phases_and_what_was_held_back(cli: Run, analysis: Analysis, flag: str) -> None:
    analysis.action = noisy
    done = cli("peak", "x.py", flag)
    assert done.out == as_text(with_timeline())
    phases = [line.split(":")[1].strip() for line in done.err.splitlines() if line.startswith("graphmem:")]
    assert phases == ["importing TensorFlow", "tracing"]
    for text in ("native stdout", "native stderr", "python stdout", "python stderr"):
        assert text in done.err


def test_noise_is_held_back_and_shown_when_the_analysis_fails(cli: Run, analysis: Analysis) -> None:
    def fails(progress: Any) -> None:
        noisy(progress)
        raise ValueError("no")

    analysis.action = fails
    assert cli("peak", "x.py").err.count("\n") == 1
    assert "native stderr" in cli("peak", "x.py", "-v").err


def test_streams_are_as_before_after_the_analysis(cli: Run, analysis: Analysis) -> None:
    before = sys.stdout, sys.stderr, os.fstat(1), os.fstat(2), len(os.listdir("/proc/self/fd"))
    analysis.action = noisy
    cli("peak", "x.py")
    after = sys.stdout, sys.stderr, os.fstat(1), os.fstat(2), len(os.listdir("/proc/self/fd"))
    assert after == before


def test_colour_follows_the_environment(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in cli("peak", "x.py").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1m" in cli("peak", "x.py").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in cli("peak", "x.py").out


def test_several_outputs(cli: Run, tmp_path: Path) -> None:
    done = cli("peak", "x.py", "-o", "peak.json", "-o", "peak.txt", "-o", "peak.html")
    assert (done.code, done.err) == (0, "Wrote peak.json\nWrote peak.txt\nWrote peak.html\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["peak.html", "peak.json", "peak.txt"]
    assert json.loads((tmp_path / "peak.json").read_text())["timeline"]["total"] == [0, 8388608, 16797700, 4]
    assert (tmp_path / "peak.txt").read_text() == as_text(with_timeline(), width=120)


@pytest.mark.parametrize(
    ("paths", "says"),
    [
        (["peak.tiff"], ".svg, .png, .pdf, .dot, .json, .txt, .html, .tex, .md, .csv"),
        (["peak"], "no ending"),
        (["there.json"], "exists"),
        (["folder.json"], "is a folder"),
        (["missing/peak.json"], "no folder missing"),
        (["there.json/peak.json"], "no folder there.json"),
        (["a.json", "./a.json"], "named twice"),
    ],
)
def test_outputs_are_checked_before_the_analysis(
    cli: Run, analysis: Analysis, tmp_path: Path, paths: list[str], says: str
) -> None:
    (tmp_path / "there.json").write_text("precious")
    (tmp_path / "folder.json").mkdir()
    done = cli("peak", "x.py", *(part for path in paths for part in ("-o", path)))
    assert (done.code, done.out, analysis.calls) == (2, "", [])
    assert says in done.err
    assert done.err.count("\n") == 1
    assert (tmp_path / "there.json").read_text() == "precious"


def test_force_replaces(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "there.json").write_text("old")
    done = cli("peak", "x.py", "-f", "-o", "there.json")
    assert (done.code, done.err) == (0, "Wrote there.json\n")
    assert json.loads((tmp_path / "there.json").read_text())["schema"] == 1


def test_a_failed_analysis_leaves_an_existing_output_alone(cli: Run, analysis: Analysis, tmp_path: Path) -> None:
    def fails(progress: Any) -> None:
        raise ValueError("no")

    analysis.action = fails
    (tmp_path / "there.json").write_text("old")
    assert cli("peak", "x.py", "--force", "-o", "there.json").code == 4
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("there.json", "old")]


def test_one_output_that_cannot_be_made_means_none_is_written(cli: Run, tmp_path: Path) -> None:
    done = cli("peak", "x.py", "-o", "peak.json", "-o", "step.graphmem")  # a report without its graph
    assert (done.code, done.out) == (2, "")
    assert "no graph to save" in done.err
    assert list(tmp_path.iterdir()) == []
