"""What a report says of the allocator, on graphs whose figures can be worked out by hand."""

from __future__ import annotations

from graphmem.ops.registry import Env
from graphmem.render.text import as_text
from graphmem.report.build import build_report
from graphmem.report.report import Report
from graphmem.runtime.allocations import replay_all
from graphmem.runtime.simulate import draw
from tests import graphs

MIB = 1 << 20


def report_of(graph: graphs.StepGraph, allocator: str, limit: int | None = None, orders: int = 1) -> Report:
    drawn = draw(graph, order="graph" if orders == 1 else "default", orders=orders, env=Env(threads=1))
    return build_report(drawn[0], replay_all(drawn, allocator, limit))


def said(report: Report) -> str:
    lines = as_text(report, width=200).splitlines()
    return next(line for line in lines if line.startswith("  allocator")).split("  ")[-1]


def test_nothing_is_said_where_none_was_simulated():
    drawn = draw(graphs.chain(), order="graph")
    allocator = build_report(drawn[0]).allocator
    assert {name for name, value in allocator.items() if value is not None} == {"name", "failing_orders"}
    assert (allocator["name"], allocator["failing_orders"]) == ("exact", 0)


def test_rounded_figures_of_bfc():
    """x=4, a=8, b=16, c=32 in chunks of 256 bytes, three at a time, in the first region."""
    report = report_of(graphs.chain(), "bfc")
    assert report.allocator == {
        "name": "bfc", "limit_bytes": None, "base_in_use_bytes": 256, "peak_in_use_bytes": 768,
        "peak_in_use_range_bytes": [768, 768], "pool_bytes": 2 * MIB, "fragmentation": 0.0, "fails": None,
        "failing_orders": 0,
    }  # fmt: skip
    assert said(report) == "768 B in use at the peak, as bfc counts, in a pool of 2.00 MiB"
    assert not [note for note in report.notes if "enough" in note]


def test_a_limit_that_is_enough():
    report = report_of(graphs.chain(), "exact", 52)
    assert (report.allocator["peak_in_use_bytes"], report.allocator["pool_bytes"]) == (52, None)
    assert "52 B are enough for the exact allocator" in report.notes
    assert said(report) == "52 B in use at the peak, as exact counts, of 52 B allowed"


def test_a_limit_that_is_not_enough_names_the_op_and_what_is_free():
    report = report_of(graphs.chain(), "exact", 51)
    assert report.allocator["fails"] == {
        "when": "the first step", "op": "c", "op_type": "MatMul", "scope": "", "requested_bytes": 32,
        "free_bytes": 51 - 4 - 16, "largest_free_bytes": 51 - 4 - 16,
    }  # fmt: skip
    assert report.allocator["failing_orders"] == 1
    assert (
        "51 B are not enough: the first step would raise ResourceExhaustedError, at op c (MatMul), "
        "asking for 32 B with 31 B free" in report.notes
    )
    assert said(report) == "51 B are not enough, as exact counts: see the note below"


def test_free_memory_in_pieces_is_told():
    """In units of 256 bytes, of 9: x takes 1, a 4, b 1; when a is gone, 4 are free before b and 3 after it."""
    b = graphs.Builder()
    b.argument("x", 256)
    b.op("a", "MatMul", ["x", "x"], 4 * 256)
    b.op("b", "MatMul", ["a", "a"], 256)
    b.op("c", "MatMul", ["b", "b"], 5 * 256)
    report = report_of(b.returns("c"), "bfc", 9 * 256)
    assert (
        "2.25 KiB are not enough: the first step would raise ResourceExhaustedError, at op c (MatMul), "
        "asking for 1.25 KiB with 1.75 KiB free, 1.00 KiB of it in one piece" in report.notes
    )


def test_variables_that_do_not_fit():
    report = report_of(graphs.inplace_update(), "exact", 10)
    assert (
        "10 B are not enough: making the variables would raise ResourceExhaustedError, asking for 64 B with 2 B free"
        in report.notes
    )
    assert report.allocator["fails"]["op"] == ""


def test_a_report_with_an_allocator_survives_json():
    report = report_of(graphs.chain(), "exact", 51)
    assert Report.from_dict(report.to_dict()).allocator == report.allocator
