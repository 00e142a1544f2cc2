"""What grows, as text and in the formats of tables."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from typing import TypeAlias

from graphmem.answers.growth.logs import LogGrowth
from graphmem.answers.growth.runs import FIGURES, ScriptGrowth
from graphmem.render import tables
from graphmem.render.rows import plural
from graphmem.render.tables import Cell, Column, Table
from graphmem.units import format_bytes

Growth: TypeAlias = ScriptGrowth | LogGrowth

_TITLES = {
    "graph_nodes": "graph nodes", "func_graphs": "FuncGraphs", "func_graph_nodes": "their nodes",
    "functions": "functions", "variables": "variables", "variable_bytes": "their bytes", "models": "models",
    "resident_bytes": "resident",
}  # fmt: skip


_WIDE = 110
"""Columns of text from which all columns of a script's table fit."""


def as_text(found: Growth, width: int = 80, top: int = 20, color: bool = False) -> str:
    """The answer for a terminal.

    Args:
        width: columns to lay out for.
        top: rows that are shown: the first and the last ones.
        color: whether to write ANSI styles.
    """
    head = textwrap.fill(headline(found), width, subsequent_indent="  ")
    parts = [f"\x1b[1m{head}\x1b[0m" if color else head]
    parts.append(tables.as_text(table_of(found, top, width >= _WIDE), width, color).rstrip())
    if isinstance(found, ScriptGrowth):
        parts += [textwrap.fill(text, width, subsequent_indent="  ") for text in found.advice]
    parts += [textwrap.fill(f"Note  {note}", width, subsequent_indent=" " * 6) for note in found.notes]
    return "\n\n".join(parts) + "\n"


def headline(found: Growth) -> str:
    """Whether anything grows, in a sentence."""
    if isinstance(found, ScriptGrowth):
        return _script_headline(found)
    runs = plural(len(found.runs), "run")
    left = sum(run.orphans > 0 for run in found.runs)
    orphans = f"; {left} of them hold parts of earlier models" if left else ""
    size, nodes = found.growth["graph_bytes"], found.growth["nodes"]
    if size is None or nodes is None:
        return f"{runs}: too few to tell what grows{orphans}"
    if not found.grows:
        return f"{runs}: their graphs do not grow{orphans}"
    return f"{runs}: each adds {format_bytes(size)} and {plural(nodes, 'node')} to the graph in its event file{orphans}"


def _script_headline(found: ScriptGrowth) -> str:
    rows = f"{plural(len(found.rows), found.per)}"
    if all(value is None for value in found.growth.values()):
        return f"{rows}: too few to tell what grows"
    said = []
    for name in ("graph_nodes", "func_graphs", "functions", "variables", "models"):
        step = found.growth[name] or 0
        if step > 0:
            said.append(f"{step:,} {_TITLES[name]}")
    if not said:
        return f"{rows}: nothing that is counted grows"
    return f"{rows}: each adds {', '.join(said[:-1])}{' and ' if said[:-1] else ''}{said[-1]}"


def table_of(found: Growth, top: int | None = None, wide: bool = True) -> Table:
    """The rows as a table, for a script with what a row adds as the last one.

    Args:
        top: rows at most: the first and the last ones; `None`: all.
        wide: whether people see all columns.
    """
    if isinstance(found, ScriptGrowth):
        return _script_table(found, top, wide)
    columns = (
        Column("run"), Column("bytes", "bytes", "event files"), Column("graph_bytes", "bytes", "graph"),
        Column("nodes", "count"), Column("function_nodes", "count", "in functions"), Column("parts", "count"),
        Column("orphans", "count"), Column("orphan_nodes", "count", "their nodes"),
        Column("orphan_scopes", "text", "orphans are"),
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = [
        (
            run.name, run.bytes, run.graph_bytes, run.nodes, run.function_nodes, run.parts, run.orphans,
            run.orphan_nodes, ", ".join(run.orphan_scopes),
        )
        for run in found.runs
    ]  # fmt: skip
    return Table(columns, tuple(_shown(rows, top)))


def _script_table(found: ScriptGrowth, top: int | None, wide: bool) -> Table:
    kinds = {name: "bytes" if name.endswith("bytes") else "count" for name in FIGURES}
    seen = {name: wide or not _TITLES[name].startswith("their") for name in FIGURES}
    columns = (Column("after"), *(Column(name, kinds[name], _TITLES[name], seen[name]) for name in FIGURES))
    rows: list[tuple[Cell, ...]] = [(row["label"], *(row[name] for name in FIGURES)) for row in found.rows]
    rows = _shown(rows, top)
    rows.append(("each adds", *(found.growth[name] for name in FIGURES)))
    return Table(columns, tuple(rows), bold=(len(rows) - 1,))


def _shown(rows: list[tuple[Cell, ...]], top: int | None) -> list[tuple[Cell, ...]]:
    if top is None or len(rows) <= top:
        return rows
    hidden = len(rows) - top
    blank: tuple[Cell, ...] = (f"… {hidden} others", *([None] * (len(rows[0]) - 1)))
    return [*rows[: top // 2], blank, *rows[len(rows) - (top - top // 2) :]]


def as_json(found: Growth) -> str:
    """The answer as JSON, schema 1 (see `docs/growth.md`)."""
    return json.dumps(found.to_dict(), indent=1, ensure_ascii=False) + "\n"


FORMATS: dict[str, Callable[[Growth], str]] = {
    ".txt": lambda found: as_text(found, 120),
    ".md": lambda found: tables.as_markdown(table_of(found)),
    ".csv": lambda found: tables.as_csv(table_of(found)),
    ".tex": lambda found: tables.as_latex(table_of(found)),
    ".json": as_json,
}
"""Ending -> the answer as the text of such a file."""
