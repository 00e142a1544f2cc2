"""`graphmem sweep` as a user meets it: killed in the middle it goes on; what is wrong is said before any work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphmem.graph.store import save_trace
from tests.test_first import first_step

OVER = ("--over", "order=graph,deterministic,breadth-first", "--over", "memory=512,4KiB,1MiB", "--device", "cpu")


def command(*argv: str) -> list[str]:
    return [sys.executable, "-m", "graphmem", "sweep", *argv]


def sweep(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*argv), cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_trace(first_step(), str(tmp_path / "step.graphmem"))
    return tmp_path


def finished(path: Path) -> int:
    return len(json.loads(path.read_text())["points"]) if path.exists() else 0


def processes_of(folder: Path) -> list[str]:
    """Processes whose working folder this is."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "cwd") == str(folder):
                found.append(entry.name)
        except OSError:
            continue
    return found


@pytest.mark.cli
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_sweep_that_is_killed_goes_on(folder: Path, number: signal.Signals, code: int) -> None:
    kept, words = folder / "kept.json", ("step.graphmem", *OVER, "--jobs", "1", "--resume", "kept.json")
    process = subprocess.Popen(command(*words), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while finished(kept) < 2:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    if code > 0:
        assert "what was finished is in kept.json: run the same command again to go on" in err
    until = time.monotonic() + 20
    while processes_of(folder):
        assert time.monotonic() < until, "a process is left"
        time.sleep(0.1)
    before = finished(kept)
    assert 2 <= before < 9
    again = sweep(folder, *words)
    assert again.returncode == 0
    assert f"{before} of 9 points are from kept.json" in again.stderr
    assert finished(kept) == 9
    if number == signal.SIGTERM:
        assert again.stdout == sweep(folder, "step.graphmem", *OVER, "--jobs", "2").stdout


@pytest.mark.cli
def test_files_and_exit_code_of_a_sweep_with_a_point_that_fails(folder: Path) -> None:
    outputs = [word for ending in ("svg", "csv", "md", "tex", "json") for word in ("-o", f"out.{ending}")]
    done = sweep(
        folder, "step.graphmem", "--over", "order=graph,deterministic", "--over", "runtime=graph,xla",
        "--budget", "1MiB", "--json", *outputs,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines() == [f"Wrote {word}" for word in outputs[1::2]]
    data = json.loads(done.stdout)
    assert (data["failed"], len(data["points"])) == (2, 4)
    nothing = sweep(folder, "step.graphmem", "--over", "batch=1,2", "-o", "none.svg", "-o", "none.csv")
    assert (nothing.returncode, " ".join(nothing.stdout.split()).count("is a saved trace, which --batch")) == (2, 2)
    assert nothing.stderr.splitlines() == ["none.svg is not drawn: no point has figures.", "Wrote none.csv"]
    assert not (folder / "none.svg").exists()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["train.py"], "there is nothing to sweep over"),
        (["train.py", "--over", "batch"], "is not NAME=VALUE,VALUE"),
        (["train.py", "--over", "batch=1,1"], "the value 1 twice"),
        (["train.py", "--over", "batch=1", "--over", "batch=2"], "names one thing twice"),
        (["train.py", "--over", "batch=1", "--plot", "heat"], "a heat map has two axes"),
        (["train.py", "--over", "batch=1", "-o", "x.xyz"], "which tells no format"),
        (["train.py", "--over", "batch=1", "--budget", "1GiB", "--memory", "1GiB"], "say the same thing"),
        (["train.py", "--over", "batch=1", "--resume", "other.json"], "holds no results of a sweep"),
        (["train.py:build(depth=?)", "--over", "batch=1"], "has a ? for 'depth'"),
        (["train.py", "--over", "batch=1", "--resume", "nowhere/x.json"], "cannot be written"),
        (["train.py", "--over", "batch=1", "--jobs", "0"], "'0' is not a whole number"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(
    argv: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from graphmem.cli.main import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("raise SystemExit('was run')")
    (tmp_path / "other.json").write_text("{}")
    assert main(["sweep", *argv]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert said in err
    assert err.startswith("graphmem: ")
    assert "Traceback" not in err


def test_help_has_examples(capfd: pytest.CaptureFixture[str]) -> None:
    from graphmem.cli.main import main

    assert main(["sweep", "--help"]) == 0
    assert "graphmem sweep train.py --over batch=8,16,32" in capfd.readouterr().out
