"""The pytest plugin: tests that fail when a step needs too much memory.

`@pytest.mark.peak_memory("8 GiB", batch=32)` analyses the model (or step, or target) that the test returns; the fixture
`peak_memory` analyses any within a test. Nothing is imported before a test asks for it, TensorFlow least of all.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from graphmem.answers.check import Check
    from graphmem.report.report import Report

MARKER = "peak_memory"

_OF_CHECK = ("baseline", "tolerance", "strict")
"""Keywords of the marker that are not options of the analysis."""

_analyses = pytest.StashKey["PeakMemory"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The limit of tests that do not say one."""
    parser.addini("peak_memory_limit", "Limit of tests marked peak_memory that name none, such as 8GiB.", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest of the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(limit, *, baseline=None, tolerance='2%', strict=False, **options): fail if the step of the model "
        "that the test returns, or analyses with the fixture, needs more memory than the limit; options are "
        "those of graphmem.analyze.",
    )


class PeakMemory:
    """The fixture `peak_memory`: call it to analyse a model; ask `assert_below` whether it needs too much.

    Attributes:
        reports: of all analyses of this test, in order.
    """

    def __init__(self, item: pytest.Item) -> None:
        self.reports: list[Report] = []
        self._item = item
        marker = item.get_closest_marker(MARKER)
        self._options = {} if marker is None else _split(marker.kwargs)[1]

    def __call__(self, target: Any, *specs: Any, **options: Any) -> Report:
        """Analyse a model, step or target: see `graphmem.analyze`. Options of the test's marker are the defaults."""
        import graphmem

        report = graphmem.analyze(target, *specs, **{**self._options, **options})
        self.reports.append(report)
        self._item.user_properties.append(("peak_memory_bytes", report.needed_bytes))
        return report

    def assert_below(self, limit: int | str | None = None, **check: Any) -> None:
        """Fail the test if the step analysed last needs more than this; the message has its layers.

        Args:
            limit: bytes, or a text such as "8 GiB"; `None`: the limit of the configuration.
            check: `baseline`, `tolerance`, `strict` of `graphmem.check`.
        """
        if not self.reports:
            pytest.fail("peak_memory.assert_below() comes after an analysis: peak_memory(model, batch=32).", False)
        _require(self._item, self.reports[-1], limit, check)


@pytest.fixture
def peak_memory(request: pytest.FixtureRequest) -> PeakMemory:
    """Analyses the memory of a step: `peak_memory(model, batch=32)`, then `peak_memory.assert_below("8 GiB")`."""
    return request.node.stash.setdefault(_analyses, PeakMemory(request.node))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a marked test and check what it returns, or what it analysed."""
    marker = pyfuncitem.get_closest_marker(MARKER)
    if marker is None or inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    if len(marker.args) > 1:
        pytest.fail(f"@pytest.mark.{MARKER} takes one limit, not {len(marker.args)}: peak_memory('8 GiB').", False)
    names = pyfuncitem._fixtureinfo.argnames
    returned = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    analyses = pyfuncitem.stash.setdefault(_analyses, PeakMemory(pyfuncitem))
    if returned is not None:
        with _in_a_sentence():
            _analyse(analyses, returned)
    if not analyses.reports:
        pytest.fail(
            f"{pyfuncitem.name} is marked {MARKER}, but returned no model and analysed none with the fixture.",
            False,
        )
    check = _split(marker.kwargs)[0]
    for report in analyses.reports:
        _require(pyfuncitem, report, marker.args[0] if marker.args else None, check)
    return True


def _analyse(analyses: PeakMemory, returned: Any) -> None:
    """Analyse what a test returned, unless it is a report already."""
    from graphmem.report.report import Report

    if isinstance(returned, Report):
        if not any(returned is report for report in analyses.reports):
            analyses.reports.append(returned)
        return
    analyses(returned)


def _require(item: pytest.Item, report: Report, limit: int | str | None, check: dict[str, Any]) -> None:
    """Fail the test if the report does not pass."""
    limit = limit if limit is not None else item.config.getini("peak_memory_limit") or None
    if limit is None and check.get("baseline") is None:
        pytest.fail("there is no limit: peak_memory('8 GiB'), or peak_memory_limit in pytest's configuration.", False)
    import graphmem

    with _in_a_sentence():
        verdict: Check = graphmem.check(report, budget=limit, name=report.target, **_beside(item, check))
    if not verdict.passed:
        pytest.fail(str(verdict), pytrace=False)


@contextlib.contextmanager
def _in_a_sentence() -> Iterator[None]:
    """An error that says what is wrong is shown without the way to it."""
    from graphmem.errors import GraphmemError, InternalError

    try:
        yield
    except InternalError:
        raise
    except GraphmemError as error:
        said = f"{getattr(error, 'excerpt', '')}\n{error}".strip()
        raise pytest.fail.Exception(said, pytrace=False) from None


def _beside(item: pytest.Item, check: dict[str, Any]) -> dict[str, Any]:
    """A baseline's file is looked for from the project's root, wherever pytest was started."""
    baseline = check.get("baseline")
    return {**check, "baseline": item.config.rootpath / baseline} if isinstance(baseline, str) else check


def _split(keywords: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The keywords of the marker: those of the check, and those of the analysis."""
    check = {name: value for name, value in keywords.items() if name in _OF_CHECK}
    return check, {name: value for name, value in keywords.items() if name not in _OF_CHECK}
