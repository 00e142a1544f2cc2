"""Grids of values, and how few looks find the largest that fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.answers.search import Grid, largest, secant
from graphmem.errors import TargetError


@pytest.mark.parametrize(
    ("grid", "values"),
    [
        (Grid(1, 5), [1, 2, 3, 4, 5]),
        (Grid(10, 100, multiple_of=32), [32, 64, 96]),
        (Grid(32, 96, multiple_of=32), [32, 64, 96]),
        (Grid(1, 1), [1]),
        (Grid(3, 70, power_of_two=True), [4, 8, 16, 32, 64]),
        (Grid(1, 8, power_of_two=True), [1, 2, 4, 8]),
        (Grid(8, 15, power_of_two=True), [8]),
    ],
)
def test_the_values_of_a_grid(grid: Grid, values: list[int]) -> None:
    assert [grid.value(index) for index in range(len(grid))] == values
    assert [grid.below(value) for value in values] == list(range(len(values)))
    assert grid.below(grid.most) == len(values) - 1
    assert grid.below(values[0] - 1) < 0


@pytest.mark.parametrize("wrong", [{"least": 9, "most": 8}, {"least": 33, "most": 63, "multiple_of": 32}])
def test_a_grid_without_values_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(TargetError, match="there is no multiple of"):
        Grid(**wrong)


def test_no_power_of_two_in_between_is_refused() -> None:
    with pytest.raises(TargetError, match="there is no power of two from 5 to 7"):
        Grid(5, 7, power_of_two=True)


def looks(curve: list[int] | range, budget: int) -> tuple[int, int]:
    """What `largest` finds by `secant` on a curve of needs, and in how many looks."""
    needs: dict[int, int] = {}

    def fits(index: int) -> bool:
        assert index not in needs, "nothing is looked at twice"
        needs[index] = curve[index]
        return curve[index] <= budget

    return largest(len(curve), fits, lambda low, high: secant(needs, budget, low, high)), len(needs)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=200), st.integers(-10, 100_000))
def test_a_growing_need_is_followed_to_the_budget(steps: list[int], budget: int) -> None:
    curve = [sum(steps[: index + 1]) for index in range(len(steps))]
    found, _ = looks(curve, budget)
    assert found == sum(need <= budget for need in curve) - 1


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=100), st.integers(0, 1000))
def test_on_any_curve_the_found_fits_and_the_next_does_not(curve: list[int], budget: int) -> None:
    found, _ = looks(curve, budget)
    assert found < 0 or curve[found] <= budget
    assert found == len(curve) - 1 or curve[found + 1] > budget


def test_a_straight_line_takes_few_looks_and_a_parabola_not_many_more() -> None:
    found, count = looks(range(100, 1_000_100, 10), 600_000)
    assert found == 59_990
    assert count < 13
    found, count = looks([index * index for index in range(100_000)], 10**8)
    assert found == 10_000
    assert count < 25
