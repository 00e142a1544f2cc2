"""Verbs, exit codes and sentences: what goes wrong is told in one line on stderr, and nothing else is printed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphmem.errors import CheckFailed, InternalError, TargetError, UserCodeError
from tests.cli.conftest import Analysis, Outcome

Run = Callable[..., Outcome]


def raising(error: BaseException) -> Callable[[Any], None]:
    def action(progress: Callable[[str], None]) -> None:
        progress("tracing")
        raise error

    return action


def test_version(cli: Run) -> None:
    done = cli("--version")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("graphmem 0.")


@pytest.mark.parametrize("argv", [["--help"], ["-h"], ["peak", "--help"], ["peak", "-h"]])
def test_help_has_examples(cli: Run, argv: list[str]) -> None:
    done = cli(*argv)
    assert (done.code, done.err) == (0, "")
    assert "graphmem peak train.py" in done.out


def test_every_verb_takes_the_shared_options(cli: Run) -> None:
    for verb in ("peak", "ops"):
        assert "--debug" in cli(verb, "--help").out


def test_no_arguments_print_the_help_and_fail(cli: Run) -> None:
    done = cli()
    assert (done.code, done.out) == (2, "")
    assert "Usage: graphmem" in done.err


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["pek", "x.py"], "did you mean peak?"),
        (["model.py"], "graphmem peak model.py"),
        (["app:ResNet50"], "graphmem peak app:ResNet50"),
        (["frobnicate"], "the verbs are peak, "),
        (["peak", "x.py", "--bach", "3"], "--batch"),
        (["peak"], "TARGET"),
        (["peak", "x.py", "--batch", "0"], "0"),
        (["peak", "x.py", "--batch", "many"], "many"),
        (["peak", "x.py", "--device", "tpu"], "gpu"),
        (["peak", "x.py", "--order", "random"], "breadth-first"),
        (["peak", "x.py", "--step", "fit"], "predict"),
        (["peak", "x.py", "--set", "sequence"], "sequence=128"),
        (["peak", "x.py", "--set", "sequence=-1"], "NAME=VALUE"),
        (["peak", "x.py", "y.py"], "come after --"),
        (["peak", "x.py", "--runtime", "eager"], "'graph'"),
        (["peak", "x.py", "--allocator", "best"], "'exact'"),
        (["peak", "x.py", "--allocator", "async"], "only a GPU"),
        (["peak", "x.py", "--memory", "much"], "6GiB"),
    ],
)
def test_a_bad_command_is_exit_2_with_a_hint(cli: Run, analysis: Analysis, argv: list[str], hint: str) -> None:
    done = cli(*argv)
    assert (done.code, done.out) == (2, "")
    assert hint in done.err
    assert "Traceback" not in done.err
    assert analysis.calls == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CheckFailed("over budget."), 1),
        (TargetError("there is no file x.py."), 2),
        (UserCodeError("x.py raised."), 3),
    ],
)
def test_a_failure_is_its_sentence_and_its_code(cli: Run, analysis: Analysis, error: Exception, code: int) -> None:
    analysis.action = raising(error)
    done = cli("peak", "x.py")
    assert (done.code, done.out, done.err) == (code, "", f"graphmem: {error}\n")


def test_the_users_lines_come_before_the_sentence(cli: Run, analysis: Analysis) -> None:
    analysis.action = raising(
        UserCodeError("x.py raised ValueError: no.", excerpt='  x.py:3\n    raise ValueError("no")\n')
    )
    done = cli("peak", "x.py")
    expected = '  x.py:3\n    raise ValueError("no")\ngraphmem: x.py raised ValueError: no.\n'
    assert (done.code, done.err) == (3, expected)


@pytest.mark.parametrize("error", [InternalError("slot 3 is born twice"), KeyError("slot 3")])
def test_an_internal_error_is_exit_4_and_asks_for_a_report(cli: Run, analysis: Analysis, error: Exception) -> None:
    analysis.action = raising(error)
    done = cli("peak", "x.py")
    assert (done.code, done.out, done.err.count("\n")) == (4, "", 1)
    assert "slot 3" in done.err
    assert "please report it, with what --debug prints." in done.err


def test_debug_shows_the_traceback(cli: Run, analysis: Analysis) -> None:
    analysis.action = raising(KeyError("slot 3"))
    done = cli("peak", "x.py", "--debug")
    assert done.code == 4
    assert "Traceback (most recent call last)" in done.err
    assert "raise error" in done.err


@pytest.mark.parametrize("argv", [["-q", "peak", "x.py", "-o", "a.json"], ["peak", "x.py", "-q", "-o", "a.json"]])
def test_shared_options_before_and_after_the_verb(cli: Run, argv: list[str]) -> None:
    done = cli(*argv)
    assert (done.code, done.err) == (0, "")


def test_ctrl_c_is_130_with_a_sentence(cli: Run, analysis: Analysis, tmp_path: Path) -> None:
    analysis.action = raising(KeyboardInterrupt())
    done = cli("peak", "x.py", "-o", "peak.json")
    assert (done.code, done.out) == (130, "")
    assert done.err == "\ngraphmem: stopped while tracing; nothing was written.\n"
    assert list(tmp_path.iterdir()) == []


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom graphmem.cli.main import main\nmain(['peak', '--help'])\n"
        "heavy = {'tensorflow', 'keras', 'networkx', 'numpy', 'matplotlib', 'rich'} & set(sys.modules)\n"
        "sys.exit(f'imported {sorted(heavy)}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_python_m_graphmem() -> None:
    done = subprocess.run([sys.executable, "-m", "graphmem", "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("graphmem ")
