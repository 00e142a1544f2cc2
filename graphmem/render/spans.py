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


def bands(phases: Sequence[tuple[str, int, int]], total: Sequence[int], count: int = 48) -> list[tuple[str, int, int]]:
    """The phases as few long runs: the schedule in `count` parts, each of the phase whose ops move most bytes in it.

    Executors mix the phases op by op; where nothing moves, the phase of most ops counts, save before the first bytes
    are made: compilers list constants of all phases there. A part of another phase than
    both its neighbours is taken for that of the one before it.

    >>> bands([("forward", 0, 50), ("backward", 50, 60), ("update", 60, 61), ("backward", 61, 100)], [0] * 100)
    [('forward', 0, 50), ('backward', 50, 100)]
    """
    positions = len(total)
    parts = min(count, positions)
    moved: list[dict[str, tuple[int, int]]] = [{} for _ in range(parts)]
    for name, start, end in phases:
        for position in range(start, min(end, positions)):
            sums = moved[position * parts // positions]
            before, ops = sums.get(name, (0, 0))
            change = abs(total[position] - (total[position - 1] if position else 0))
            sums[name] = before + change, ops + 1
    names = [max(sums, key=sums.__getitem__) if sums else "" for sums in moved]
    moves = (part for part, sums in enumerate(moved) if any(change for change, _ in sums.values()))
    first = next(moves, 0)
    names[:first] = [names[first]] * first if names else []
    for place in range(1, len(names) - 1):
        if names[place] not in (names[place - 1], names[place + 1]):
            names[place] = names[place - 1]
    runs: list[tuple[str, int, int]] = []
    for part, name in enumerate(names):
        start, end = (-(-positions * edge // parts) for edge in (part, part + 1))
        if runs and runs[-1][0] == name:
            start = runs.pop()[1]
        runs.append((name, start, end))
    return runs
