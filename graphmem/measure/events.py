"""What an allocator did while a step ran, and what was alive at its worst moment: pure data, no TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Event(NamedTuple):
    """One allocation or release.

    Attributes:
        allocates: whether it is an allocation.
        address: of the memory.
        requested: bytes that were asked for.
        granted: bytes that the allocator gave, rounded up.
        in_use: bytes that the allocator counts as in use afterwards, whoever holds them.
        op: name of the op that was running, "" for an allocation outside of any op and for a release.
    """

    allocates: bool
    address: int
    requested: int
    granted: int
    in_use: int
    op: str = ""


class Held(NamedTuple):
    """A piece of memory alive at the peak: the op that asked for it, and the bytes it asked for."""

    op: str
    nbytes: int


@dataclass
class Replay:
    """Allocations and releases of one step added up in the order in which they happened.

    Attributes:
        peak: the most that was requested by the step and not yet released at one moment (bytes).
        peak_op: the op that asked for the memory which made the peak.
        alive: what was alive then.
        curve: bytes alive after each allocation.
        in_use_before, in_use_peak: what the allocator counted as in use before the step, and at most during it (bytes).
    """

    peak: int = 0
    peak_op: str = ""
    alive: list[Held] = field(default_factory=list)
    curve: list[int] = field(default_factory=list)
    in_use_before: int = 0
    in_use_peak: int = 0


def replay(events: Sequence[Event]) -> Replay:
    """Follow the events of one step; the release of what was allocated before them counts nothing.

    >>> a, b = Event(True, 1, 100, 256, 256, "A"), Event(True, 2, 50, 256, 512, "B")
    >>> done = replay([a, b, Event(False, 1, 100, 256, 256)])
    >>> done.peak, done.peak_op, done.curve
    (150, 'B', [100, 150])
    """
    done, now, top = Replay(), 0, -1
    sizes: dict[int, int] = {}
    for place, event in enumerate(events):
        if place == 0:
            done.in_use_before = event.in_use + (-event.granted if event.allocates else event.granted)
        if not event.allocates:
            now -= sizes.pop(event.address, 0)
            continue
        sizes[event.address] = event.requested
        now += event.requested
        done.curve.append(now)
        done.in_use_peak = max(done.in_use_peak, event.in_use)
        if now > done.peak:
            done.peak, done.peak_op, top = now, event.op, place
    done.alive = _alive(events[: top + 1])
    return done


def _alive(events: Sequence[Event]) -> list[Held]:
    """What was allocated and not released, in order of allocation."""
    alive: dict[int, Held] = {}
    for event in events:
        alive.pop(event.address, None)
        if event.allocates:
            alive[event.address] = Held(event.op, event.requested)
    return list(alive.values())
