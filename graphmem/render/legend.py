"""The foot of the frontier picture: legend and sums in one."""

from __future__ import annotations

from itertools import zip_longest

from graphmem.render.boxes import Sheet, escape
from graphmem.render.colours import in_role_order
from graphmem.render.themes import Theme
from graphmem.report.report import Report
from graphmem.units import format_bytes

_GAP = 14
"""Points between the two sides."""


def foot(report: Report, sheet: Sheet) -> str:
    """Attributes of the node below the boxes: what is alive at the peak, by role, and what the step holds all along.

    The boxes add up to the former. The latter are variables, inputs and constants, which no order of the ops can free.
    """
    alive: dict[str, int] = {}
    for buffer in report.frontier:
        alive[buffer.role] = alive.get(buffer.role, 0) + (buffer.bytes or 0)
    held = {
        "weight": report.weight_bytes,
        "optimizer state": report.optimizer_bytes,
        "other state": report.other_state_bytes,
        "input": report.argument_bytes,
        "constant": report.constant_bytes,
        "output": report.output_bytes,
    }
    held = {role: size for role, size in held.items() if size}
    theme = sheet.theme
    bound = "≥ " if report.at_least else ""
    left = _entries("alive at the peak", bound, report.step_peak_bytes, alive, theme)
    right = _entries("held all along", "", sum(held.values()), held, theme)
    width = (sheet.total - _GAP) // 2
    rows = "".join(
        f'<tr>{_cells(one, width, theme)}<td width="{_GAP}"></td>{_cells(other, width, theme)}</tr>'
        for one, other in zip_longest(left, right)
    )
    total = f"<b>needed in all: {bound}{format_bytes(report.needed_bytes)}</b>"
    rows += f'<tr><td colspan="7" align="right">{total}</td></tr>'
    return f'label=<<table border="0" cellborder="0" cellspacing="0" cellpadding="1">{rows}</table>>'


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
