"""Checks as text, Markdown, JSON, and as the JSON of github-action-benchmark."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphmem.answers.check import Check
from graphmem.answers.diff_tables import setting_table
from graphmem.errors import GraphmemError
from graphmem.render import tables
from graphmem.render.rows import cut_at, plural
from graphmem.render.tables import AtLeast, Cell, Column, Table
from graphmem.render.words import short_target, step_words
from graphmem.report.report import Report
from graphmem.units import format_bytes

SCHEMA = 1

_BLANK = "\u00a0"
"""A blank at which no line is broken."""


@dataclass(frozen=True)
class Outcome:
    """A check that was made, or the error that it ended in."""

    name: str
    target: str
    check: Check | None
    error: GraphmemError | None = None

    @property
    def verdict(self) -> str:
        """"pass", "FAIL" or "ERROR"."""
        return "ERROR" if self.check is None else "pass" if self.check.passed else "FAIL"


def as_text(check: Check, width: int = 80, top: int = 5, color: bool = False) -> str:
    """One check for a terminal: the verdict, the reasons, and which layers it is."""
    return _text(Outcome(check.name, check.report.target, check), width, top, color).rstrip("\n")


def all_as_text(outcomes: Sequence[Outcome], width: int = 80, top: int = 5, color: bool = False) -> str:
    """All checks for a terminal; the last line sums them up."""
    parts = [_text(outcome, width, top, color) for outcome in outcomes]
    if len(outcomes) > 1:
        parts.append(f"{summary(outcomes)}\n")
    return "".join(parts)


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many checks came out how: `1 of 2 checks failed`."""
    of = f"of {plural(len(outcomes), 'check')}"
    counts = [(sum(o.verdict == word for o in outcomes), said) for word, said in
              (("FAIL", "failed"), ("ERROR", "could not be made"))]  # fmt: skip
    return ", ".join(f"{count} {of} {said}" for count, said in counts if count) or f"all {len(outcomes)} checks passed"


def all_as_markdown(outcomes: Sequence[Outcome], top: int = 5) -> str:
    """All checks as GitHub's Markdown: a table, then what is to say of those that did not just pass."""
    verdicts = {"pass": "✅ pass", "FAIL": "❌ fail", "ERROR": "⚠️ error"}
    rows = [(outcome.name, verdicts[outcome.verdict], *_row(outcome)) for outcome in outcomes]
    columns = (
        Column("check"), Column("result"), Column("peak_bytes", "bytes"), Column("budget_bytes", "bytes"),
        Column("baseline_bytes", "bytes"), Column("change_bytes", "change"),
    )  # fmt: skip
    parts = ["### Peak memory\n", tables.as_markdown(Table(columns, tuple(rows)))]
    for outcome in outcomes:
        lines = _lines(outcome) if outcome.error is None else [str(outcome.error)]
        if lines:
            parts.append(f"#### {tables.in_markdown(outcome.name)}\n")
            parts.append("".join(f"* {tables.in_markdown(line)}\n" for line in lines))
            parts += [f"{table.title}:\n\n{tables.as_markdown(_untitled(table))}" for table in _tables(outcome, top)]
    return "\n".join(parts)


def all_as_json(outcomes: Sequence[Outcome]) -> str:
    """All checks as JSON, schema 1 (see `docs/check.md`)."""
    checks = [
        {**outcome.check.to_dict(), "error": None}
        if outcome.check
        else {"name": outcome.name, "passed": False, "target": outcome.target, "error": str(outcome.error)}
        for outcome in outcomes
    ]
    data = {"schema": SCHEMA, "passed": all(outcome.verdict == "pass" for outcome in outcomes), "checks": checks}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def all_as_benchmark(outcomes: Sequence[Outcome]) -> str:
    """The figures as the `customSmallerIsBetter` JSON of github-action-benchmark; checks in error have none."""
    rows = []
    for outcome in outcomes:
        if outcome.check is not None:
            figure, report = outcome.check.figure, outcome.check.report
            spread = report.needed_range_bytes[1] - report.needed_range_bytes[0]
            rows.append({
                "name": outcome.name, "unit": "bytes", "value": figure.bytes,
                **({"range": str(spread)} if spread and figure.kind == "needed" else {}),
                "extra": f"{'at least ' if figure.at_least else ''}{format_bytes(figure.bytes)} {figure.says}\n"
                f"{step_words(report.step, report.batch)}, {report.runtime} on {report.device}",
            })  # fmt: skip
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def held_by(report: Report, top: int) -> Table:
    """The layers that hold most: of the step peak, and with their variables."""
    step = {row.scope: row.own for row in report.by_scope if row.own}
    kept = {scope: sum(roles.values()) for scope, roles in report.variables_by_scope.items()}
    sizes = {scope: (step.get(scope, 0), kept.get(scope, 0)) for scope in dict.fromkeys([*step, *kept])}
    ranked = sorted(sizes.items(), key=lambda item: (-sum(item[1]), item[0]))
    cut = cut_at([sum(pair) for _, pair in ranked], top)
    rows: list[tuple[Cell, ...]] = [(scope or "(no layer)", sum(pair), *pair) for scope, pair in ranked[:cut]]
    if ranked[cut:]:
        rest = [sum(pair[index] for _, pair in ranked[cut:]) for index in (0, 1)]
        rows.append((f"… {plural(len(ranked) - cut, 'other')}", sum(rest), *rest))
    columns = (Column("layer"), Column("bytes", "bytes"), Column("step_peak_bytes", "bytes", "of it step peak"),
               Column("variables_bytes", "bytes", "variables"))  # fmt: skip
    return Table(columns, tuple(rows), "What it is")


