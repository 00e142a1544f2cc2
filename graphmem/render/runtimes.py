"""One step run op by op and compiled by XLA, side by side: which needs less, and what makes the difference."""

from __future__ import annotations

from typing import Any

from graphmem.graph.model import ROLES
from graphmem.render.tables import AtLeast, Cell, Column, Table, as_text
from graphmem.render.words import headline
from graphmem.report.report import SCHEMA, Report
from graphmem.units import format_bytes

_COLUMNS = (
    Column("line"),
    Column("graph_bytes", "bytes", "op by op"),
    Column("xla_bytes", "bytes", "compiled by XLA"),
    Column("saved_bytes", "bytes", "XLA needs less by"),
)


def both_as_text(graph: Report, xla: Report, *, width: int = 80, color: bool = False) -> str:
    """Which runtime needs less, and by what, for a terminal.

    Args:
        graph, xla: reports of the same step on the same device.
        width: columns.
        color: whether ANSI colours are written.
    """
    table = both_as_table(graph, xla)
    title = headline(graph, width)[0].partition(": ")[0]
    return f"{title}\n{verdict(graph, xla)}\n\n{as_text(table, width=width, color=color)}"


def verdict(graph: Report, xla: Report) -> str:
    """Which needs less, in a clause."""
    of_graph, of_xla = graph.needed_bytes, xla.needed_bytes
    if abs(of_graph - of_xla) < 0.01 * max(of_graph, of_xla):
        return f"op by op or compiled by XLA: the same within 1 % ({format_bytes(of_graph)})"
    less, more = (of_xla, of_graph) if of_xla < of_graph else (of_graph, of_xla)
    names = ("compiled by XLA", "op by op") if of_xla < of_graph else ("op by op", "compiled by XLA")
    return (
        f"{names[0]} needs {100 * (1 - less / more):.0f} % less than {names[1]}: "
        f"{format_bytes(less)} instead of {format_bytes(more)}"
    )


def both_as_table(graph: Report, xla: Report) -> Table:
    """The lines of both reports, and the roles of both step peaks."""
    lines = [
        ("needed", graph.needed_bytes, xla.needed_bytes),
        ("resident", graph.resident_bytes, xla.resident_bytes),
        ("inputs", graph.argument_bytes, xla.argument_bytes),
        ("outputs", graph.output_bytes, xla.output_bytes),
        ("step peak", graph.step_peak_bytes, xla.step_peak_bytes),
        *((f"  {role}", graph.by_role.get(role, 0), xla.by_role.get(role, 0)) for role in ROLES),
    ]
    rows = [_row(name, ours, theirs, graph, xla) for name, ours, theirs in lines if ours or theirs]
    notes = [_why(graph, xla)]
    notes += [f"XLA: {note}" for note in xla.notes if note not in graph.notes]
    notes += [f"Op by op: {note}" for note in graph.notes if note not in xla.notes]
    notes += [note for note in graph.notes if note in xla.notes]
    return Table(_COLUMNS, tuple(rows), notes=tuple(notes), bold=(0,))


def _row(name: str, ours: int, theirs: int, graph: Report, xla: Report) -> tuple[Cell, ...]:
    """A line; what is unknown makes the whole, and the step's part of it, a lower bound."""
    open_ended = name in ("needed", "step peak")
    return (
        name,
        AtLeast(ours) if open_ended and graph.at_least else ours,
        AtLeast(theirs) if open_ended and xla.at_least else theirs,
        ours - theirs,
    )


def _why(graph: Report, xla: Report) -> str:
    """The role that differs most, in a sentence."""
    differences = {role: graph.by_role.get(role, 0) - xla.by_role.get(role, 0) for role in ROLES}
    role = max(differences, key=lambda name: abs(differences[name]))
    size = differences[role]
    if not size:
        return "The step peaks hold the same, role by role."
    if size > 0:
        return (
            f"Most of the difference is {format_bytes(size)} of {role} that XLA, which fuses ops and plans the whole "
            "step, does not have alive at its peak."
        )
    return (
        f"Most of the difference is {format_bytes(-size)} of {role} that XLA has alive at its peak and the op-by-op "
        "runtime frees before its own."
    )


def both_as_dict(graph: Report, xla: Report) -> dict[str, Any]:
    """Both reports as JSON-ready data, and which needs less."""
    less = "xla" if xla.needed_bytes < graph.needed_bytes else "graph"
    return {"schema": SCHEMA, "needs_less": less, "graph": graph.to_dict(), "xla": xla.to_dict()}
