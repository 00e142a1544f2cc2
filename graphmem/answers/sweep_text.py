"""A sweep as a table, and as JSON of schema 1 (docs/sweep.md)."""

from __future__ import annotations

import json
from typing import Any

from graphmem.answers.sweep import Sweep, SweptPoint
from graphmem.render.tables import AtLeast, Cell, Column, Table
from graphmem.units import format_bytes

OWN = (
    "needed_bytes",
    "in_use_bytes",
    "step_peak_bytes",
    "weight_bytes",
    "optimizer_bytes",
    "at_least",
    "fits",
    "error",
)


def as_table(sweep: Sweep) -> Table:
    """A row per point, in the order of the combinations; points that failed say why."""
    columns = [_axis_column(axis.name, axis.values) for axis in sweep.axes]
    limited = any(point.result.get("fits") is not None for point in sweep.points)
    columns += [
        Column("needed_bytes", "bytes", "needs"),
        Column("in_use_bytes", "bytes", "in use", for_people=limited),
        Column("step_peak_bytes", "bytes", "step peak"),
        Column("weight_bytes", "bytes", "weights", for_people=False),
        Column("optimizer_bytes", "bytes", "optimizer", for_people=False),
        Column("at_least", "text", for_people=False),
        Column("fits", "text", for_people=limited),
        Column("error", "sentence", for_people=bool(sweep.failed)),
    ]
    return Table(tuple(columns), tuple(_row(point) for point in sweep.points), _title(sweep), _notes(sweep))


def _axis_column(name: str, values: tuple[Any, ...]) -> Column:
    whole = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
    column = name.replace("-", "_").replace(".", "_")
    return Column(f"over_{column}" if column in OWN else column, "count" if whole else "text", name)


def _row(point: SweptPoint) -> tuple[Cell, ...]:
    values = [
        value if value is None or isinstance(value, (int, str)) else str(value) for value in point.values.values()
    ]
    if point.error is not None:
        return (*values, *([None] * 7), point.error)
    result = point.result
    need: Cell = AtLeast(result["needed_bytes"]) if result["at_least"] else result["needed_bytes"]
    others = [result[name] for name in OWN[1:7]]
    return (*values, need, *others, None)


def _title(sweep: Sweep) -> str:
    budget = sweep.budget_bytes
    within = f", within {format_bytes(budget)}" if budget is not None else ""
    return f"{sweep.target} over {', '.join(axis.name for axis in sweep.axes)}{within}"


def _notes(sweep: Sweep) -> tuple[str, ...]:
    done = [point.result for point in sweep.points if point.error is None]
    notes = []
    if sweep.failed:
        notes.append(f"{len(sweep.failed)} of {len(sweep.points)} points failed.")
    same = {(one["step"], one["device"], one["card"], one["runtime"]) for one in done}
    if len(same) == 1:
        step, device, card, runtime = same.pop()
        how = "compiled by XLA" if runtime == "xla" else "op by op"
        notes.append(f"{step.capitalize()} step on {device.upper()}{f' ({card})' if card else ''}, {how}.")
    return tuple(notes)


def as_dict(sweep: Sweep) -> dict[str, Any]:
    """The sweep as JSON-ready data."""
    return {
        "schema": 1,
        "target": sweep.target,
        "axes": [{"name": axis.name, "values": list(axis.values)} for axis in sweep.axes],
        "budget_bytes": sweep.budget_bytes,
        "points": [_point(point) for point in sweep.points],
        "failed": len(sweep.failed),
    }


def _point(point: SweptPoint) -> dict[str, Any]:
    if point.error is not None:
        return {"values": point.values, "error": point.error}
    return {"values": point.values, "error": None, **point.result}


def as_json(sweep: Sweep) -> str:
    """The sweep as JSON text."""
    return json.dumps(as_dict(sweep), indent=1) + "\n"
