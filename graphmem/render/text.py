"""The report as text for a terminal: the answer on line one, then the details; laid out for 80 columns and more."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from graphmem.graph.model import PHASES
from graphmem.render.colours import ROLE_STYLES
from graphmem.render.frontier_columns import frontier_columns, size_cell
from graphmem.render.rows import largest, plural, shorten
from graphmem.render.scope_tree import fold_scopes
from graphmem.render.sparkline import PEAK, bar, timeline_lines
from graphmem.render.words import NO_BREAK, headline, modelled, remarks, sizes_in_words, where_is_the_peak
from graphmem.report.report import Report
from graphmem.units import format_bytes

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

_ASCII = str.maketrans(
    {"…": "~", "→": ">", "≥": ">", "×": "x", "–": "-", "·": ",", "─": "-", "’": "'", PEAK: "^", "▌": "-"}
    | dict(zip("▁▂▃▄▅▆▇█", "..::++##", strict=True))
)

_ASCII_PAIRS = [
    (re.compile("… (?=[0-9])"), "+ "),
    (re.compile("≥ "), ">="),
    (re.compile("≤ "), "<="),
    (re.compile("→ "), "->"),
    (re.compile(r"(?<=\()…(?=[,)])"), "..."),  # code, in which no columns are kept
]
"""What would mean something else character by character, such as `~ 3 others`."""

_WIDEST_BAR, _NARROWEST_BAR = 20, 6


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
    _roles(console, report, width)
    _over_time(console, report, width)
    _scopes(console, report, width, top)
    _frontier(console, report, width, top)
    _sources(console, report, width, top)
    _host(console, report)
    _remarks(console, report)
    return "\n".join(line.replace(NO_BREAK, " ").rstrip() for line in stream.getvalue().split("\n")).rstrip() + "\n"


def to_ascii(text: str) -> str:
    """The text for terminals that cannot show `…`, `×` and the like; every column stays where it is.

    >>> to_ascii("… 3 others: ≥ 1 GiB → 2 GiB, 8×3, conv…relu")
    '+ 3 others: >=1 GiB ->2 GiB, 8x3, conv~relu'
    """
    for typographic, plain in _ASCII_PAIRS:
        text = typographic.sub(plain, text)
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
        ("outputs", report.output_bytes, "results, allocated before the step starts"),
        ("step peak", report.step_peak_bytes, "what the step itself holds at its worst moment"),
        ("needed", report.needed_bytes, _needed(report)),
    ]
    if report.conv_workspace:
        rows.insert(4, ("cuDNN", report.conv_workspace["bytes"], _workspace(report)))
    if not report.output_bytes:
        del rows[2]
    table = _grid("left", "right", "wrap")
    for name, size, text in rows:
        table.add_row(name, format_bytes(size), text, style="bold" if name == "needed" else None)
    table.add_row("allocator", "", _allocator(report))
    _section(console, "Memory", table)


def _needed(report: Report) -> str:
    outputs = "outputs + " if report.output_bytes else ""
    return f"resident + inputs + {outputs}step peak{'; a lower bound' if report.at_least else ''}"


def _workspace(report: Report) -> str:
    """What cuDNN's workspace does to the step peak."""
    peaks = report.conv_workspace["step_peak_bytes"]
    return (
        f"workspace for convolutions, in the step peak: that is {format_bytes(peaks['none'])} without, "
        f"{format_bytes(peaks['typical'])} as is usual, {format_bytes(peaks['limit'])} at most"
    )


def _allocator(report: Report) -> str:
    """What is said of the allocator: a figure only if one was simulated."""
    charged, pool = report.allocator.get("peak_in_use_bytes"), report.allocator.get("pool_bytes")
    if charged is None:
        return "exact sum of live bytes; TensorFlow's rounding (BFC) is not simulated"
    if report.allocator["name"] == "xla":
        temp = format_bytes(report.allocator["temp_bytes"])
        return f"{format_bytes(charged)} in use at the peak: XLA packs temporaries into {temp}, allocated at once"
    name, limit = report.allocator["name"], report.allocator.get("limit_bytes")
    if limit is not None and report.allocator.get("fails"):
        return f"{format_bytes(limit)} are not enough, as {name} counts: see the note below"
    held = f", in a pool of {format_bytes(pool)}" if pool is not None else ""
    allowed = f", of {format_bytes(limit)} allowed" if limit else ""
    return f"{format_bytes(charged)} in use at the peak, as {name} counts{held}{allowed}"


