"""The peak of a step as one table: what is held all along and what the step holds at its worst moment, by role."""

from __future__ import annotations

from graphmem.render.caption import caption
from graphmem.render.colours import in_role_order
from graphmem.render.tables import AtLeast, Cell, Column, Table
from graphmem.render.words import headline
from graphmem.report.report import Report

_COLUMNS = (Column("memory"), Column("bytes", "bytes", "size"), Column("share", "percent"))


def peak_table(report: Report) -> Table:
    """Rows that add up to the last one, `needed`; the caption and what is not counted are its notes."""
    held = [
        ("weights", report.weight_bytes),
        ("optimizer state", report.optimizer_bytes),
        ("other state", report.other_state_bytes),
        ("constants", report.constant_bytes),
        ("inputs", report.argument_bytes),
        ("outputs", report.output_bytes),
    ]
    step = [(f"{role} at the peak", size) for role, size in in_role_order(report.by_role)]
    rows = [_row(name, size, report) for name, size in (*held, *step) if size]
    needed: Cell = AtLeast(report.needed_bytes) if report.at_least else report.needed_bytes
    rows.append(("needed", needed, 1.0 if report.needed_bytes else None))
    notes = (caption(report, "table"), *(f"Not counted: {text}" for text in report.not_counted), *report.notes)
    return Table(_COLUMNS, tuple(rows), title=" ".join(headline(report, 1000)), notes=notes, bold=(len(rows) - 1,))


def _row(name: str, size: int, report: Report) -> tuple[Cell, ...]:
    return name, size, size / report.needed_bytes
