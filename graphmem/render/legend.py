"""The foot of the frontier picture: legend and sums in one."""

from __future__ import annotations

from itertools import zip_longest

from graphmem.render.colours import in_role_order
from graphmem.render.frontier_content import held_all_along
from graphmem.render.markup import TABLE, escape
from graphmem.render.themes import Theme
from graphmem.report.report import Report
from graphmem.units import format_bytes

_GAP = 14
"""Points between the two sides."""

_WIDEST = 165
"""Points of one side: figures stay near their words."""


def foot(report: Report, total_width: int, theme: Theme, ports: str = "") -> str:
    """Attributes of the node below the boxes: what is alive at the peak, by role, and what the step holds all along.

    The boxes add up to the former. The latter are variables, inputs and constants, which no order of the ops can free.
    """
    alive: dict[str, int] = {}
    for buffer in report.frontier:
        alive[buffer.role] = alive.get(buffer.role, 0) + (buffer.bytes or 0)
    held = dict(held_all_along(report))
    bound = "≥ " if report.at_least else ""
    left = _entries("alive at the peak", bound, report.step_peak_bytes, alive, theme)
    right = _entries("held all along", "", sum(held.values()), held, theme)
    width = min((total_width - _GAP) // 2, _WIDEST)
    left_over = f'<td width="{total_width - 2 * width - _GAP}"></td>' if width == _WIDEST else ""
    rows = "".join(
        f'<tr>{_cells(one, width, theme)}<td width="{_GAP}"></td>{_cells(other, width, theme)}{left_over}</tr>'
        for one, other in zip_longest(left, right)
    )
    total = f"<b>needed in all: {bound}{format_bytes(report.needed_bytes)}</b>"
    rows += f'<tr><td colspan="7" align="right">{total}</td></tr>'
    table = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="1">{rows}</table>'
    return f"label=<<table {TABLE}>{ports}<tr><td>{table}</td></tr></table>>" if ports else f"label=<{table}>"


def _entries(title: str, bound: str, total: int, roles: dict[str, int], theme: Theme) -> list[tuple[str, str, str]]:
    """(colour, words, figure) for each line of one side; the title has no colour."""
    lines = [(theme.fill(role), role, format_bytes(size)) for role, size in in_role_order(roles)]
    return [("", title, bound + format_bytes(total)), *lines]


def _cells(entry: tuple[str, str, str] | None, width: int, theme: Theme) -> str:
    if entry is None:
        return '<td colspan="3"></td>'
    colour, words, figure = entry
    if not colour:
        return f'<td colspan="2" align="left"><b>{words}</b></td><td align="right" width="46"><b>{figure}</b></td>'
    swatch = (
        '<table border="0" cellborder="1" cellspacing="0" cellpadding="0"><tr>'
        f'<td width="9" height="6" fixedsize="true" color="{theme.faint}" bgcolor="{colour}"></td></tr></table>'
    )
    name = f'<td align="left" width="{width - 60}">{escape(words)}</td>'
    return f'<td width="14" align="left">{swatch}</td>{name}<td align="right" width="46">{figure}</td>'
