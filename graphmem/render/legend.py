"""The foot of the frontier picture: legend and sums in one."""

from __future__ import annotations

from graphmem.render.boxes import Columns, escape
from graphmem.render.colours import FAINT, in_role_order, role_style
from graphmem.report.report import Report
from graphmem.units import format_bytes


def alive_table(report: Report, columns: Columns) -> str:
    """What the step has alive at the peak, by role: the bytes of the boxes add up to these."""
    roles: dict[str, int] = {}
    for buffer in report.frontier:
        roles[buffer.role] = roles.get(buffer.role, 0) + (buffer.bytes or 0)
    bound = "≥ " if report.at_least else ""
    return _table("alive at the peak", bound + format_bytes(report.step_peak_bytes), roles, columns)


def held_table(report: Report, columns: Columns) -> str:
    """What the step holds from start to end, by role: variables, inputs, constants."""
    roles = {
        "weight": report.weight_bytes,
        "optimizer state": report.optimizer_bytes,
        "other state": report.other_state_bytes,
        "input": report.argument_bytes,
        "constant": report.constant_bytes,
    }
    held = {role: size for role, size in roles.items() if size}
    return _table("held all along", format_bytes(sum(held.values())), held, columns)


def _table(title: str, figure: str, roles: dict[str, int], columns: Columns) -> str:
    width = columns.total // 2 - 8
    rows = f'<tr><td colspan="2" align="left"><b>{title}</b></td><td align="right"><b>{figure}</b></td></tr>'
    rows += "".join(_entry(role, size, width) for role, size in in_role_order(roles))
    return f'<table border="0" cellborder="0" cellspacing="0" cellpadding="1" width="{width}">{rows}</table>'


def _entry(role: str, size: int, width: int) -> str:
    swatch = (
        '<table border="0" cellborder="1" cellspacing="0" cellpadding="0"><tr>'
        f'<td width="9" height="6" fixedsize="true" color="{FAINT}" bgcolor="{role_style(role).fill}"></td></tr></table>'
    )
    name = f'<td align="left" width="{width - 60}">{escape(role)}</td>'
    return f'<tr><td width="12">{swatch}</td>{name}<td align="right">{format_bytes(size)}</td></tr>'