def grown(check: Check, top: int) -> Table:
    """What grew since the baseline: layers, and memory that belongs to none; largest first."""
    assert check.diff is not None
    found = [(layer.scope or "(no layer)", layer.before, layer.after) for layer in check.diff.layers]
    lines = ("inputs", "outputs", "constants")
    found += [(f"({item.name})", item.before, item.after) for item in check.diff.memory if item.name in lines]
    ranked = sorted((row for row in found if row[2] > row[1]), key=lambda row: (row[1] - row[2], row[0]))
    cut = cut_at([after - before for _, before, after in ranked], top)
    rows: list[tuple[Cell, ...]] = [(name, before, after, after - before) for name, before, after in ranked[:cut]]
    if ranked[cut:]:
        before, after = sum(row[1] for row in ranked[cut:]), sum(row[2] for row in ranked[cut:])
        rows.append((f"… {plural(len(ranked) - cut, 'other')}", before, after, after - before))
    columns = (Column("layer"), Column("before_bytes", "bytes"), Column("after_bytes", "bytes"),
               Column("change_bytes", "change"))  # fmt: skip
    return Table(columns, tuple(rows), "What grew since the baseline")


def _text(outcome: Outcome, width: int, top: int, color: bool) -> str:
    verdict = outcome.verdict.ljust(5)
    style = {"pass": "32", "FAIL": "31", "ERROR": "31"}[outcome.verdict]
    mark = f"\x1b[1;{style}m{verdict}\x1b[0m" if color else verdict
    lines = [line.replace(_BLANK, " ") for line in textwrap.wrap(_headline(outcome), width - 6)]
    parts = [f"{mark} {lines[0]}\n", *(f"      {line}\n" for line in lines[1:])]
    for line in _lines(outcome):
        parts.append(textwrap.fill(line, width, initial_indent=" " * 6, subsequent_indent=" " * 8) + "\n")
    for table in _tables(outcome, top):
        parts.append(textwrap.indent(tables.as_text(table, width - 6, color), " " * 6))
    return "".join(parts)


def _headline(outcome: Outcome) -> str:
    """The check and its figure: `train.py: train step, batch 32: 1.20 GiB needed, of 6.00 GiB allowed`."""
    check = outcome.check
    if check is None:
        return f"{outcome.name}: {outcome.error}"
    report, figure = check.report, check.figure
    target = short_target(outcome.target)
    named = "" if not target or outcome.name in (outcome.target, target) else f" ({target})"
    size = f"{'at least ' if figure.at_least else ''}{_size(figure.bytes)} {figure.says}"
    limits = []
    if check.budget is not None:
        limits.append(f"budget {_size(check.budget)}")
    if check.baseline is not None:
        limits.append(f"baseline {_size(check.baseline.bytes)} + {str(check.tolerance).replace(' ', _BLANK)}")
    return f"{outcome.name}{named}: {step_words(report.step, report.batch)}: {', '.join([size, *limits])}"


def _size(count: int) -> str:
    return format_bytes(count).replace(" ", _BLANK)


def _lines(outcome: Outcome) -> list[str]:
    if outcome.check is None:
        return []
    return [*outcome.check.reasons, *outcome.check.remarks]


def _tables(outcome: Outcome, top: int) -> list[Table]:
    """Where it comes from, of a check that failed."""
    check = outcome.check
    if check is None or check.passed:
        return []
    if check.diff is None:
        return [table for table in (held_by(check.report, top),) if table.rows]
    found = [grown(check, top), setting_table(check.diff)]
    if not found[0].rows:
        found[0] = held_by(check.report, top)
    return [table for table in found if table.rows]


def _row(outcome: Outcome) -> tuple[Cell, ...]:
    check = outcome.check
    if check is None:
        return None, None, None, None
    before = check.baseline.bytes if check.baseline else None
    figure: Cell = AtLeast(check.figure.bytes) if check.figure.at_least else check.figure.bytes
    return figure, check.budget, before, None if before is None else check.figure.bytes - before


def _untitled(table: Table) -> Table:
    return Table(table.columns, table.rows, notes=table.notes, bold=table.bold)


FORMATS: dict[str, Callable[[Sequence[Outcome]], str]] = {
    "json": all_as_json,
    "markdown": all_as_markdown,
    "github-benchmark": all_as_benchmark,
}
"""Format other than text -> what it writes of all checks."""
