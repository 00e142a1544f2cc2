"""Tables as plain data, and their text, CSV, LaTeX, Markdown and JSON: one table, said the same way in every format.

A cell is a text, a number, a truth value, `None` for what is unknown, or `AtLeast` for a lower bound. Formats for
people (text, LaTeX, Markdown) write it with its unit; formats for programs (CSV, JSON) hold the exact number.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from graphmem.render.rows import shorten
from graphmem.units import format_bytes

KINDS = ("text", "sentence", "bytes", "change", "count", "ratio", "percent", "seconds")
"""What a column holds: names, which are shortened to fit; sentences, which are wrapped; or figures of one unit.

A `change` is bytes with their sign; a `ratio` of 1.5 is written 1.50×, a `percent` of 0.5 (a share) 50.0 %.
"""

UNKNOWN = "–"
"""What people read where a cell is `None`."""

_NARROWEST = 12
"""Columns of text that a name keeps however narrow the page is."""


@dataclass(frozen=True)
class AtLeast:
    """A figure that is a lower bound: something unknown is missing from it."""

    value: int | float


Cell = str | int | float | bool | AtLeast | None


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: header in CSV, key in JSON: lower case, with its unit, such as `peak_bytes`.
        kind: one of `KINDS`.
        title: heading for people; "": the name with blanks, without its unit.
        for_people: whether text, LaTeX and Markdown have it; CSV and JSON have every column.
    """

    name: str
    kind: str = "text"
    title: str = ""
    for_people: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"a column of kind {self.kind!r}; it is one of {KINDS}")

    @property
    def heading(self) -> str:
        """The heading for people."""
        return self.title or self.name.removesuffix("_bytes").replace("_", " ")

    @property
    def on_the_left(self) -> bool:
        """Whether its cells are aligned on the left; figures are on the right."""
        return self.kind in ("text", "sentence")


@dataclass(frozen=True)
class Table:
    """Columns and rows.

    Attributes:
        columns: at least one.
        rows: one cell per column each.
        title: one line on what the table is of; "" for none.
        notes: sentences below it.
        bold: indices of rows that stand out: totals, the answer.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    bold: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} cells in a table of {len(self.columns)} columns: {row!r}")

    def for_people(self) -> tuple[list[Column], list[list[str]]]:
        """The columns that people see, and the rows as they read them."""
        seen = [index for index, column in enumerate(self.columns) if column.for_people]
        cells = [[words(row[index], self.columns[index].kind) for index in seen] for row in self.rows]
        return [self.columns[index] for index in seen], cells


def words(cell: Cell, kind: str) -> str:
    """A cell as people read it.

    >>> words(1536, "bytes"), words(AtLeast(2**30), "bytes"), words(None, "count"), words(12.345, "ratio")
    ('1.50 KiB', '≥ 1.00 GiB', '–', '12.3×')
    >>> words(1536, "change"), words(-1536, "change"), words(0, "change")
    ('+1.50 KiB', '-1.50 KiB', '0 B')
    >>> words(True, "text"), words(0.256, "percent"), words(12345, "count"), words(0.0123, "seconds")
    ('yes', '25.6 %', '12,345', '0.01 s')
    """
    if cell is None:
        return UNKNOWN
    if isinstance(cell, AtLeast):
        return f"≥ {words(cell.value, kind)}"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, str):
        return cell
    if kind == "bytes":
        return format_bytes(round(cell))
    if kind == "change":
        return f"{'+' if cell > 0 else ''}{format_bytes(round(cell))}"
    if kind == "ratio":
        return f"{_figure(cell)}×"
    if kind == "percent":
        return f"{100 * cell:.1f} %"
    if kind == "seconds":
        return f"{_figure(cell)} s"
    return f"{cell:,}"


def _figure(value: float) -> str:
    """Two decimals or three digits: 0.04, 1.25, 12.3, 1,234."""
    size = abs(value)
    return f"{value:,.{2 if size < 9.995 else 1 if size < 99.95 else 0}f}"


def as_text(table: Table, width: int = 80, color: bool = False) -> str:
    """The table for a terminal: no line is wider than `width`; names are shortened, sentences wrapped to that end.

    Args:
        width: columns to lay out for.
        color: whether to write ANSI styles (bold and dim).
    """
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    stream = io.StringIO()
    console = Console(
        file=stream, width=width, color_system="truecolor" if color else None, force_terminal=color, no_color=not color,
        legacy_windows=False, highlight=False, markup=False, emoji=False,
    )  # fmt: skip
    columns, cells = table.for_people()
    cells = _fitted(columns, cells, width)
    grid = Grid.grid(padding=(0, 2))
    for column in columns:
        wraps = column.kind == "sentence"
        grid.add_column(
            justify="left" if column.on_the_left else "right", no_wrap=not wraps,
            overflow="fold" if wraps else "ellipsis", ratio=1 if wraps else None,
        )  # fmt: skip
    grid.add_row(*[Text(column.heading) for column in columns], style="dim")
    for index, row in enumerate(cells):
        grid.add_row(*map(Text, row), style="bold" if index in table.bold else None)
    if table.title:
        console.print(table.title, style="bold")
    console.print(grid)
    for note in table.notes:
        console.print(note, style="dim")
    return "\n".join(line.rstrip() for line in stream.getvalue().split("\n")).rstrip() + "\n"


def _fitted(columns: Sequence[Column], cells: list[list[str]], width: int) -> list[list[str]]:
    """The cells with names shortened in the middle so that all columns have room; the longest name yields first."""
    from rich.cells import cell_len

    def natural(index: int) -> int:
        column = columns[index]
        least = [20] if column.kind == "sentence" else [cell_len(row[index]) for row in cells]
        return max([cell_len(column.heading), *least])

    widths = [natural(index) for index in range(len(columns))]
    names = [index for index, column in enumerate(columns) if column.kind == "text"]
    while names and sum(widths) + 2 * (len(widths) - 1) > width:
        widest = max(names, key=lambda index: widths[index])
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    return [[shorten(cell, widths[i]) if i in names else cell for i, cell in enumerate(row)] for row in cells]


def as_csv(table: Table) -> str:
    """CSV, a header line first: exact numbers, `true` and `false`, empty where unknown."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    for row in table.rows:
        writer.writerow([json.dumps(cell) if isinstance(cell, bool) else plain(cell) for cell in row])
    return stream.getvalue()


