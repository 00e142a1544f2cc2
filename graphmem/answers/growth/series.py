"""Whether a figure grows from row to row."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

FEWEST = 3
"""Rows below which nothing can be said: the first one holds what is made once."""


def growth_per_row(values: Sequence[int]) -> int | None:
    """What a row adds to the figure, typically: the median of the steps after the first; `None`: too few rows.

    The step from the first row to the second does not count, as the first holds what is made once per process.

    >>> growth_per_row([500, 100, 110, 120, 130]), growth_per_row([7, 9, 9, 9]), growth_per_row([1, 2])
    (10, 0, None)
    """
    if len(values) < FEWEST:
        return None
    steps = [after - before for before, after in itertools.pairwise(values[1:])]
    return round(statistics.median(steps))
