"""`cli("peak", "model.py", …)`: the command line in this process, on an analysis that the test invents."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from graphmem.cli.main import main
from tests.example_reports import with_timeline


@dataclass
class Analysis:
    """What stands in for the analysis: returns a report after doing what the test says; remembers how it was called."""

    action: Callable[[Any], None] = lambda progress: None
    calls: list[tuple[Any, ...]] = field(default_factory=list)

    def __call__(self, target: str, options: Any, settings: Any, progress: Callable[[str], None]) -> Any:
        self.calls.append((target, options, settings))
        self.action(progress)
        return with_timeline()


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def analysis(monkeypatch: pytest.MonkeyPatch) -> Analysis:
    fake = Analysis()
    module = ModuleType("graphmem.api")
    module.analyze_target = fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "graphmem.api", module)
    return fake


@pytest.fixture
def cli(
    analysis: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*argv: str) -> Outcome:
        capfd.readouterr()
        code = main(list(argv))
        return Outcome(code, *capfd.readouterr())

    return run