def _over_time(console: Console, report: Report, width: int) -> None:
    """The whole step in four lines."""
    from rich.padding import Padding
    from rich.text import Text

    if report.timeline is None or len(report.timeline.total) < 2 or not report.step_peak_bytes:
        return
    lines = timeline_lines(report.timeline, report.needed_bytes - report.step_peak_bytes, width - 2)
    console.print()
    console.print("Over the step: bytes alive, in the order of its ops", style="bold")
    console.print(Padding(Text("\n".join(lines), no_wrap=True), (0, 0, 0, 2), expand=False))


def _roles(console: Console, report: Report, width: int) -> None:
    """Step peak by role and by the phase that made the buffers; rows and columns add up to it."""
    if not report.by_role:
        return
    phases = [name for name in PHASES if report.by_phase.get(name)]
    phases = phases if len(phases) > 1 else []
    rows = [
        [role, *(size_cell(report.by_role_phase.get(role, {}).get(name, 0)) for name in phases), format_bytes(size),
         _share(size, report.step_peak_bytes)]
        for role, size in report.by_role.items()
    ]  # fmt: skip
    totals = [size_cell(report.by_phase[name]) for name in phases]
    totals += [format_bytes(report.step_peak_bytes), _share(1, 1)]
    room = width - 2 - sum(2 + max(9, *map(len, column)) for column in zip(*rows, strict=True))
    columns = zip(["role", *phases, "bytes", "share"], ["step peak", *totals], *rows, strict=True)
    if sum(2 + max(map(len, column)) for column in columns) > width:  # a share is the first that can be missed
        rows, totals = [row[:-1] for row in rows], totals[:-1]
    headings = [*phases, "bytes", "share"][: len(totals)]
    table = _grid("left", *["right"] * len(totals), *(["left"] if room >= _NARROWEST_BAR else []))
    table.add_row("role", *headings, style="dim")
    for (role, *cells), size in zip(rows, report.by_role.values(), strict=True):
        drawn = _bar(role, size, report.step_peak_bytes, min(room, _WIDEST_BAR))
        table.add_row(_painted(role), *cells, *([drawn] if room >= _NARROWEST_BAR else []))
    table.add_row("step peak", *totals, style="bold")
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
    if not report.frontier:
        return
    columns = frontier_columns(report, width - 2, top)
    role = next(index for index, column in enumerate(columns) if column[0] == "role")
    table = _grid("right", *["right" if not column[0] else "left" for column in columns[1:]])
    for index, cells in enumerate(zip(*columns, strict=True)):
        style = "dim" if index == 0 else "bold" if index == len(columns[0]) - 1 else None
        table.add_row(*cells[:role], _painted(cells[role]), *cells[role + 1 :], style=style)
    _section(console, f"Alive at the peak: {plural(len(report.frontier), 'buffer')}", table)


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


def _host(console: Console, report: Report) -> None:
    """What the input pipeline holds in the host's memory, which no figure above includes."""
    host = report.host_pipeline
    if not host:
        return
    table = _grid("left", "right", "wrap")
    for stage in host["stages"]:
        size = "unknown" if stage["bytes"] is None else format_bytes(stage["bytes"])
        many = "" if stage["elements"] is None else f"{stage['elements']:,} × "
        each = "" if stage["element_bytes"] is None else f"{many}{format_bytes(stage['element_bytes'])}"
        table.add_row(stage["name"], size, "; ".join(filter(None, (each, stage["why"]))))
    known = "unknown" if host["bytes"] is None else format_bytes(host["bytes"])
    least = "≥ " if host["at_least"] and host["bytes"] is not None else ""
    title = f"Host memory of the input pipeline, apart from the peak: {least}{known}"
    _section(console, title, table, lead=f"  of {host['source']}")


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

    table = Table.grid(padding=(0, 2))
    for side in aligned:
        table.add_column(justify="right" if side == "right" else "left", no_wrap=side != "wrap", overflow="ellipsis")
    return table


def _painted(cell: str) -> Text:
    """A role in its colours, which are those of the pictures; a title or a sum as it is."""
    from rich.text import Text

    look = ROLE_STYLES.get(cell)
    return Text(cell, style=f"{look.text} on {look.fill}" if look else "")


def _bar(role: str, size: int, whole: int, room: int) -> Text:
    """A role's share as a bar of its colour."""
    from rich.text import Text

    look = ROLE_STYLES.get(role)
    return Text(bar(size / whole, room) if whole else "", style=look.fill if look else "")


def _share(size: int, whole: int) -> str:
    return f"{100 * size / whole:.1f} %" if whole else "–"
