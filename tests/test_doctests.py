"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NEED_TENSORFLOW = ("graphmem.target.", "graphmem.trace.")


def with_examples() -> list[str]:
    """The modules of the package that have examples, found without importing them."""
    paths = sorted((ROOT / "graphmem").rglob("*.py"))
    found = [path for path in paths if ">>> " in path.read_text(encoding="utf-8")]
    return [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in found]


def run(test: doctest.DocTest) -> str:
    """What went wrong, "" if nothing did."""
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    return "".join(said)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.tf] if name.startswith(NEED_TENSORFLOW) else [])
        for name in with_examples()
    ],
)
def test_examples_are_true(name: str) -> None:
    module = importlib.import_module(name)
    tests = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert tests
    assert [said for said in map(run, tests) if said] == []


def test_there_are_examples() -> None:
    assert len(with_examples()) > 8


def test_a_wrong_example_would_be_found() -> None:
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, None)
    assert "Expected:" in run(wrong)
