"""The report as text for a terminal: the answer on line one, then the details; laid out for 80 columns and more."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from graphmem.graph.model import PHASES
from graphmem.render.colours import ROLE_STYLES
from graphmem.render.rows import FrontierRow, fold_scopes, group_frontier, largest, plural, shorten
from graphmem.render.words import common_prefix, headline, modelled, remarks, sizes_in_words, where_is_the_peak
from graphmem.report.report import FrontierBuffer, Report
from graphmem.units import format_bytes

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

_ASCII = str.maketrans({"…": "~", "→": ">", "×": "x", "–": "-", "·": ",", "─": "-", "’": "'"})
_WIDE = 100  # columns from which the frontier has room for the op that made each buffer


def as_text(report: Report, width: int = 80, top: int = 10, color: bool = False) -> str:
    """The whole report as text.

    Args:
        report: what to print; it is not changed.
        width: columns to lay out for; names are shortened in the middle to fit.
        top: how many rows each list shows; what is left out is one row, so that totals still add up.
        color: whether to write ANSI colours.
    """
    from rich.console import Console

    stream = io.StringIO()
    console = Console(
        file=stream, width=width, color_system="truecolor" if color else None, force_terminal=color, no_color=not color,
        legacy_windows=False, highlight=False, markup=False, emoji=False, soft_wrap=False,
    )  # fmt: skip
    _headline(console, report, width)
    _layers(console, report)
    _roles(console, report)
    _scopes(console, report, width, top)
    _frontier(console, report, width, top)
    _sources(console, report, width, top)
    _remarks(console, report)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def to_ascii(text: str) -> str:
    """The text for terminals that cannot show `…`, `×` and the like; every column stays where it is."""
    return text.translate(_ASCII)


def _headline(console: Console, report: Report, width: int) -> None:
    for line in headline(report, width):
        console.print(line, style="bold", no_wrap=True, overflow="ellipsis", crop=False)
    console.print(modelled(report), style="dim")


def _layers(console: Console, report: Report) -> None:
    """The five layers, a line each: they are different kinds of memory and are added in one place only."""
    resident = sizes_in_words(
        [
            ("weights", report.weight_bytes),
            ("optimizer state", report.optimizer_bytes),
            ("other state", report.other_state_bytes),
            ("constants", report.constant_bytes),
        ]
    )
    rows = [
        ("resident", report.resident_bytes, resident or "the step has no variables"),
        ("inputs", report.argument_bytes, "one batch, held by the caller" if report.argument_bytes else "none"),
        ("step peak", report.step_peak_bytes, "what the step itself holds at its worst moment"),
        ("needed", report.needed_bytes, f"resident + inputs + step peak{'; a lower bound' if report.at_least else ''}"),
    ]
    table = _grid("left", "right", "wrap")
    for name, size, text in rows:
        table.add_row(name, format_bytes(size), text, style="bold" if name == "needed" else None)
    table.add_row("allocator", "", _allocator(report))
    _section(console, "Memory", table)


def _allocator(report: Report) -> str:
    """What is said of the allocator: a figure only if one was simulated."""
    charged, pool = report.allocator.get("peak_in_use_bytes"), report.allocator.get("pool_bytes")
    if charged is None:
        return "exact sum of live bytes; TensorFlow's rounding (BFC) is not simulated"
    held = f", in a pool of {format_bytes(pool)}" if pool is not None else ""
    return f"{format_bytes(charged)} as {report.allocator['name']} counts it{held}"


def _roles(console: Console, report: Report) -> None:
    """Step peak by role and by the phase that made the buffers; rows and columns add up to it."""
    if not report.by_role:
        return
    phases = [name for name in PHASES if report.by_phase.get(name)]
    phases = phases if len(phases) > 1 else []
    table = _grid("left", *["right"] * (len(phases) + 2))
    table.add_row("role", *phases, "bytes", "share", style="dim")
    for role, size in report.by_role.items():
        cells = [_cell(report.by_role_phase.get(role, {}).get(name, 0)) for name in phases]
        table.add_row(_painted(role), *cells, format_bytes(size), _share(size, report.step_peak_bytes))
    totals = [_cell(report.by_phase[name]) for name in phases]
    table.add_row("step peak", *totals, format_bytes(report.step_peak_bytes), _share(1, 1), style="bold")
    title = "What the step peak is" + (", by the pass that made it" if phases else "")
    _section(console, title, table, where_is_the_peak(report))


def _scopes(console: Console, report: Report, width: int, top: int) -> None:
    rows = fold_scopes(report.by_scope, top)
    if len(rows) < 2:
        return
    table = _grid("left", "right", "right", "right")
    table.add_row("layer", "bytes", "share", "tensors", style="dim")
    for row in rows:
        name = "  " * row.depth + shorten(row.label, width - 36 - 2 * row.depth)
        cells = format_bytes(row.bytes), _share(row.bytes, report.step_peak_bytes), f"{row.tensors:,}"
        table.add_row(name, *cells, style="bold" if row.depth == 0 else None)
    _section(console, "Which layers hold it", table)


def _frontier(console: Console, report: Report, width: int, top: int) -> None:
    """The largest buffers alive at the peak, repeated blocks in one row, and why each is still there."""
    rows = group_frontier(report.frontier)
    if not rows:
        return
    cut = top if len(rows) != top + 1 else top + 1
    shown, others = rows[:cut], rows[cut:]
    dtypes = {row.first.dtype for row in shown if row.first.dtype}
    common = dtypes.pop() if len(dtypes) == 1 else ""
    wide, prefix = width >= _WIDE, common_prefix(report)
    repeated = any(row.count > 1 for row in shown)
    columns = [
        ["bytes", *(_cell(row.bytes) for row in shown)],
        *([["", *(f"{row.count} ×" if row.count > 1 else "" for row in shown)]] if repeated else []),
        ["role", *(row.first.role for row in shown)],
        [f"shape ({common})" if common else "shape", *(_shape(row.first, common) for row in shown)],
        ["made in", *(_made_in(row, prefix, wide) for row in shown)],
        *([["by", *(row.first.made_by for row in shown)]] if wide else []),
        ["kept for", *(_kept_for(report, row, prefix) for row in shown)],
    ]
    if others:
        size, count = sum(row.bytes or 0 for row in others), sum(row.count for row in others)
        _add_sum(columns, format_bytes(size), f"… {plural(count, 'other')}")
    _add_sum(columns, format_bytes(report.step_peak_bytes), "step peak")
    _fit(columns, width - 2, fixed=3 + repeated)
    table = _grid("right", *["right" if not column[0] else "left" for column in columns[1:]])
    for index, cells in enumerate(zip(*columns, strict=True)):
        before, role, after = cells[: 1 + repeated], cells[1 + repeated], cells[2 + repeated :]
        table.add_row(
            *before,
            _painted(role),
            *after,
            style="dim" if index == 0 else "bold" if index == len(columns[0]) - 1 else None,
        )
    _section(console, f"Alive at the peak: {plural(len(report.frontier), 'buffer')}", table)


def _add_sum(columns: list[list[str]], size: str, label: str) -> None:
    """A row that adds others up: its size in the first column, its label below the roles."""
    for index, column in enumerate(columns):
        column.append(size if index == 0 else label if column[0] == "role" else "")


def _fit(columns: list[list[str]], width: int, fixed: int) -> None:
    """Shorten the names in all but the `fixed` first columns, widest first, until the columns stand side by side."""
    widths = [max(map(len, column)) for column in columns]
    room = width - 2 * (len(columns) - 1)
    while sum(widths) > room and max(widths[fixed:]) > 8:
        widest = max(range(fixed, len(columns)), key=lambda index: (widths[index], index))
        widths[widest] -= 1
    for column, most in zip(columns[fixed:], widths[fixed:], strict=True):
        column[:] = [_shorten_reader(cell, most) if " in " in cell else shorten(cell, most) for cell in column]


def _shorten_reader(text: str, width: int) -> str:
    """`ReluGrad in conv2_block1_relu` to `ReluGrad …block1_relu`: the op whole, the end of the layer."""
    op, _, layer = text.partition(" in ")
    room = width - len(op) - 2
    if len(text) <= width or room < 4:
        return shorten(text, width)
    return f"{op} …{layer[-room:]}"


def _made_in(row: FrontierRow, prefix: str, wide: bool) -> str:
    return row.scope.removeprefix(prefix) or ("(no layer)" if wide else f"({row.first.made_by})")


def _kept_for(report: Report, row: FrontierRow, prefix: str) -> str:
    """Who reads the buffer last: the reason why it is still there."""
    item = row.first
    if not item.last_reader_type:
        return "end of the step" if item.freed > report.peak.position + 1 else "this op only"
    if item.last_reader_scope in ("", item.scope):
        return item.last_reader_type
    return f"{item.last_reader_type} in {row.last_reader_scope.removeprefix(prefix)}"


def _sources(console: Console, report: Report, width: int, top: int) -> None:
    if not any(line for line in report.by_source):
        return
    rows, hidden, size = largest(report.by_source, min(top, 5))
    table = _grid("left", "right", "right")
    for line, amount in rows:
        name = shorten(line, width - 24) if line else "(not from your files)"
        table.add_row(name, format_bytes(amount), _share(amount, report.step_peak_bytes))
    if hidden:
        table.add_row(f"… {plural(hidden, 'other')}", format_bytes(size), _share(size, report.step_peak_bytes))
    _section(console, "Which lines of your code made it", table)


def _remarks(console: Console, report: Report) -> None:
    """What stands beside the figure: the naive sum, what is unknown, what is not counted, what was assumed."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    previous = ""
    for title, text in remarks(report):
        table.add_row(Text("" if title == previous else title, style="bold"), Text(text.rstrip(".")))
        previous = title
    console.print()
    console.print(table)


