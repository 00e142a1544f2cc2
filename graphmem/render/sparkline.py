"""Bars and curves of characters: a step's memory in three lines of a terminal. Blocks, which `to_ascii` replaces."""

from __future__ import annotations

from collections.abc import Sequence

from graphmem.render.spans import bands, columns
from graphmem.report.report import Timeline
from graphmem.units import format_bytes

_LEVELS = " ▁▂▃▄▅▆▇█"
PEAK = "▲"
ROWS = 3


def bar(share: float, width: int) -> str:
    """A horizontal bar, `width` characters for 1, to half a character; something that is not nothing is shown.

    >>> bar(1, 4), bar(0.6, 4), bar(0.001, 4), bar(0, 4)
    ('████', '██▌', '▌', '')
    """
    halves = round(2 * share * width) or (1 if share > 0 else 0)
    return "█" * (halves // 2) + "▌" * (halves % 2)


def curve(values: Sequence[float], rows: int = ROWS) -> list[str]:
    """A curve as lines of block characters, the top one first; the largest value fills the height.

    >>> curve([0, 1, 2, 4], rows=2)
    ['   █', ' ▄██']
    """
    most = max(values, default=0)
    steps = len(_LEVELS) - 1
    high = [(max(1, round(value / most * rows * steps)) if value > 0 else 0) for value in values]
    return [
        "".join(_LEVELS[min(steps, max(0, level - row * steps))] for level in high) for row in range(rows - 1, -1, -1)
    ]


def timeline_lines(timeline: Timeline, held: int, width: int) -> list[str]:
    """The timeline for a terminal: the curve with its peak at the left, a mark below the peak, the phases.

    Args:
        held: bytes that are there for the whole step.
        width: characters of a line.
    """
    total = timeline.total
    if not total:
        return []
    peak = max(total)
    label = format_bytes(peak + held)
    room = width - len(label) - 1
    _, at = columns(total, room)
    spread = [at[column * len(at) // room] for column in range(room)]  # a short schedule fills the line as well
    drawn = curve([total[place] + held for place in spread])
    mark = next(column for column, place in enumerate(spread) if total[place] == peak)
    lines = [f"{label if not row else '':>{len(label)}} {line}".rstrip() for row, line in enumerate(drawn)]
    return [*lines, f"{'':{len(label)}} {_phases(timeline, room, mark)}".rstrip()]


def _phases(timeline: Timeline, room: int, mark: int) -> str:
    """The names of the phases below their stretches, each at its middle where it fits, and the mark of the peak."""
    positions = len(timeline.total)
    line = [" "] * room
    for name, start, end in bands(timeline.phases, timeline.total):
        first, last = room * start // positions, room * end // positions
        at = (first + last - len(name)) // 2
        if last - first > len(name) + 1 and not at <= mark <= at + len(name):
            line[at : at + len(name)] = name
        elif last - first > len(name) + 2:  # the mark is in its middle: beside it
            at = first if mark > (first + last) // 2 else last - len(name)
            if not at <= mark < at + len(name):
                line[at : at + len(name)] = name
    line[mark] = PEAK
    return "".join(line)
