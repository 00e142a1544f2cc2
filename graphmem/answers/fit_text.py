"""What fits, in words, and as JSON of schema 1 (docs/fit.md)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from graphmem.answers.fit import Fit, in_use
from graphmem.render.tables import AtLeast, Cell, Column, Table
from graphmem.render.tables import as_text as table_as_text
from graphmem.units import format_bytes

if TYPE_CHECKING:
    from graphmem.report.report import Report


def as_text(fit: Fit, width: int = 80, color: bool = False) -> str:
    """The answer on the first line, a row for the value found and for the next one, and what else is to be known."""
    return table_as_text(as_table(fit), width, color)


def as_table(fit: Fit) -> Table:
    """The value found and the next one as a table."""
    columns = (
        Column(_name(fit.vary), "count"), Column("needed_bytes", "bytes", "needs"),
        Column("in_use_bytes", "bytes", "in use"), Column("fits", "sentence"),
    )  # fmt: skip
    rows = []
    if fit.value is None:
        rows.append(_row(fit, fit.smallest, fit.report))
    else:
        rows.append(_row(fit, fit.value, fit.report))
        if fit.next_value is not None and fit.next_report is not None:
            rows.append(_row(fit, fit.next_value, fit.next_report))
    notes = [*([_accumulated(fit)] if fit.accumulation else []), *fit.notes, _modelled(fit)]
    return Table(columns, tuple(rows), headline(fit), tuple(f"{note[0].upper()}{note[1:]}." for note in notes))


def headline(fit: Fit) -> str:
    """The answer in a sentence."""
    budget = format_bytes(fit.budget_bytes)
    kept = f" ({format_bytes(fit.reserve_bytes)} kept for others)" if fit.reserve_bytes else ""
    if fit.value is not None:
        return f"{fit.target}: the largest {fit.vary} that fits into {budget}{kept} is {fit.value}."
    over = max(in_use(fit.report), fit.report.needed_bytes) - fit.budget_bytes
    more = f", {format_bytes(over)} more than there is" if over > 0 else ""
    return (
        f"{fit.target}: nothing fits into {budget}{kept}: {fit.vary} {fit.smallest} needs "
        f"{format_bytes(fit.report.needed_bytes)}{more}."
    )


def _row(fit: Fit, value: int, report: Report) -> tuple[Cell, ...]:
    fails = report.allocator["fails"]
    need: Cell = AtLeast(report.needed_bytes) if report.at_least else report.needed_bytes
    if value == fit.value:
        return value, need, in_use(report), f"yes, {format_bytes(fit.margin_bytes or 0)} left"
    return value, need, None, f"no: {_failure(fails)}" if fails else "no: not in every order"


def _failure(fails: dict[str, Any]) -> str:
    place = f" at {fails['op_type']} of {fails['scope'] or fails['op']}" if fails["op"] else ""
    pieces = f", {format_bytes(fails['largest_free_bytes'])} of it in one piece"
    pieces = pieces if fails["largest_free_bytes"] < fails["free_bytes"] else ""
    asked, free = format_bytes(fails["requested_bytes"]), format_bytes(fails["free_bytes"])
    return f"{fails['when']} fails{place}, asking for {asked} with {free} free{pieces}"


def _accumulated(fit: Fit) -> str:
    found = fit.accumulation
    assert found is not None
    if found.steps == 1:
        return f"a batch of {found.target_batch} fits as it is"
    return (
        f"a batch of {found.target_batch} is reached by {found.steps} steps of {found.batch}, gradients added up: they "
        f"take {format_bytes(found.accumulator_bytes)}, for which there is room"
    )


def _modelled(fit: Fit) -> str:
    report = fit.report
    where = f"{report.device.upper()}{f' ({report.card})' if report.card else ''}"
    how = "compiled by XLA" if report.runtime == "xla" else f"op by op, {report.allocator['name']} allocator"
    counts = f"full analyses: {fit.analyses}, traces: {fit.traces}"
    return f"{report.step} step on {where}, {how}; {counts}"


def as_dict(fit: Fit) -> dict[str, Any]:
    """The answer as JSON-ready data."""
    report, found = fit.report, fit.accumulation
    following = None
    if fit.next_value is not None and fit.next_report is not None:
        following = {"value": fit.next_value, **_figures(fit.next_report)}
    return {
        "schema": 1,
        "target": fit.target,
        "vary": fit.vary,
        "budget_bytes": fit.budget_bytes,
        "reserve_bytes": fit.reserve_bytes,
        "value": fit.value,
        "margin_bytes": fit.margin_bytes,
        "fit": None if fit.value is None else {"value": fit.value, **_figures(report)},
        "next": following,
        "smallest": {"value": fit.smallest, **_figures(report)} if fit.value is None else None,
        "accumulation": None if found is None else vars(found),
        "step": report.step,
        "device": report.device,
        "card": report.card,
        "runtime": report.runtime,
        "allocator": report.allocator["name"],
        "traces": fit.traces,
        "analyses": fit.analyses,
        "versions": report.versions,
        "notes": fit.notes,
    }


def _figures(report: Report) -> dict[str, Any]:
    fails = report.allocator["fails"]
    return {
        "needed_bytes": report.needed_bytes,
        "at_least": report.at_least,
        "in_use_bytes": None if fails else in_use(report),
        "fails": fails,
        "failing_orders": report.allocator["failing_orders"],
        "orders": report.orders,
    }


def as_json(fit: Fit) -> str:
    """The answer as JSON text."""
    return json.dumps(as_dict(fit), indent=1) + "\n"


def _name(vary: str) -> str:
    return vary.replace("-", "_").replace(".", "_")