def _section(console: Console, title: str, table: Table, lead: str = "") -> None:
    from rich.padding import Padding

    console.print()
    console.print(title, style="bold")
    if lead:
        console.print(lead, style="dim")
    indented: RenderableType = Padding(table, (0, 0, 0, 2), expand=False)
    console.print(indented)


def _grid(*aligned: str) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for side in aligned:
        table.add_column(justify="right" if side == "right" else "left", no_wrap=side != "wrap", overflow="ellipsis")
    return table


def _shape(item: FrontierBuffer, common: str) -> str:
    if item.role == "scratch":
        return "scratch"
    if item.shape is None:
        text = "unknown rank"
    else:
        text = "×".join("?" if dim is None else str(dim) for dim in item.shape) or "scalar"
    return text if item.dtype == common else f"{text} {item.dtype}"


def _painted(cell: str) -> Text:
    """A role in its colours, which are those of the pictures; a title or a sum as it is."""
    from rich.text import Text

    look = ROLE_STYLES.get(cell)
    return Text(cell, style=f"{look.text} on {look.fill}" if look else "")


def _cell(size: int | None) -> str:
    return "unknown" if size is None else format_bytes(size) if size else "–"


def _share(size: int, whole: int) -> str:
    return f"{100 * size / whole:.1f} %" if whole else "–"
