"""The answer: what was tried, what each change makes of the peak, and what could not be tried."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphmem.answers.advise.changes import Change, Untried
from graphmem.answers.fit import in_use, passes

if TYPE_CHECKING:
    from graphmem.report.report import Report

SCHEMA = 1


@dataclass(frozen=True)
class Tried:
    """A change with the analysis of the step that it gives.

    Attributes:
        change: what was done.
        report: the analysis.
        saved_bytes: by how much the peak is lower; negative if it is higher.
    """

    change: Change
    report: Report
    saved_bytes: int

    @property
    def peak_bytes(self) -> int:
        """The new peak."""
        return self.report.needed_bytes

    @property
    def fits(self) -> bool | None:
        """Whether the step then fits into the budget; `None` without one."""
        return fits(self.report)


@dataclass(frozen=True)
class Advice:
    """What lowers the peak of a step.

    Attributes:
        report: of the step as it is.
        tried: every change that was analysed, the one that saves most first.
        untried: the others, each with the reason.
        notes: what else is to be known, one sentence each.
    """

    report: Report
    tried: tuple[Tried, ...]
    untried: tuple[Untried, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def helps(self) -> tuple[Tried, ...]:
        """Those that lower the peak."""
        return tuple(one for one in self.tried if one.saved_bytes > 0)

    @property
    def idle(self) -> tuple[Tried, ...]:
        """Those that do not."""
        return tuple(one for one in self.tried if one.saved_bytes <= 0)

    @property
    def budget_bytes(self) -> int | None:
        """What the allocator may take; `None` if nobody said."""
        limit = self.report.allocator.get("limit_bytes")
        return None if limit is None else int(limit)

    @property
    def fits(self) -> bool | None:
        """Whether the step fits as it is; `None` without a budget."""
        return fits(self.report)

    @property
    def exit_code(self) -> int:
        """1 if there is a budget, and neither the step nor any one change fits into it; else 0."""
        return int(self.fits is False and not any(one.fits for one in self.tried))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data, schema 1: see docs/advise.md."""
        report = self.report
        return {
            "schema": SCHEMA,
            "target": report.target,
            "step": report.step,
            "batch": report.batch,
            "device": report.device,
            "card": report.card,
            "runtime": report.runtime,
            "peak_bytes": report.needed_bytes,
            "at_least": report.at_least,
            "budget_bytes": self.budget_bytes,
            "in_use_bytes": None if self.budget_bytes is None else in_use(report),
            "fits": self.fits,
            "changes": [
                {
                    "kind": one.change.kind,
                    "name": one.change.name,
                    "peak_bytes": one.peak_bytes,
                    "saved_bytes": one.saved_bytes,
                    "at_least": one.report.at_least,
                    "fits": one.fits,
                    "batch": one.report.batch,
                    "runtime": one.report.runtime,
                    "costs": one.change.costs,
                    "snippet": one.change.snippet,
                }
                for one in self.tried
            ],
            "not_tried": [{"kind": one.kind, "name": one.name, "reason": one.reason} for one in self.untried],
            "notes": list(self.notes),
            "versions": dict(report.versions),
        }

    def render(self, path: str, *, force: bool = False) -> None:
        """Write it to a file whose ending decides the format: .txt .md .csv .json .tex.

        Raises:
            TargetError: unknown ending, existing file without `force`, unwritable place.
        """
        from graphmem.answers.advise.text import write_advice

        write_advice(self, [path], force=force)

    def __str__(self) -> str:
        from graphmem.answers.advise.text import as_text

        return as_text(self)


def fits(report: Report) -> bool | None:
    """Whether a step fits into its budget; `None` without one."""
    return None if report.allocator.get("limit_bytes") is None else passes(report)
