"""Checks that what the compiler says of one step agrees with itself, and with what graphmem made of it."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np

from graphmem.errors import InternalError
from graphmem.xla.allocations import Assignment
from graphmem.xla.buffers import Buffers
from graphmem.xla.intervals import Interval


def check(assignment: Assignment, buffers: Buffers, traces: Any, total: np.ndarray) -> None:
    """Check a compiled step.

    Args:
        assignment: the compiler's allocations.
        buffers: what was made of them.
        traces: the `HeapSimulatorTrace`s.
        total: bytes of temporary memory in use at each position.

    Raises:
        InternalError: a buffer leaves its allocation, two lie in the same place at the same time, or the most that is
            in use at once is not what the compiler's own simulation gives.
    """
    by_allocation: dict[int, list[Interval]] = {}
    for item in buffers.intervals:
        if item.offset < 0 or item.offset + item.nbytes > assignment.allocations[item.allocation].nbytes:
            raise InternalError(f"{_name(item)} of XLA's buffer assignment leaves allocation {item.allocation}")
        by_allocation.setdefault(item.allocation, []).append(item)
    for items in by_allocation.values():
        _check_apart(items)
    for trace, items in zip(traces, buffers.traces, strict=True):
        simulated, read = _heap_peak(trace, assignment), _peak(items, len(total))
        if simulated != read:
            raise InternalError(f"XLA's heap simulator needs {simulated} bytes at once, its schedule {read}")


def _check_apart(items: list[Interval]) -> None:
    """No two intervals overlap in time and in place; those alive are kept sorted by their offsets."""
    changes = [(item.born, True, place) for place, item in enumerate(items) if item.nbytes]
    changes += [(item.freed, False, place) for place, item in enumerate(items) if item.nbytes]
    alive: list[tuple[int, int]] = []
    for _, starts, place in sorted(changes):  # at the same position, what ends does so first
        item = items[place]
        where = bisect.bisect_left(alive, (item.offset, place))
        if not starts:
            del alive[where]
            continue
        for _, other in alive[max(where - 1, 0) : where + 1]:
            near = items[other]
            if item.offset < near.offset + near.nbytes and near.offset < item.offset + item.nbytes:
                raise InternalError(f"{_name(item)} and {_name(near)} of XLA's buffer assignment overlap")
        alive.insert(where, (item.offset, place))


def _heap_peak(trace: Any, assignment: Assignment) -> int:
    """The most bytes that a trace has allocated at once, buffers that are shared counted once."""
    first: dict[int, int] = {}
    holders: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for event in trace.events:
        if event.kind != 1:
            first[event.buffer_id] = first[event.share_with_canonical_id] if event.kind == 2 else event.buffer_id
            group, size = first[event.buffer_id], assignment.pieces[event.buffer_id].nbytes
            sizes[group] = max(sizes.get(group, 0), size)
    live = peak = 0
    for event in trace.events:
        group = first[event.buffer_id]
        held = holders[group] = holders.get(group, 0) + (-1 if event.kind == 1 else 1)
        if event.kind == 1 and not held:
            live -= sizes[group]
        elif event.kind != 1 and held == 1:
            live += sizes[group]
            peak = max(peak, live)
    return peak


def _peak(items: list[Interval], end: int) -> int:
    change: np.ndarray = np.zeros(end + 1, np.int64)
    for item in items:
        change[item.born] += item.nbytes
        change[item.freed] -= item.nbytes
    return int(np.cumsum(change).max(initial=0))


def _name(item: Interval) -> str:
    return f"logical buffer {item.members[0]}"
