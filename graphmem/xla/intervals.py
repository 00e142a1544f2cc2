"""When temporary memory is in use: the heap simulator's traces, put on the positions of the schedule.

A trace says in which order buffers are allocated, shared and freed, without times. An allocation happens while the
instruction runs that defines the buffer (a loop's parameters: when its computation starts); a buffer is freed after all
allocations of some instruction and before those of the next that makes any (`HeapSimulator::RunComputation`). Where
that leaves a choice, the last instruction that reads the buffer decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from graphmem.errors import InternalError
from graphmem.xla.allocations import TEMP, Assignment, Piece

_ALLOC, _FREE, _SHARE = range(3)


@dataclass(slots=True)
class Interval:
    """A part of a temporary allocation in use, without a gap, by one or more logical buffers.

    Attributes:
        allocation, offset, nbytes: what is in use.
        members: logical buffers, in the order in which they come to use it.
        born: position at which the first does.
        earliest, latest: positions between which it is freed: `earliest` is the first at whose end it may be.
        freed: position from which it is free; set by `close`.
    """

    allocation: int
    offset: int
    nbytes: int
    members: list[int]
    born: int
    earliest: int
    latest: int
    freed: int = -1

    def close(self, last_use: int) -> None:
        """Set when it is free, from the position of its last use."""
        self.freed = min(max(last_use, self.earliest, self.born), max(self.latest, self.earliest)) + 1


def read_trace(
    events: Iterable[Any], assignment: Assignment, start_of: Callable[[int], int], end: int
) -> list[Interval]:
    """The intervals of one heap simulator's trace.

    Args:
        events: of the trace.
        assignment: where each logical buffer lies.
        start_of: the position at which the instruction that defines a logical buffer starts.
        end: number of positions: what is never freed lives until then.

    Raises:
        InternalError: the trace frees or shares what it has not allocated.
    """
    rows = [(event.kind, event.buffer_id, event.share_with_canonical_id) for event in events]
    groups: dict[int, list[Any]] = {}  # logical buffer -> [its open or last interval, holders, event that freed it]
    found: list[Interval] = []
    try:
        times = _times([(kind, 0 if kind == _FREE else start_of(number)) for kind, number, _ in rows], end)
        for place, (kind, number, shared) in enumerate(rows):
            if kind == _FREE:
                group = groups[number]
                group[1] -= 1
                if not group[1]:
                    group[0].earliest, group[0].latest, group[2] = *times[place], place
                continue
            group = groups[shared] if kind == _SHARE else [None, 0, -1]
            groups[number], piece = group, assignment.pieces[number]
            if (not group[1] and group[2] != place - 1) or group[0] is None:
                group[0] = _new(piece, times[place][0], end - 1, end - 1)
                found.append(group[0])
            elif not group[1]:  # taken over by the instruction that reads it last
                group[0].earliest = group[0].latest = end - 1
            group[0].members.append(number)
            group[0].nbytes = max(group[0].nbytes, piece.nbytes)
            group[1] += 1
    except KeyError as error:
        raise InternalError(f"XLA's heap trace names buffer {error}, which it has not allocated") from error
    return found


def untraced(
    assignment: Assignment, traced: set[int], start_of: Callable[[int], int | None], end: int
) -> list[Interval]:
    """Intervals for temporary memory that no trace covers: from its first definition to its last use."""
    found: dict[Piece, Interval] = {}
    for index, allocation in assignment.allocations.items():
        for number in allocation.logical if allocation.kind == TEMP else ():
            start = start_of(number)
            if number in traced or start is None:
                continue
            piece = assignment.pieces[number]
            interval = found.setdefault(Piece(index, piece.offset, 0), _new(piece, start, start, end - 1))
            interval.members.append(number)
            interval.nbytes = max(interval.nbytes, piece.nbytes)
            interval.born, interval.earliest = min(interval.born, start), max(interval.earliest, start)
    return list(found.values())


def _new(piece: Piece, born: int, earliest: int, latest: int) -> Interval:
    return Interval(piece.allocation, piece.offset, 0, [], born, earliest, latest)


def _times(events: list[tuple[int, int]], end: int) -> list[tuple[int, int]]:
    """Of each event (its kind, and where the instruction that allocates starts), between which positions it happens.

    What runs beside the schedule (`async-start`) is allocated before its position: the next event bounds it.
    """
    out = [(0, 0)] * len(events)
    following = end
    for place in range(len(events) - 1, -1, -1):
        kind, start = events[place]
        if kind != _FREE:
            following = min(following, start)
        out[place] = following, following - (kind == _FREE)
    previous = 0
    for place, (kind, _) in enumerate(events):
        if kind == _FREE:
            out[place] = previous, out[place][1]
        else:
            previous = out[place][0]
    return out
