"""A diff as text, Markdown, CSV, LaTeX and JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable

from graphmem.answers.diff import Diff
from graphmem.answers.diff_tables import flat_table, headline, tables_of
from graphmem.render import tables


def as_text(diff: Diff, width: int = 80, top: int = 10, color: bool = False) -> str:
    """The diff for a terminal.

    Args:
        width: columns to lay out for.
        top: rows of each list.
        color: whether to write ANSI styles.
    """
    lines = [line for text in headline(diff) for line in textwrap.wrap(text, width, subsequent_indent="  ")]
    head = "\n".join(f"\x1b[1m{line}\x1b[0m" if color else line for line in lines) + "\n"
    parts = [head, *(tables.as_text(table, width, color) for table in tables_of(diff, top))]
    notes = "".join(textwrap.fill(f"Note  {note}", width, subsequent_indent=" " * 6) + "\n" for note in diff.notes)
    return "\n".join([*parts, notes] if notes else parts)


def as_markdown(diff: Diff, top: int = 10) -> str:
    """The diff in GitHub's Markdown, a heading per table."""
    what, how, where = map(tables.in_markdown, headline(diff))
    parts = [f"**{what}**: {how}\n", f"{where[0].upper()}{where[1:]}.\n"]
    for table in tables_of(diff, top):
        parts.append(f"### {table.title}\n\n" + tables.as_markdown(_untitled(table)))
    parts += [f"{tables.in_markdown(note)}\n" for note in diff.notes]
    return "\n".join(parts)


def as_json(diff: Diff) -> str:
    """The diff as JSON, schema 1 (see `docs/diff.md`)."""
    return json.dumps(diff.to_dict(), indent=1, ensure_ascii=False) + "\n"


def _latex(diff: Diff, top: int) -> str:
    return "\n".join(tables.as_latex(table) for table in tables_of(diff, top))


def _untitled(table: tables.Table) -> tables.Table:
    return tables.Table(table.columns, table.rows, notes=table.notes, bold=table.bold)


FORMATS: dict[str, Callable[[Diff, int], str]] = {
    ".txt": lambda diff, top: as_text(diff, 120, top),
    ".md": as_markdown,
    ".csv": lambda diff, top: tables.as_csv(flat_table(diff)),
    ".tex": _latex,
    ".json": lambda diff, top: as_json(diff),
}
"""Ending -> (diff, rows of a list) -> the file's text."""
