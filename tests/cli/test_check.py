"""`graphmem check` through the command line: a project with budgets passes, fails on a grown model, names the layer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from graphmem.cli.main import main
from graphmem.graph.store import save_trace
from tests.cli.conftest import Outcome
from tests.graphs import two_weights

Run = Callable[..., Outcome]

PROJECT = """
[tool.graphmem]
threads = 2
orders = 1
device = "cpu"

[[tool.graphmem.check]]
name = "train"
target = "model.py"
batch = 4
budget = "100kB"
baseline = "peaks/train.json"

[[tool.graphmem.check]]
target = "step.graphmem"
budget = "1MiB"
"""
MODEL = """
import keras
layers = [keras.layers.Dense(WIDTH, name="wide"), keras.layers.Dense(2, name="head")]
model = keras.Sequential([keras.Input((64,)), *layers])
model.compile("sgd", loss="mse")
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    save_trace(two_weights(), "step.graphmem")

    def cli(*argv: str) -> Outcome:
        capfd.readouterr()
        code = main(["check", *argv])
        return Outcome(code, *capfd.readouterr())

    return cli


@pytest.fixture
def needed(run: Run) -> int:
    """What the saved step needs (bytes)."""
    return int(run("step.graphmem", "--budget", "1GiB", "--json").data["checks"][0]["bytes"])


def project(folder: Path, width: int = 8, text: str = PROJECT) -> None:
    (folder / "pyproject.toml").write_text(text)
    (folder / "model.py").write_text(MODEL.replace("WIDTH", str(width)))
    (folder / "peaks").mkdir(exist_ok=True)


def test_a_budget(run: Run, needed: int) -> None:
    done = run("step.graphmem", "--budget", str(needed))
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("pass  step.graphmem: ")
    done = run("step.graphmem", "--budget", f"{needed - 1}B")
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("FAIL  step.graphmem: ")
    assert "1 B over the budget of" in done.out


def test_a_baseline(run: Run, tmp_path: Path) -> None:
    missing = run("step.graphmem", "--baseline", "peak.json")
    assert (missing.code, missing.out) == (2, "")
    assert missing.err == "graphmem: there is no baseline peak.json yet; make it with --update.\n"
    made = run("step.graphmem", "--baseline", "peak.json", "--update")
    assert (made.code, made.err) == (0, "Wrote peak.json\n")
    assert run("step.graphmem", "--baseline", "peak.json", "--tolerance", "0").code == 0
    data = json.loads((tmp_path / "peak.json").read_text())
    data["needed_bytes"] -= 1
    data["step_peak_bytes"] -= 100
    (tmp_path / "peak.json").write_text(json.dumps(data))
    done = run("step.graphmem", "--baseline", "peak.json", "--tolerance", "99B", "--json")
    assert done.code == 1
    assert done.data["checks"][0]["baseline_bytes"] == done.data["checks"][0]["bytes"] - 100
    assert run("step.graphmem", "--baseline", "peak.json", "--tolerance", "100B").code == 0
    assert run("step.graphmem", "--baseline", "peak.json", "--tolerance", "50%").code == 0


def test_the_baselines_threads_are_taken_unless_said(run: Run, tmp_path: Path) -> None:
    run("step.graphmem", "--baseline", "peak.json", "--update", "--threads", "3")

    def settings(*argv: str) -> list[dict[str, str]]:
        return run("step.graphmem", "--baseline", "peak.json", "--json", *argv).data["checks"][0]["settings"]

    assert settings() == []
    assert settings("--threads", "5") == [{"name": "threads", "before": "3", "after": "5"}]
    (tmp_path / "pyproject.toml").write_text("[tool.graphmem]\nthreads = 7\n")
    assert settings() == [{"name": "threads", "before": "3", "after": "7"}]


def test_the_allocators_figure(run: Run, needed: int) -> None:
    done = run("step.graphmem", "--allocator", "bfc", "--budget", "1MiB", "--json")
    check = done.data["checks"][0]
    assert (done.code, check["figure"]) == (0, "bfc")
    assert check["bytes"] >= needed
    assert check["bytes"] % 256 == 0
    done = run("step.graphmem", "--allocator", "bfc", "--budget", str(needed), "--json")
    assert done.code == 1
    assert any(reason.startswith("bfc cannot serve a request of") for reason in done.data["checks"][0]["reasons"])
    assert run("step.graphmem", "--memory", "1MiB").code == 0
    assert run("step.graphmem", "--memory", "1kB").code == 1


def test_a_summary_for_github(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("before\n")
    assert run("step.graphmem", "--budget", "1B").code == 1
    text = (tmp_path / "summary.md").read_text()
    assert text.startswith("before\n### Peak memory\n")
    assert "| step.graphmem | ❌ fail |" in text
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "gone" / "summary.md"))
    done = run("step.graphmem", "--budget", "1GiB")
    assert done.code == 0
    assert "cannot be written: No such file or directory." in done.err


def test_formats(run: Run, needed: int) -> None:
    row = json.loads(run("step.graphmem", "--budget", "1GiB", "--format", "github-benchmark").out)[0]
    assert (row["name"], row["unit"], row["value"]) == ("step.graphmem", "bytes", needed)
    assert run("step.graphmem", "--budget", "1GiB", "--format", "markdown").out.startswith("### Peak memory\n")
    assert run("step.graphmem", "--budget", "1GiB", "--format", "json").data["passed"] is True


