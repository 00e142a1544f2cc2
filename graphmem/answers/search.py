"""The largest value of a grid at which something fits, with few looks, each of which is expensive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from graphmem.errors import TargetError

Guess = Callable[[int, int], int]
"""(largest index known to fit or -1, smallest above it known not to fit or the number of values) -> where to look."""

FIRST_STRIDE = 8
"""How far from the smallest value the first look is, where nothing is known."""

GROWTH = 4
"""How much further than everything looked at a look may go."""

PATIENCE = 6
"""Looks after which every other one halves what is left: a curve may be far from a straight line."""


@dataclass(frozen=True)
class Grid:
    """The values that may be chosen: multiples of a number, or powers of two, from `least` to `most`.

    >>> [Grid(10, 100, multiple_of=32).value(i) for i in range(3)], len(Grid(3, 70, power_of_two=True))
    ([32, 64, 96], 5)

    Raises:
        TargetError: no value lies between `least` and `most`.
    """

    least: int = 1
    most: int = 1 << 20
    multiple_of: int = 1
    power_of_two: bool = False

    def __post_init__(self) -> None:
        if len(self) < 1:
            what = "power of two" if self.power_of_two else f"multiple of {self.multiple_of}"
            raise TargetError(f"there is no {what} from {self.least} to {self.most}: change --min, --max or the step.")

    @property
    def _first(self) -> int:
        """The smallest value, as an exponent of two or a multiple."""
        return (self.least - 1).bit_length() if self.power_of_two else -(-self.least // self.multiple_of)

    def __len__(self) -> int:
        return max(0, self.below(self.most) + 1)

    def value(self, index: int) -> int:
        """The value of an index from 0 on; beyond the end the grid goes on."""
        place = self._first + index
        return 1 << place if self.power_of_two else place * self.multiple_of

    def below(self, value: int) -> int:
        """The index of the largest value that is not above this one; negative if there is none."""
        return (value.bit_length() - 1 if self.power_of_two else value // self.multiple_of) - self._first


def largest(count: int, fits: Callable[[int], bool], guess: Guess, low: int = -1) -> int:
    """The index that fits while the next one does not.

    Args:
        count: how many values there are.
        fits: looks at one; expensive.
        guess: where to look next; what lies outside of the open range is taken to mean its nearest end.
        low: an index that is known to fit, or the one before the first.

    Returns:
        The index; `low` if none above it fits.

    >>> largest(100, lambda index: index <= 42, lambda low, high: (low + high) // 2)
    42
    """
    high = count
    while high - low > 1:
        index = min(max(guess(low, high), low + 1), high - 1)
        if fits(index):
            low = index
        else:
            high = index
    return low


def secant(needs: Mapping[int, int], budget: int, low: int, high: int) -> int:
    """Where a straight line through what is known meets the budget, but not much further on than anything known.

    Args:
        needs: index -> bytes needed there, of all that was looked at.
        budget: bytes.
        low, high: as in `Guess`.
    """
    middle = (low + high) // 2
    reach = GROWTH * (max(needs, default=0) + 1) + FIRST_STRIDE if needs else FIRST_STRIDE
    if len(needs) < 2 or (len(needs) > PATIENCE and len(needs) % 2):
        return min(middle, reach)
    one, other = sorted(sorted(needs, key=lambda index: abs(needs[index] - budget))[:2])
    rise = needs[other] - needs[one]
    return min(one + (budget - needs[one]) * (other - one) // rise if rise > 0 else middle, reach)
