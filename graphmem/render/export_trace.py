"""The step as a trace of Chrome's format, for Perfetto (https://ui.perfetto.dev) and chrome://tracing.

A schedule has no clock: a position of it is told as a microsecond. Of a schedule of more than `POINTS` positions each
event is the highest of some that follow each other. Format: Chromium's "Trace Event Format".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from graphmem.render.spans import columns
from graphmem.render.timeline import held_of, timeline_of
from graphmem.report.report import Report

POINTS = 100_000
"""Positions that are told one by one; a trace of so many is some 40 MB."""

_PROCESS = 1
_OPS, _PHASES = 1, 2
_Event = dict[str, Any]


def as_chrome_trace(report: Report) -> str:
    """JSON, an event per line: counters of bytes by role, ops and phases as slices, what is alive at the peak as spans.

    Ops are missing from a report that was loaded from JSON.

    Raises:
        TargetError: the report was saved without its timeline.
    """
    events = [*_names(report), *_counters(report), *_phases(report), *_ops(report), *_frontier(report)]
    about = {"target": report.target, "step": report.step, "peak_bytes": report.needed_bytes, **report.versions}
    lines = ",\n".join(map(json.dumps, events))
    return f'{{"displayTimeUnit": "ns",\n"otherData": {json.dumps(about)},\n"traceEvents": [\n{lines}\n]}}\n'


def _names(report: Report) -> Iterator[_Event]:
    name = f"{report.target} {report.step} step: 1 position of the schedule = 1 us"
    each = -(-len(timeline_of(report).total) // POINTS)
    name += f", each event the highest of {each}" if each > 1 else ""
    yield {"ph": "M", "pid": _PROCESS, "name": "process_name", "args": {"name": name}}
    for thread, title in ((_OPS, "ops"), (_PHASES, "phases")):
        yield {"ph": "M", "pid": _PROCESS, "tid": thread, "name": "thread_name", "args": {"name": title}}


def _counters(report: Report) -> Iterator[_Event]:
    """A counter's value holds until its next event: only changes are told."""
    found, held = timeline_of(report), held_of(report)
    always = {f"{role} (held)": size for role, size in held.items()}
    before: dict[str, int] | None = None
    for start, at in zip(*columns(found.total, POINTS), strict=True):
        now = always | {role: values[at] for role, values in found.by_role.items()}
        if now != before:
            yield {"ph": "C", "pid": _PROCESS, "ts": start, "name": "bytes alive", "args": now}
            before = now


def _phases(report: Report) -> Iterator[_Event]:
    for name, start, end in timeline_of(report).phases:
        yield _slice(name, _PHASES, start, end - start, {})


def _ops(report: Report) -> Iterator[_Event]:
    if report.simulation is None:
        return
    ops, total = report.simulation.graph.ops, timeline_of(report).total
    starts, at = columns(total, POINTS)
    for start, end, position in zip(starts, [*starts[1:], len(total)], at, strict=True):
        op = ops[report.simulation.schedule.ops[position]]
        told = {
            "op": op.name,
            "scope": op.scope,
            "phase": op.phase,
            "source": op.source,
            "bytes alive": total[position],
        }
        yield _slice(op.type, _OPS, start, end - start, {key: value for key, value in told.items() if value != ""})


def _frontier(report: Report) -> Iterator[_Event]:
    """The buffers alive at the peak, each from its birth to its end."""
    for number, buffer in enumerate(report.frontier):
        common = {"cat": "alive at the peak", "id": number, "pid": _PROCESS, "tid": _OPS, "name": buffer.tensor}
        told = {"bytes": buffer.bytes, "role": buffer.role, "scope": buffer.scope, "last reader": buffer.last_reader}
        yield {"ph": "b", "ts": buffer.born, **common, "args": told}
        yield {"ph": "e", "ts": buffer.freed, **common}


def _slice(name: str, thread: int, start: int, length: int, args: dict[str, Any]) -> _Event:
    return {"ph": "X", "pid": _PROCESS, "tid": thread, "ts": start, "dur": length, "name": name, "args": args}