BAD = [
    ((), "there is nothing to check: name a TARGET, or write [[tool.graphmem.check]] tables."),
    (("step.graphmem",), "step.graphmem has nothing to be held against: give --budget 6GiB or --baseline peak.json."),
    (("gone.py", "--budget", "1GiB"), "There is no file 'gone.py'"),
    (("step.graphmem", "more", "--budget", "1GiB"), "there is one TARGET at most"),
    (("step.graphmem", "--budget", "much"), "'much' is not a size"),
    (("step.graphmem", "--budget", "1GiB", "--tolerance", "2"), "'2' is no tolerance; write it like 2% or 100MiB."),
    (("step.graphmem", "--budget", "1GiB", "--update"), "--update writes a baseline, and there is none"),
    (("step.graphmem", "--baseline", "peak.txt"), "peak.txt cannot be a baseline, which is a .json file"),
    (("step.graphmem", "--baseline", "gone/peak.json", "--update"), "gone/peak.json cannot be written"),
    (("step.graphmem", "--baseline", "bad.json"), "this JSON is not a graphmem report."),
    (("step.graphmem", "--budget", "1GiB", "--format", "xml"), "'xml' is not one of 'text', 'json', 'markdown'"),
    (("step.graphmem", "--budget", "1GiB", "--batch", "3"), "is a saved trace, which --batch cannot change"),
]  # fmt: skip


@pytest.mark.parametrize(("argv", "said"), BAD)
def test_bad_commands(run: Run, tmp_path: Path, argv: tuple[str, ...], said: str) -> None:
    (tmp_path / "bad.json").write_text("{}")
    before = sorted(tmp_path.iterdir())
    done = run(*argv)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("text", "argv", "said"),
    [
        ("[tool.graphmem]\ncheck = 3\n", (), "[tool.graphmem] check must be an array of tables, not 3."),
        ('[[tool.graphmem.check]]\ntarget = "a.py"\nbatsh = 2\n', (), "there is no key 'batsh'; it may have name, "),
        (PROJECT, ("--budget", "1GiB"), "--budget and --baseline are for one TARGET"),
    ],
)
def test_bad_projects(run: Run, tmp_path: Path, text: str, argv: tuple[str, ...], said: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    done = run(*argv)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_one_check_of_a_project_by_name_or_target(run: Run, tmp_path: Path) -> None:
    text = PROJECT.replace("model.py", "other.graphmem").replace("batch = 4\n", "").replace("100kB", "1B")
    (tmp_path / "pyproject.toml").write_text(text.replace('baseline = "peaks/train.json"', ""))
    save_trace(two_weights(), "other.graphmem")
    assert run("step.graphmem").code == 0
    assert run("train").code == run("other.graphmem").code == 1
    assert run("train", "--budget", "1MiB").code == 0
    done = run("train", "--json", "--order", "graph")
    assert [check["name"] for check in done.data["checks"]] == ["train"]


def test_an_error_of_one_leaves_the_others(run: Run, tmp_path: Path) -> None:
    text = PROJECT.replace("model.py", "gone.py").replace('baseline = "peaks/train.json"', "")
    (tmp_path / "pyproject.toml").write_text(text)
    done = run("--json")
    assert (done.code, done.err) == (2, "")
    first, second = done.data["checks"]
    assert first["error"].startswith("There is no file 'gone.py'")
    assert second["passed"] is True
    assert run().out.startswith("ERROR train: There is no file 'gone.py'")


def test_help(run: Run) -> None:
    text = run("--help").out
    for part in ("Usage: graphmem check [OPTIONS] [TARGET]", "Examples:", "--budget SIZE", "--strict", "--device"):
        assert part in text


@pytest.mark.tf
@pytest.mark.cli
def test_a_repository(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A baseline is made; the checks pass, from a folder below as well; a larger model fails; it is accepted."""
    project(tmp_path)
    made = run("--update")
    assert (made.code, made.err) == (0, "Wrote peaks/train.json\n")
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path / "docs")
    passed = run()
    assert (passed.code, passed.err) == (0, "")
    assert passed.out.splitlines()[-1] == "all 2 checks passed"
    assert Path.cwd() == tmp_path / "docs"

    project(tmp_path, width=512)
    failed = run()
    assert (failed.code, failed.err) == (1, "")
    lines = [" ".join(line.split()) for line in failed.out.splitlines()]
    assert lines[0].startswith("FAIL train (model.py): train step, batch 4: ")
    assert any("over the budget of 97.7 KiB" in line for line in lines)
    grown = [line for line in lines if line.startswith("sequential/wide ")]
    assert len(grown) == 1
    assert grown[0].split()[-2].startswith("+")
    assert lines[-1] == "1 of 2 checks failed"
    check = run("--json").data["checks"][0]
    assert check["layers"][0]["scope"] == "sequential/wide"
    wide = check["layers"][0]
    assert wide["variables_after_bytes"] - wide["variables_before_bytes"] == 4 * 65 * (512 - 8)

    accepted = run("train", "--update", "--budget", "1MiB")
    assert (accepted.code, accepted.err) == (0, "Wrote peaks/train.json\n")
    assert run("train", "--budget", "1MiB").code == 0


@pytest.mark.tf
@pytest.mark.cli
def test_code_that_raises(run: Run, tmp_path: Path) -> None:
    project(tmp_path, text=PROJECT.replace('baseline = "peaks/train.json"', ""))
    (tmp_path / "model.py").write_text("raise ValueError('no')\n")
    alone = run("model.py")
    assert (alone.code, alone.out) == (3, "")
    assert alone.err.splitlines()[-1] == "graphmem: model.py line 1 raised ValueError: no."
    both = run()
    assert both.code == 3
    assert "raise ValueError('no')" in both.err
    assert both.out.splitlines()[-1] == "1 of 2 checks could not be made"
