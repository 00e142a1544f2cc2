"""Which of several outcomes to report.

Orders of a step give peaks that differ, and TensorFlow draws one at each start. The peak reported is the one that is
right most often. Right is within 0.5 %; where peaks scatter more widely than that, one that is no more than 1 % below
what happens and no more than 3 % above it counts too: too little is worse than too much.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

#: Peaks within this fraction of each other are the same outcome.
SAME = 0.005

#: Fractions of what happens by which a figure may lie below and above it and still be of use.
BELOW, ABOVE = 0.01, 0.03


def typical(peaks: list[int]) -> int:
    """The index of the peak that is right for most of `peaks`; of equals the one in the middle.

    >>> typical([159, 177, 159, 159]), typical([100, 300, 200]), typical([1000, 1008, 1016, 1024, 2000, 2001])
    (2, 2, 2)
    """
    ranked = sorted(range(len(peaks)), key=lambda index: (peaks[index], index))
    ordered = [peaks[index] for index in ranked]

    def between(low: float, high: float) -> tuple[int, int]:
        return bisect_left(ordered, low), bisect_right(ordered, high)

    def score(rank: int) -> tuple[int, float, float]:
        peak = ordered[rank]
        first, end = between(peak * (1 - SAME), peak * (1 + SAME))
        first_of_use, end_of_use = between(peak / (1 + ABOVE), peak / (1 - BELOW))
        right = end - first + end_of_use - first_of_use
        return right, -abs(rank - (first + end - 1) / 2), -abs(rank - (len(ordered) - 1) / 2)

    return ranked[max(range(len(ordered)), key=score)]
