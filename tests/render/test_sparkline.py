"""Curves and bars of characters: right heights, no line too long, readable in ASCII."""

from __future__ import annotations

import pytest

from graphmem.render.sparkline import PEAK, bar, curve, timeline_lines
from graphmem.render.text import as_text, to_ascii
from graphmem.report.report import Timeline
from graphmem.units import format_bytes
from tests.example_reports import mlp, with_timeline
from tests.steps import report_of, tower

HEIGHTS = " ▁▂▃▄▅▆▇█"


def heights(lines: list[str]) -> list[int]:
    """The height of each column in eighths of a line."""
    width = max(map(len, lines))
    return [sum(HEIGHTS.index(line.ljust(width)[column]) for line in lines) for column in range(width)]


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_heights_are_in_proportion(rows: int) -> None:
    values = [0, 1, 3, 5, 8, 8, 2]
    assert heights(curve(values, rows)) == [pytest.approx(value * rows, abs=0.5) for value in values]


def test_something_is_never_nothing() -> None:
    assert heights(curve([1, 10**9])) == [1, 24]
    assert bar(1e-9, 10) == "▌"
    assert curve([0, 0], 1) == ["  "]


def test_the_mark_is_below_the_peak() -> None:
    report = report_of(tower(layers=20))
    lines = timeline_lines(report.timeline, report.argument_bytes, 60)
    assert len(lines) == 4
    assert max(map(len, lines)) <= 60
    assert lines[0].startswith(f"{format_bytes(report.needed_bytes)} ")
    start = len(format_bytes(report.needed_bytes)) + 1
    columns = heights([line[start:] for line in lines[:3]])
    assert columns[lines[3].index(PEAK) - start] == max(columns) == 24
    assert columns.index(24) == lines[3].index(PEAK) - start
    assert {"forward", "backward"} <= set(lines[3].replace(PEAK, " ").split())


def test_the_mark_covers_no_name() -> None:
    for at in range(1, 99):
        total = [1] * 100
        total[at] = 5
        last = timeline_lines(Timeline(total, {}, [("forward", 0, 50), ("backward", 50, 100)]), 0, 70)[3]
        names = last.replace(PEAK, " ").split()
        assert set(names) <= {"forward", "backward"}
        assert last.count(PEAK) == 1


@pytest.mark.parametrize("width", [60, 80, 132])
def test_the_text_has_it_within_its_width(width: int) -> None:
    text = as_text(report_of(tower()), width=width)
    assert "Over the step: bytes alive, in the order of its ops" in text
    assert max(map(len, text.splitlines())) <= width
    assert all(line == line.rstrip() for line in text.splitlines())
    assert ("█" * 6 + "▌" in text) or "█" in text
    assert to_ascii(text).isascii()


def test_without_a_timeline_there_is_none() -> None:
    assert "Over the step" not in as_text(mlp())
    assert "Over the step" in as_text(with_timeline())


def test_bars_are_left_out_where_there_is_no_room() -> None:
    def row(width: int) -> str:
        return next(line for line in as_text(mlp(), width=width).splitlines() if line.startswith("  activation "))

    assert row(60).endswith("50.1 %")
    assert row(80).endswith("50.1 %  " + "█" * 10)
