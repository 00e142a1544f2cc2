"""A prediction beside measurements: the row, the limits, the explanation, the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.compare import Limits, compare, explanation, judge, matched_bytes, percent
from benchmarks.results import markdown, row_text, write_section


def report(step_peak: int, low: int, high: int, **more: Any) -> dict[str, Any]:
    return {
        "step_peak_bytes": step_peak,
        "step_peak_range_bytes": [low, high],
        "variables_bytes": 40,
        "argument_bytes": 8,
        "constant_bytes": 2,
        "at_least": False,
        "allocator": {"peak_in_use_bytes": 300},
        "frontier": [],
        **more,
    }


def runs(*peaks: int, variables: int = 40, base: int = 50, in_use: int = 300) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [
        {
            "step_peak_bytes": peak,
            "variables_bytes": variables,
            "argument_bytes": 8,
            "base_requested_bytes": base,
            "bfc_peak_in_use_bytes": in_use,
        }
        for peak in peaks
    ]
    made[0]["top"] = []
    return made


def row(name: str, predicted: int, low: int, high: int, *peaks: int, **measured: int) -> Any:
    return compare(name, {"default": report(predicted, low, high)}, {"default": runs(*peaks, **measured)}, widen=3.0)


def test_a_row_compares_with_the_median():
    found = row("net", 103, 100, 120, 100, 90, 122)
    assert (found.median, found.lowest, found.highest) == (100, 90, 122)
    assert found.error == pytest.approx(3.0)
    assert not found.inside  # 90 is below 97
    assert found.exact
    assert found.deterministic_error is None


@pytest.mark.parametrize(
    ("peaks", "inside"), [((97, 123), True), ((96, 100), False), ((100, 124), False), ((100,), True)]
)
def test_inside_means_every_measurement_and_the_range_widened(peaks: tuple[int, ...], inside: bool):
    assert row("net", 100, 100, 120, *peaks).inside is inside


def test_what_the_process_holds_besides_the_step_is_not_the_predictions_fault():
    assert row("net", 100, 100, 100, 100, base=50, in_use=300).bfc_error == pytest.approx(0.0)
    assert row("net", 100, 100, 100, 100, base=150, in_use=400).bfc_error == pytest.approx(0.0)  # 100 bytes besides
    assert row("net", 100, 100, 100, 100, base=50, in_use=400).bfc_error == pytest.approx(-25.0)


def test_the_deterministic_order_is_compared_where_it_was_measured():
    reports = {"default": report(100, 100, 100), "deterministic": report(110, 110, 110)}
    found = compare("net", reports, {"default": runs(100), "deterministic": {"step_peak_bytes": 100}}, 1.0)
    assert found.deterministic_error == pytest.approx(10.0)


def test_nothing_measured_is_right_only_where_nothing_is_predicted():
    assert percent(0, 0) == 0.0
    assert percent(5, 0) == float("inf")


def test_limits():
    good, high = row("good", 100, 100, 100, 100), row("high", 150, 150, 150, 100, variables=41, in_use=100)
    low = row("low", 98, 98, 98, 100)
    assert all(verdict.passed for verdict in judge([good], Limits()))
    found = {verdict.what: verdict for verdict in judge([good, high, low], Limits())}
    assert [(what, verdict.found, verdict.cases) for what, verdict in found.items() if not verdict.passed] == [
        ("step peak, median", "2.00 %", ()),
        ("step peak, worst", "+50.00 % (high)", ("high",)),
        ("step peak, worst under-estimate", "-2.00 % (low)", ("low",)),
        ("measurements in the range widened by 1 %", "2 of 3 cases", ("high",)),
        ("bytes of variables and arguments exact", "2 of 3 cases", ("high",)),
        ("allocator's bytes in use, worst", "+200.00 % (high)", ("high",)),
    ]
    wide = Limits(median=2.1, worst=51, under=2.1)
    assert [verdict.passed for verdict in judge([good, high, low], wide)][:3] == [True, True, True]


FRONTIER = [
    {"tensor": "x/MatMul:0", "bytes": 4000, "made_by": "MatMul"},
    {"tensor": "renamed:0", "bytes": 2000, "made_by": "Relu"},
    {"tensor": "extra:0", "bytes": 3000, "made_by": "Mul"},
    {"tensor": "tiny:0", "bytes": 4, "made_by": "Mul"},
]
MEASURED = {
    "step_peak_bytes": 9500,
    "peak_op": "y",
    "top": [
        [4000, "x/MatMul", "output", "[1000]"],
        [2500, "col", "temp", "[625]"],
        [2000, "as_measured", "output", "[500]"],
        [500, "small", "output", "[125]"],
    ],
}


def test_the_explanation_names_the_tensors_that_differ():
    text = explanation(report(9004, 1, 1, frontier=FRONTIER, peak={"op": "z"}), [{}, MEASURED])
    assert text.splitlines() == [  # `small` ends the list, which may lack others of its size
        "    at the peak: measured y, predicted z",
        "    measured only      0.003  col temp",
        "    predicted only     0.003  extra:0 (Mul)",
    ]


def test_bytes_are_matched_by_op_and_size():
    assert matched_bytes(report(1, 1, 1, frontier=FRONTIER), [MEASURED]) == pytest.approx(4000 / 9000)


def test_bytes_without_the_name_of_an_op_are_matched_by_size():
    top = [[3000, None, None, None], [4000, "x/MatMul", "output", "[1000]"], [4000, None, None, None]]
    assert matched_bytes(report(1, 1, 1, frontier=FRONTIER), [{"top": top}]) == pytest.approx(7000 / 11000)


def test_the_page_has_a_line_per_variant_and_per_case():
    rows = [row("net", 100, 100, 100, 100), row("net/mixed", 98, 98, 98, 100), row("other/mixed", 99, 99, 99, 100)]
    text = markdown(rows, judge(rows, Limits()))
    assert "| training, mixed_float16 | 2 | 1.50 % | +0.00 % | -2.00 % | 2 |" in text
    assert "| all | 3 | 1.00 % | +0.00 % | -2.00 % | 3 |" in text
    assert "| step peak, worst under-estimate | 1 % | -2.00 % (net/mixed) | exceeded |" in text
    assert "| net/mixed | 0.000 | 0.000 (0.000 – 0.000) | -2.00% | 0.000 – 0.000 | yes | +0.00% | – | 0.0% |" in text
    assert "| predict, " not in text
    assert row_text(rows[0]).split()[0] == "net"


def test_a_section_is_replaced_and_the_rest_kept(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- big: begin -->\nold\n<!-- big: end -->\nb\n")
    write_section(page, "big", "new\n")
    assert page.read_text() == "a\n<!-- big: begin -->\n\nnew\n\n<!-- big: end -->\nb\n"
    with pytest.raises(SystemExit, match="has no section between <!-- small: begin -->"):
        write_section(page, "small", "new\n")
