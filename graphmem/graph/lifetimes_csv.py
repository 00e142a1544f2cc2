"""Lifetimes in the CSV that minimalloc reads: `id,lower,upper,size`, a row for each buffer, lifetimes half-open.

minimalloc (https://github.com/google/minimalloc) packs buffers of known lifetimes into a given capacity.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import NamedTuple

from graphmem.errors import TargetError

COLUMNS = ("id", "lower", "upper", "size")

_ALIASES = {"buffer": "id", "buffer_id": "id", "begin": "lower", "start": "lower", "end": "upper"}


class Row(NamedTuple):
    """One buffer: it occupies `size` bytes at each time in [lower, upper)."""

    id: str
    lower: int
    upper: int
    size: int


def write_lifetimes(rows: Iterable[Row]) -> str:
    """The rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    return text.getvalue()


def read_lifetimes(text: str) -> list[Row]:
    """The rows of a CSV; columns may stand in any order and have minimalloc's older names, others are left out.

    A column called `end` holds the last time at which the buffer lives, not the first at which it does not.

    Raises:
        TargetError: a column is missing, or a row has no sense; the sentence names its line.
    """
    lines = csv.reader(io.StringIO(text))
    header = [name.strip() for name in next(lines, [])]
    places = {_ALIASES.get(name, name): place for place, name in enumerate(header)}
    missing = [name for name in COLUMNS if name not in places]
    if missing:
        raise TargetError(f"the lifetimes have no column {', '.join(missing)}; the first line is {','.join(COLUMNS)}.")
    last_inclusive = "end" in header
    return [_row(fields, places, last_inclusive, lines.line_num) for fields in lines if fields]


def _row(fields: list[str], places: dict[str, int], last_inclusive: bool, line: int) -> Row:
    try:
        lower, upper, size = (int(fields[places[name]]) for name in COLUMNS[1:])
        row = Row(fields[places["id"]], lower, upper + last_inclusive, size)
    except (IndexError, ValueError) as error:
        raise TargetError(f"line {line} of the lifetimes is not {','.join(COLUMNS)} with whole numbers.") from error
    if row.lower >= row.upper or row.size < 0:
        raise TargetError(f"line {line} of the lifetimes: a buffer lives in [lower, upper) and has 0 bytes or more.")
    return row


def peak_of(rows: Iterable[Row]) -> int:
    """The most bytes alive at one time: what no placement can do without.

    >>> peak_of([Row("b1", 0, 3, 4), Row("b2", 3, 9, 4), Row("b3", 0, 9, 4), Row("b4", 9, 21, 4), Row("b5", 0, 21, 4)])
    12
    """
    changes: dict[int, int] = {}
    for row in rows:
        changes[row.lower] = changes.get(row.lower, 0) + row.size
        changes[row.upper] = changes.get(row.upper, 0) - row.size
    alive = peak = 0
    for time in sorted(changes):
        alive += changes[time]
        peak = max(peak, alive)
    return peak
