"""Advice in words, as a table, and as JSON of schema 1 (docs/advise.md)."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from graphmem.answers.advise.advice import Advice, Tried
from graphmem.render import tables
from graphmem.render.output import check_outputs, write_files
from graphmem.render.tables import AtLeast, Cell, Column, Table
from graphmem.render.words import headline, modelled, short_target, step_words
from graphmem.units import format_bytes

SHOWN = 3
"""Snippets that the text shows unless told otherwise; Markdown and JSON have all."""


def advice_table(advice: Advice, *, every: bool = True, costs: bool = True) -> Table:
    """The changes, the one that saves most first.

    Args:
        every: whether those are in it that do not lower the peak.
        costs: whether people see what each costs.
    """
    budget = advice.budget_bytes is not None
    columns = (
        Column("number", "count", "#"), Column("kind", for_people=False), Column("change"),
        Column("peak_bytes", "bytes", "new peak"), Column("saved_bytes", "bytes", "saves"),
        Column("at_least", for_people=False), Column("fits", for_people=budget),
        Column("costs", "sentence", "what it costs", costs), Column("snippet", for_people=False),
    )  # fmt: skip
    rows = [_row(number, one) for number, one in enumerate(advice.tried if every else advice.helps, 1)]
    return Table(columns, tuple(rows), title=_title(advice), notes=advice.notes)


def as_text(advice: Advice, width: int = 80, color: bool = False, snippets: int = SHOWN) -> str:
    """The advice for a terminal.

    Args:
        width: columns to lay out for.
        color: whether to write ANSI styles.
        snippets: how many are shown.
    """
    head = [*headline(advice.report, width), modelled(advice.report), *_budget(advice)]
    parts = ["\n".join(line for text in head for line in textwrap.wrap(text, width)) + "\n"]
    if advice.helps:
        table = advice_table(advice, every=False, costs=False)
        parts.append(tables.as_text(Table(table.columns, table.rows), width, color))
        costs = [f"{number}  {one.change.costs}" for number, one in enumerate(advice.helps, 1)]
        parts += _section("What each costs", costs, width, color)
    for number, one in enumerate(advice.helps[:snippets], 1):
        title = f"{number}  {one.change.name}"
        code = textwrap.indent(one.change.snippet.rstrip("\n"), "     ")
        parts.append(f"\x1b[1m{title}\x1b[0m\n{code}\n" if color else f"{title}\n{code}\n")
    parts += _section("Would not lower the peak", [_idle(one) for one in advice.idle], width, color)
    untried = [f"{one.name}: {_lower(one.reason)}" for one in advice.untried]
    parts += _section("Not tried", untried, width, color)
    parts += _section("", [f"Note  {note}" for note in advice.notes], width, color)
    return "\n".join(parts)


def as_json(advice: Advice) -> str:
    """The advice as JSON, schema 1 (see `docs/advise.md`)."""
    return json.dumps(advice.to_dict(), indent=1, ensure_ascii=False) + "\n"


def as_markdown(advice: Advice) -> str:
    """The table, the snippets of what helps, and what was not tried."""
    parts = [tables.as_markdown(advice_table(advice))]
    for one in advice.helps:
        parts.append(f"**{tables.in_markdown(one.change.name)}**\n\n```python\n{one.change.snippet}```\n")
    if advice.untried:
        reasons = [f"* {tables.in_markdown(f'{one.name}: {_lower(one.reason)}')}" for one in advice.untried]
        parts.append("\n".join(["Not tried:", "", *reasons]) + "\n")
    return "\n".join(parts)


def write_advice(advice: Advice, paths: Sequence[str], *, force: bool = False) -> None:
    """Write files in the format of their endings; none is written before all are rendered.

    Raises:
        TargetError: unknown ending, existing file without `force`, unwritable place.
    """
    check_outputs(paths, force, tuple(FORMATS))
    write_files(paths, lambda path: FORMATS[Path(path).suffix.lower()](advice))


def _row(number: int, one: Tried) -> tuple[Cell, ...]:
    lower = one.report.at_least
    change = one.change
    peak: Cell = AtLeast(one.peak_bytes) if lower else one.peak_bytes
    return (
        number, change.kind, change.name, peak, one.saved_bytes, lower, one.fits, change.costs, change.snippet,
    )  # fmt: skip


def _budget(advice: Advice) -> list[str]:
    if advice.budget_bytes is None:
        return []
    says = f"budget {format_bytes(advice.budget_bytes)}: the step {'fits' if advice.fits else 'does not fit'}"
    if advice.fits:
        return [f"{says} as it is"]
    enough = sum(1 for one in advice.tried if one.fits)
    return [f"{says}; with {enough or 'none'} of the changes by itself it does"]


def _section(title: str, lines: list[str], width: int, color: bool) -> list[str]:
    if not lines:
        return []
    indent = "  " if title else ""
    wrapped = [textwrap.fill(line, width, initial_indent=indent, subsequent_indent=indent + "   ") for line in lines]
    head = [f"\x1b[1m{title}\x1b[0m" if color else title] if title else []
    return ["\n".join([*head, *wrapped]) + "\n"]


def _idle(one: Tried) -> str:
    more = f"{format_bytes(-one.saved_bytes)} more" if one.saved_bytes else "the same"
    return f"{one.change.name}: {more}"


def _lower(sentence: str) -> str:
    """A sentence after a colon: articles and the like lose their capital, names keep theirs."""
    first = sentence.split(" ", 1)[0]
    return sentence[0].lower() + sentence[1:] if first in ("The", "No", "An", "What", "Known", "Write") else sentence


def _title(advice: Advice) -> str:
    report = advice.report
    peak = format_bytes(report.needed_bytes)
    return f"{short_target(report.target)} {step_words(report.step, report.batch)}: peak {peak}".strip()


FORMATS: dict[str, Callable[[Advice], str]] = {
    ".txt": lambda advice: as_text(advice, width=120, snippets=len(advice.helps)),
    ".md": as_markdown,
    ".csv": lambda advice: tables.as_csv(advice_table(advice)),
    ".json": as_json,
    ".tex": lambda advice: tables.as_latex(advice_table(advice)),
}
"""Ending -> the content of such a file."""
