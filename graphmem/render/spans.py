"""A long schedule in as many columns as a picture can show: what to draw of each, and which phase it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def columns(total: Sequence[int], count: int) -> tuple[list[int], list[int]]:
    """Where each column starts, and the position at which most is alive within it: all areas are drawn as of then.

    So the peak of the schedule is in the picture, and areas add up in every column.

    Args:
        total: bytes at each position.
        count: columns at most.

    >>> columns([1, 3, 2, 2, 5], 2), columns([1, 2], 9)
    (([0, 2], [1, 4]), ([0, 1], [0, 1]))
    """
    made = min(count, len(total))
    edges = [len(total) * column // made for column in range(made + 1)] if made else []
    return edges[:-1], [max(range(start, end), key=total.__getitem__) for start, end in pairwise(edges)]


QUIET = 0.005
"""Parts of a schedule that move less than this share of what it ever has alive have no phase of their own."""

LOUD = 0.1
"""Parts that move more than this share are a phase of their own, be they as short as they may."""


def bands(phases: Sequence[tuple[str, int, int]], total: Sequence[int], count: int = 48) -> list[tuple[str, int, int]]:
    """The phases as few long runs: the schedule in `count` parts, each of the phase whose ops move most bytes in it.

    Executors mix the phases op by op. A part in which next to nothing moves, such as one that reads the variables of
    all phases, belongs to what is before it, at the start to what follows. So does a short one between two others,
    unless it moves much. Where nothing moves at all the phase of most ops counts.

    >>> bands([("forward", 0, 50), ("backward", 50, 60), ("update", 60, 61), ("backward", 61, 100)], [0] * 100)
    [('forward', 0, 50), ('backward', 50, 100)]
    """
    positions = len(total)
    parts = min(count, positions)
    names, weights = _heaviest(phases, total, parts)
    most = max(total, default=0)
    loud = [part for part, weight in enumerate(weights) if weight > QUIET * most]
    for part in range(parts) if loud else ():
        if weights[part] <= QUIET * most:
            names[part] = names[part - 1] if part > loud[0] else names[loud[0]]
    for part in range(1, parts - 1):
        if names[part] not in (names[part - 1], names[part + 1]) and weights[part] <= LOUD * most:
            names[part] = names[part - 1]
    runs: list[tuple[str, int, int]] = []
    for part, name in enumerate(names):
        start, end = (-(-positions * edge // parts) for edge in (part, part + 1))
        if runs and runs[-1][0] == name:
            start = runs.pop()[1]
        runs.append((name, start, end))
    return runs


def _heaviest(
    phases: Sequence[tuple[str, int, int]], total: Sequence[int], parts: int
) -> tuple[list[str], list[int]]:
    """Of each part of the schedule the phase whose ops move most bytes, else that of most ops, and what all move."""
    moved: list[dict[str, tuple[int, int]]] = [{} for _ in range(parts)]
    for name, start, end in phases:
        for position in range(start, min(end, len(total))):
            sums = moved[position * parts // len(total)]
            before, ops = sums.get(name, (0, 0))
            change = abs(total[position] - (total[position - 1] if position else 0))
            sums[name] = before + change, ops + 1
    names = [max(sums, key=sums.__getitem__) if sums else "" for sums in moved]
    return names, [sum(change for change, _ in sums.values()) for sums in moved]