def as_records(table: Table) -> list[dict[str, Any]]:
    """The rows as dicts of JSON-ready values: column name -> exact value, `None` where unknown."""
    names = [column.name for column in table.columns]
    return [dict(zip(names, map(plain, row), strict=True)) for row in table.rows]


def as_json(table: Table) -> str:
    """JSON, schema 1: `title`, `rows` (a dict each) and `notes`."""
    data = {"schema": 1, "title": table.title, "rows": as_records(table), "notes": list(table.notes)}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def plain(cell: Cell) -> str | int | float | bool | None:
    """A cell as programs read it: a lower bound is its number; a table with some has a column that says so."""
    return cell.value if isinstance(cell, AtLeast) else cell


def as_markdown(table: Table) -> str:
    """A table of GitHub's Markdown, its columns aligned in the source as well."""
    columns, cells = table.for_people()
    lines = [[in_markdown(column.heading) for column in columns]]
    lines += [[in_markdown(cell) for cell in row] for row in cells]
    for index in table.bold:
        lines[index + 1] = [f"**{cell}**" if cell else "" for cell in lines[index + 1]]
    widths = [max(3, *map(len, column)) for column in zip_longest(*lines, fillvalue="")]
    sides = [column.on_the_left for column in columns]

    def laid_out(row: Sequence[str]) -> str:
        parts = [c.ljust(w) if left else c.rjust(w) for c, w, left in zip(row, widths, sides, strict=True)]
        return f"| {' | '.join(parts)} |"

    rule = "|" + "|".join("-" * (w + 2) if left else "-" * (w + 1) + ":" for w, left in zip(widths, sides, strict=True))
    text = [laid_out(lines[0]), rule + "|", *map(laid_out, lines[1:])]
    head = [in_markdown(table.title), ""] if table.title else []
    notes = [line for note in table.notes for line in ("", in_markdown(note))]
    return "\n".join([*head, *text, *notes]) + "\n"


def in_markdown(text: str) -> str:
    """A text on one line, its marks escaped, so that Markdown shows it as it is."""
    for mark in "\\|*<`":
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


def as_latex(table: Table) -> str:
    """A `tabular` with the rules of the package booktabs, to be put into a `table` or input where it stands."""
    columns, cells = table.for_people()
    share = 0.45 / max(1, sum(column.kind == "sentence" for column in columns))
    shape = {"text": "l", "sentence": f"p{{{share:.2f}\\linewidth}}"}
    lines = [
        *([f"% {_one_line(table.title)}"] if table.title else []),
        "% needs \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{{''.join(shape.get(column.kind, 'r') for column in columns)}}}",
        "\\toprule",
        _latex_row([column.heading for column in columns]),
        "\\midrule",
        *[_latex_row(row, bold=index in table.bold) for index, row in enumerate(cells)],
        "\\bottomrule",
        "\\end{tabular}",
        *[f"% {_one_line(note)}" for note in table.notes],
    ]
    return "\n".join(lines) + "\n"


def _latex_row(cells: Sequence[str], bold: bool = False) -> str:
    parts = [in_latex(cell) for cell in cells]
    return " & ".join(f"\\textbf{{{part}}}" if bold and part else part for part in parts) + " \\\\"


def in_latex(text: str) -> str:
    """A text on one line, as LaTeX source that prints it."""
    return "".join(_LATEX.get(letter, letter) for letter in _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())


_LATEX = {
    "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "$": "\\$", "&": "\\&", "#": "\\#", "%": "\\%", "_": "\\_",
    "^": "\\textasciicircum{}", "~": "\\textasciitilde{}", "<": "\\textless{}", ">": "\\textgreater{}",
    "|": "\\textbar{}", "×": "$\\times$", "≥": "$\\geq$", "≤": "$\\leq$", "–": "--",
    "…": "\\ldots{}", "’": "'", "→": "$\\rightarrow$", "·": "$\\cdot$", "±": "$\\pm$",
}  # fmt: skip

FORMATS: dict[str, Callable[[Table], str]] = {
    ".txt": lambda table: as_text(table, width=120),
    ".csv": as_csv,
    ".tex": as_latex,
    ".md": as_markdown,
    ".json": as_json,
}
"""Ending -> the table as the text of such a file; write it, encoded in UTF-8, with `output.replace_file`."""
