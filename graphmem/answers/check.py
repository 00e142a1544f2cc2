"""Whether a step stays within a budget, and within what it needed before: the figure that is judged, and the reasons.

The JSON of a check is `Check.to_dict()`, documented in `docs/check.md`: keys are added between versions, never renamed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from graphmem.answers.budgets import Tolerance, read_tolerance
from graphmem.answers.diff import Diff, diff_reports
from graphmem.answers.diff_tables import in_words
from graphmem.errors import CheckFailed, TargetError
from graphmem.report.report import Report
from graphmem.units import as_bytes, format_bytes

DEFAULT_TOLERANCE = "2%"


@dataclass(frozen=True)
class Figure:
    """What is judged of a report.

    Attributes:
        kind: "needed": the exact sum; else the allocator whose count it is, such as "bfc".
        bytes: how much.
        at_least: whether something unknown, or a request that failed, makes it a lower bound.
    """

    kind: str
    bytes: int
    at_least: bool

    @property
    def says(self) -> str:
        """What the figure is, for people."""
        return "needed" if self.kind == "needed" else f"in use, as {self.kind} counts"


@dataclass(frozen=True)
class Check:
    """A verdict, and what it rests on.

    Attributes:
        name: what the user calls it; the target if nothing else.
        report: of the step that was checked.
        figure: what was judged.
        budget: bytes that the figure may not exceed; `None` if there is no budget.
        baseline: the figure before; `None` if there is no baseline.
        tolerance: how much more than the baseline is allowed.
        reasons: why it fails, a sentence each; empty if it passes.
        remarks: what makes a pass less than certain, and what else is worth to know, a sentence each.
        diff: what changed since the baseline; `None` without one.
    """

    name: str
    report: Report
    figure: Figure
    budget: int | None
    baseline: Figure | None
    tolerance: Tolerance
    reasons: list[str]
    remarks: list[str]
    diff: Diff | None

    @property
    def passed(self) -> bool:
        """Whether there is nothing against it."""
        return not self.reasons

    def require(self) -> None:
        """Do nothing if it passed.

        Raises:
            CheckFailed: it did not; the message has the reasons and the layers.
        """
        if not self.passed:
            raise CheckFailed(str(self))

    def to_dict(self) -> dict[str, Any]:
        """The check as JSON-ready data (see `docs/check.md`)."""
        report, baseline = self.report, self.baseline
        return {
            "name": self.name, "passed": self.passed, "target": report.target, "step": report.step,
            "batch": report.batch, "runtime": report.runtime, "device": report.device, "figure": self.figure.kind,
            "bytes": self.figure.bytes, "at_least": self.figure.at_least, "budget_bytes": self.budget,
            "baseline_bytes": baseline.bytes if baseline else None,
            "allowed_bytes": self.tolerance.allowed(baseline.bytes) if baseline else None,
            "reasons": list(self.reasons), "remarks": list(self.remarks),
            "layers": self.diff.to_dict()["by_scope"] if self.diff else [],
            "settings": self.diff.to_dict()["settings"] if self.diff else [],
        }  # fmt: skip

    def __str__(self) -> str:
        from graphmem.answers.check_text import as_text

        return as_text(self)


def figure_of(report: Report, kind: str | None = None) -> Figure | None:
    """What is judged of a report: the allocator's count where one was simulated, else the exact sum.

    A step that the allocator cannot serve has at least what it held then and what it asked for.

    Args:
        kind: the figure to take instead; `None` comes back where the report does not have it.
    """
    allocator, charged = report.allocator, report.allocator.get("peak_in_use_bytes")
    name = "needed" if charged is None or allocator["name"] == "exact" else str(allocator["name"])
    if (kind or name) == "needed":
        return Figure("needed", report.needed_bytes, report.at_least)
    if charged is None or (kind or name) != name:
        return None
    fails = allocator.get("fails")
    if fails:
        held = allocator["limit_bytes"] - fails["free_bytes"]
        return Figure(name, max(charged, held + fails["requested_bytes"]), True)
    return Figure(name, charged, report.at_least)


def judge(
    report: Report,
    *,
    name: str = "",
    budget: int | None = None,
    baseline: Report | None = None,
    tolerance: Tolerance | None = None,
    strict: bool = False,
) -> Check:
    """The verdict on a report.

    Args:
        report: of the step to check.
        name: what to call the check; "": the target.
        budget: bytes that the figure may not exceed.
        baseline: the report of an earlier step, which the figure may exceed by `tolerance` only.
        tolerance: the default if `None`.
        strict: whether what is unknown, and the highest of the legal orders, count against it.

    Raises:
        TargetError: the baseline lacks the figure.
    """
    figure = figure_of(report)
    assert figure is not None
    tolerance = tolerance or read_tolerance(DEFAULT_TOLERANCE)
    before = figure_of(baseline, figure.kind) if baseline else None
    if baseline and before is None:
        raise TargetError(
            f"the baseline of {name or report.target} does not say how much is {figure.says}; write it with --update."
        )
    allowed = tolerance.allowed(before.bytes) if before else None
    reasons = [*_allocator_fails(report), *_over_budget(figure, budget), *_grown(figure, before, tolerance)]
    doubts = [] if reasons else _doubts(report, figure, [limit for limit in (budget, allowed) if limit is not None])
    remarks = [] if strict else doubts
    if before and figure.bytes < before.bytes - (tolerance.allowed(before.bytes) - before.bytes) and not reasons:
        less = in_words(figure.bytes - before.bytes, before.bytes)
        remarks = [*remarks, f"it needs {less} than the baseline: hold on to that with --update."]
    return Check(
        name=name or report.target,
        report=report,
        figure=figure,
        budget=budget,
        baseline=before,
        tolerance=tolerance,
        reasons=reasons + (doubts if strict else []),
        remarks=remarks,
        diff=diff_reports(baseline, report) if baseline else None,
    )


def _allocator_fails(report: Report) -> list[str]:
    fails = report.allocator.get("fails")
    if not fails:
        return []
    where = f" by {fails['op_type']}" + (f" in {fails['scope']}" if fails["scope"] else "") if fails["op_type"] else ""
    return [
        f"{report.allocator['name']} cannot serve a request of {format_bytes(fails['requested_bytes'])}{where} within "
        f"{format_bytes(report.allocator['limit_bytes'])}: its largest free piece is "
        f"{format_bytes(fails['largest_free_bytes'])}, when it comes to {fails['when']}."
    ]


def _over_budget(figure: Figure, budget: int | None) -> list[str]:
    if budget is None or figure.bytes <= budget:
        return []
    return [f"{format_bytes(figure.bytes - budget)} over the budget of {format_bytes(budget)}."]


def _grown(figure: Figure, before: Figure | None, tolerance: Tolerance) -> list[str]:
    if before is None or figure.bytes <= tolerance.allowed(before.bytes):
        return []
    more = in_words(figure.bytes - before.bytes, before.bytes)
    return [f"{more} than the baseline of {format_bytes(before.bytes)}; {tolerance} more is allowed."]


def _doubts(report: Report, figure: Figure, limits: list[int]) -> list[str]:
    """Why a pass is less than certain."""
    if not limits:
        return []
    found = []
    if figure.at_least:
        names = [*sorted(report.unknown_ops), *report.unknown_sizes] or ["see the report"]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        found.append(f"the figure is a lower bound, as something is unknown ({', '.join(names[:3])}{more}).")
    highest = _highest(report, figure)
    if highest > min(limits):
        found.append(
            f"in the worst of {report.orders} legal orders it is {format_bytes(highest)}, "
            f"over the {format_bytes(min(limits))} that are allowed."
        )
    return found


def _highest(report: Report, figure: Figure) -> int:
    """The figure in the worst of the orders tried."""
    if figure.kind == "needed":
        return report.needed_range_bytes[1]
    spread = report.allocator.get("peak_in_use_range_bytes")
    return spread[1] if spread else figure.bytes


def check(
    target: Any,
    *specs: Any,
    budget: int | str | None = None,
    baseline: Report | str | os.PathLike[str] | None = None,
    tolerance: float | str = DEFAULT_TOLERANCE,
    strict: bool = False,
    name: str = "",
    **how: Any,
) -> Check:
    """Check a step against a budget and a baseline.

    Args:
        target: a `Report`, or what `graphmem.analyze` takes.
        specs: as `graphmem.analyze` takes them.
        budget: bytes, or a text such as "6GiB".
        baseline: an earlier report, or the file of one.
        tolerance: how much more than the baseline is allowed: "2%", 0.02, or a size such as "100MiB".
        strict: whether what is unknown, and the worst of the legal orders, count against it.
        name: what to call the check.
        how: options of `graphmem.analyze`.

    Returns:
        A `Check`: `passed` tells the verdict; `require()` raises if it failed.

    Raises:
        TargetError: there is nothing to check against, or as `graphmem.analyze`.
    """
    from graphmem.api import analyze, load

    if budget is None and baseline is None:
        raise TargetError('there is nothing to check against: give budget="6GiB" or baseline="peak.json".')
    before = baseline if baseline is None or isinstance(baseline, Report) else load(baseline)
    return judge(
        target if isinstance(target, Report) else analyze(target, *specs, **how),
        name=name,
        budget=None if budget is None else as_bytes(budget),
        baseline=before,
        tolerance=read_tolerance(tolerance),
        strict=strict,
    )
