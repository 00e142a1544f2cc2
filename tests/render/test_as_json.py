"""The JSON of a report: round trips, one line per row, and every key is documented."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from graphmem.render.as_json import as_json
from graphmem.report.report import Report
from tests.example_reports import CASES, mlp, with_timeline

PAGE = Path(__file__).parents[2] / "docs" / "json.md"


def documented(*titles: str) -> set[str]:
    """The keys in the tables below these headings of the page."""
    keys: set[str] = set()
    title = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            title = line.lstrip("# ")
        elif title in titles and (match := re.match(r"\| `(\w+)` \|", line)):
            keys.add(match[1])
    return keys


def test_every_key_is_documented_and_every_documented_key_exists() -> None:
    data = with_timeline().to_dict(timeline=True)
    assert documented("What was analysed", "How much", "Where and what") == set(data)
    assert documented("`peak`") == set(data["peak"])
    assert documented("rows of `by_scope`") == set(data["by_scope"][0])
    assert documented("rows of `frontier`") == set(data["frontier"][0])
    assert documented("`timeline`") == set(data["timeline"])


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_report_as_json(case: str) -> None:
    report = CASES[case]()
    data = json.loads(as_json(report))
    assert data == json.loads(report.to_json())
    assert Report.from_dict(data) == report


def test_the_timeline_is_there_if_asked_for() -> None:
    report = with_timeline()
    assert "timeline" not in json.loads(as_json(report))
    data = json.loads(as_json(report, timeline=True))
    assert data["timeline"]["total"] == [0, 8388608, 16797700, 4]
    assert Report.from_dict(data) == report


def test_a_line_for_each_key_and_each_row() -> None:
    text = as_json(mlp())
    lines = text.splitlines()
    assert text.isascii()
    assert lines[0] == '{"schema": 1,'
    assert ' "step_peak_bytes": 16797700,' in lines
    assert sum(line.startswith('  {"tensor": ') for line in lines) == 4


def test_sums_of_the_figures() -> None:
    data = json.loads(as_json(mlp()))
    assert (
        data["needed_bytes"] == data["resident_bytes"] + data["argument_bytes"] + data["step_peak_bytes"] == 57_106_644
    )
    assert data["variables_bytes"] == 38_701_200
    assert data["peak_bytes"] == data["needed_bytes"]
