"""Which of several outcomes to report.

Orders of a step give peaks that differ, and TensorFlow draws one at each start. If most of the peaks lie within 0.5 %
of one, that one is reported. Where they scatter more widely, it is the one nearest to what a few runs have in their
middle: the median of three runs lies at rank p of all peaks (0 the lowest, 1 the highest) with density 6 p (1 - p), and
the peak reported is most likely to be no more than 1 % below that median and no more than 3 % above it, as too little
is worse than too much.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

#: Peaks within this fraction of each other are the same outcome.
SAME = 0.005

#: Fractions of what happens by which a figure may lie below and above it and still be of use.
BELOW, ABOVE = 0.01, 0.03


def typical(peaks: list[int]) -> int:
    """The index of the peak to report; of equals the one in their middle, of two as good the higher.

    >>> typical([159, 177, 159, 159]), typical([100, 300, 200]), typical([569, 693, 693, 569])
    (2, 2, 1)
    """
    ranked = sorted(range(len(peaks)), key=lambda index: (peaks[index], index))
    ordered = [peaks[index] for index in ranked]
    count = len(ordered)

    def score(rank: int) -> tuple[float, ...]:
        peak = ordered[rank]
        first, end = bisect_left(ordered, peak * (1 - SAME)), bisect_right(ordered, peak * (1 + SAME))
        low, high = bisect_left(ordered, peak / (1 + ABOVE)), bisect_right(ordered, peak / (1 - BELOW))
        most = 2 * (end - first) >= count
        right = end - first if most else _median_below(high / count) - _median_below(low / count)
        return most + right, -abs(rank - (first + end - 1) / 2), -abs(rank - (count - 1) / 2), rank

    return ranked[max(range(count), key=score)]


def _median_below(rank: float) -> float:
    """How likely the median of three draws is among the lowest `rank` (a fraction) of all."""
    return 3 * rank**2 - 2 * rank**3
