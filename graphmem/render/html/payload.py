"""What the page's scripts read: columns of numbers, names in one table, bounded however long the step is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from graphmem.graph.model import ROLES
from graphmem.render.spans import bands, columns
from graphmem.render.timeline import allocator_curves, held_of
from graphmem.report.report import FrontierBuffer, Report, Timeline
from graphmem.report.tensors import ops_at, tensors_of

COLUMNS = 20_000
"""Points of the timeline: a longer step has the highest position of each stretch of it."""

ROWS = 20_000
"""Tensors told one by one; all others are told as a sum."""

TEXT = 4_000_000
"""Characters that the tensors' names may take together."""


class Texts:
    """Texts that occur often, told once: `texts(word)` is the word's number."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        """The text's number, a new one for a new text."""
        return self.number.setdefault(text, len(self.number))


def payload(report: Report) -> dict[str, Any]:
    """The data of a page, JSON-ready.

    Keys:
        texts: what the numbers named so below stand for.
        positions, peak, needed, limit: of the schedule (ops), the peak's position, bytes needed and allowed.
        roles: in the order of every picture.
        timeline: see `_timeline`; `None` if the report has none.
        tensors: a column per field, largest tensor first; `all` is how many there are, listed or not.
        whole: whether tensors that are not alive at the peak are listed as well.
    """
    texts = Texts()
    peak = report.peak
    # The texts are numbered as they are met.
    tensors, timeline = _tensors(report, texts), _timeline(report, texts)
    return {
        "positions": peak.positions,
        "peak": {"position": peak.position, "op": [texts(peak.op_type), texts(peak.scope), texts(peak.phase)]},
        "needed": report.needed_bytes,
        "atLeast": report.at_least,
        "limit": report.allocator.get("limit_bytes"),
        "roles": _roles(report),
        "timeline": timeline,
        "tensors": tensors,
        "whole": report.simulation is not None,
        "texts": list(texts.number),
    }


def _roles(report: Report) -> list[str]:
    """All roles that the step has at any time."""
    found = {*report.by_role, *held_of(report), *(report.timeline.by_role if report.timeline else ())}
    return [*(role for role in ROLES if role in found), *sorted(found - set(ROLES))]


def _timeline(report: Report, texts: Texts) -> dict[str, Any] | None:
    """The columns of the chart.

    Keys:
        at: the position of each column, as steps from one to the next.
        roles: role -> bytes at each of them, what is held all along included, as steps from one to the next.
        curves: (name, bytes at each of them) of what an allocator has, the pool last; missing where none was simulated.
        bands: (phase, from, to) as they are shaded.
        ops: type, scope and phase of what runs there, as numbers of texts; missing in a report without its step.
    """
    timeline = report.timeline
    if timeline is None or not timeline.total:
        return None
    starts, at = columns(timeline.total, COLUMNS)
    found: dict[str, Any] = {
        "at": steps(at),
        "roles": {role: steps(_values(report, timeline, role, at)) for role in _roles(report)},
        "bands": [[texts(name), first, last] for name, first, last in bands(timeline.phases, timeline.total)],
    }
    if curves := allocator_curves(report):
        found["curves"] = [[name, steps(_highest(values, starts))] for name, values in curves]
    if report.simulation is not None:
        ops = ops_at(report.simulation, at)
        found["ops"] = [[texts(getattr(op, name)) for op in ops] for name in ("type", "scope", "phase")]
    return found


def _values(report: Report, timeline: Timeline, role: str, at: Sequence[int]) -> list[int]:
    held, values = held_of(report).get(role, 0), timeline.by_role.get(role)
    return [held + (values[position] if values else 0) for position in at]


def _highest(values: Sequence[int], starts: Sequence[int]) -> list[int]:
    """The most within each column, up to where the values end."""
    ends = [*starts[1:], len(values)]
    return [max(values[start:end]) for start, end in zip(starts, ends, strict=True) if start < len(values)]


def steps(values: Iterable[int]) -> list[int]:
    """The first value, and by how much each differs from the one before: short where little changes.

    >>> steps([7, 7, 9, 4])
    [7, 0, 2, -5]
    """
    listed = list(values)
    return [*listed[:1], *(after - before for before, after in pairwise(listed))]


def _tensors(report: Report, texts: Texts) -> dict[str, Any]:
    rows, count = tensors_of(report, ROWS)
    rows = _within(rows, TEXT)
    return {
        "all": count,
        "bytes": [row.bytes for row in rows],
        "born": [row.born for row in rows],
        "freed": [row.freed for row in rows],
        "name": [texts(row.tensor) for row in rows],
        "shape": [texts(_shape(row)) for row in rows],
        "dtype": [texts(row.dtype) for row in rows],
        "role": [texts(row.role) for row in rows],
        "phase": [texts(row.phase or "whole step") for row in rows],
        "scope": [texts(row.scope) for row in rows],
        "by": [texts(row.made_by) for row in rows],
        "reader": [texts(_reader(row)) for row in rows],
        "source": [texts(row.source) for row in rows],
    }


def _within(rows: list[FrontierBuffer], characters: int) -> list[FrontierBuffer]:
    """As many rows as have names of so many characters together."""
    for number, row in enumerate(rows):
        characters -= len(row.tensor) + len(row.last_reader_scope)
        if characters < 0:
            return rows[:number]
    return rows


def _shape(row: FrontierBuffer) -> str:
    if row.shape is None:
        return ""
    return "×".join("?" if dim is None else str(dim) for dim in row.shape) or "scalar"


def _reader(row: FrontierBuffer) -> str:
    if not row.last_reader_type or row.last_reader_scope in ("", row.scope):
        return row.last_reader_type
    return f"{row.last_reader_type} in {row.last_reader_scope}"
