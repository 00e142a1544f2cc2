"""Events added up, and a prediction beside them, by hand."""

from __future__ import annotations

import json

import pytest

from graphmem.graph.model import StepGraph
from graphmem.measure.compare import compare_tensors, median, nearest_to, predicted_curve
from graphmem.measure.events import Held, replay
from graphmem.measure.result import Difference, Layer, TypeRow
from graphmem.runtime.simulate import simulate
from tests import graphs
from tests.measure.examples import AS_PREDICTED, BEFORE, events, run_of, verification


def test_a_replay_adds_up_what_was_requested() -> None:
    done = replay(AS_PREDICTED)
    assert (done.peak, done.peak_op, done.alive) == (48, "c", [Held("b", 16), Held("c", 32)])
    assert done.curve == [8, 24, 48]
    assert (done.in_use_before, done.in_use_peak) == (BEFORE, BEFORE + 512)


def test_what_was_allocated_before_the_step_counts_nothing() -> None:
    old = events(("old", 4096), "old")[1]
    done = replay([old._replace(in_use=500), *AS_PREDICTED])
    assert (done.peak, done.curve, done.in_use_before) == (48, [8, 24, 48], 500 + 4096)


def test_an_address_is_used_again() -> None:
    first, second, free = events(("a", 8), ("b", 16), "b")
    again = second._replace(op="c", requested=100)
    assert replay([first, second, free, again]).alive == [Held("a", 8), Held("c", 100)]


def test_no_events() -> None:
    assert (replay([]).peak, replay([]).curve, replay([]).alive) == (0, [], [])


def test_the_predicted_curve_has_a_figure_per_allocation() -> None:
    assert predicted_curve(simulate(graphs.chain())) == replay(AS_PREDICTED).curve
    assert predicted_curve(simulate(graphs.forwarded())) == [64]


@pytest.mark.parametrize("name", ["two_weights", "diamond", "view_chain", "loop", "dead_output"])
def test_the_predicted_curve_ends_at_the_same_peak(name: str) -> None:
    simulation = simulate(getattr(graphs, name)())
    assert max(predicted_curve(simulation)) == simulation.peak


def test_all_that_is_predicted_is_measured() -> None:
    result = verification([run_of(AS_PREDICTED)] * 3)
    assert [(layer.predicted_bytes, layer.measured_bytes) for layer in result.layers] == [(0, 0), (4, 4), (48, 48)]
    assert [layer.error for layer in result.layers] == [0, 0, 0]
    assert result.agrees
    tensors = result.tensors
    assert (tensors.matched, tensors.predicted, tensors.measured, tensors.matched_bytes) == (2, 2, 2, 48)
    assert (tensors.predicted_op, tensors.measured_op, tensors.matched_share) == ("c", "c", 1)
    assert tensors.by_op_type == [TypeRow("MatMul", 48, 0, 0)]
    assert tensors.differences == []
    assert [(run.inside, run.allocations, run.in_use_peak_bytes) for run in result.runs] == [(True, 3, 1512)] * 3


def test_what_differs_is_named_on_its_side() -> None:
    """c is larger than predicted, and somebody holds 4 bytes that nobody foresaw."""
    result = verification([run_of(events(("a", 8), ("b", 16), "a", ("?", 4), ("c", 64), "b", "c"))])
    tensors = result.tensors
    assert (tensors.matched, tensors.predicted, tensors.measured, tensors.matched_bytes) == (1, 2, 3, 16)
    assert tensors.differences == [
        Difference("c", "MatMul", 64, 1),
        Difference("c", "MatMul", 32, -1),
        Difference("?", "(not in the graph)", 4, 1),
    ]
    assert tensors.by_op_type == [TypeRow("MatMul", 16, 32, 64), TypeRow("(not in the graph)", 0, 0, 4)]
    for row in tensors.by_op_type:
        assert row.matched_bytes + row.measured_only_bytes in (80, 4)
    assert tensors.matched_share == 16 / 84
    assert not result.runs[0].inside
    assert not result.agrees
    assert result.step_peak.error == pytest.approx(48 / 84 - 1)


def test_buffers_of_one_op_and_size_are_matched_one_by_one() -> None:
    result = verification([run_of(events(("b", 16), ("b", 16), ("c", 32)))])
    assert (result.tensors.matched, result.tensors.measured) == (2, 3)
    assert result.tensors.differences == [Difference("b", "MatMul", 16, 1)]


def test_what_has_no_name_takes_that_of_a_predicted_buffer_of_its_size_that_is_left() -> None:
    result = verification([run_of(events(("a", 8), ("b", 16), "a", ("", 32), ("", 16)))])
    assert (result.tensors.matched, result.tensors.matched_bytes, result.tensors.measured) == (2, 48, 3)
    assert result.tensors.differences == [Difference("", "(not in the graph)", 16, 1)]


def test_the_median_of_the_runs_counts() -> None:
    runs = [run_of(AS_PREDICTED), run_of(events(("c", 480))), run_of(AS_PREDICTED)]
    result = verification(runs)
    assert (result.step_peak.measured_bytes, result.agrees) == (48, True)
    assert [run.inside for run in result.runs] == [True, False, True]


def test_inputs_that_differ_are_no_agreement() -> None:
    result = verification([run_of(AS_PREDICTED, inputs=8)])
    assert (result.step_peak.error, result.layers[1].error, result.agrees) == (0, -0.5, False)


def test_the_tolerance_decides() -> None:
    runs = [run_of(events(("b", 16), ("c", 34)))]
    assert verification(runs, tolerance=0.05).agrees
    assert not verification(runs, tolerance=0.03).agrees


def test_errors_are_relative_to_what_was_measured() -> None:
    assert Layer("step peak", 90, 100).error == pytest.approx(-0.1)
    assert Layer("step peak", 5, 0).error == float("inf")
    assert Layer("step peak", 0, 0).error == 0


def test_medians_are_measured_figures() -> None:
    assert (median([5]), median([1, 9]), median([3, 1, 2])) == (5, 1, 2)
    assert (nearest_to(10, [1, 12, 9]), nearest_to(10, [11, 9])) == (2, 0)


def test_json_is_plain_and_has_no_curves() -> None:
    runs = [run_of([*AS_PREDICTED], inputs=0)]
    data = json.loads(json.dumps(verification(runs, notes=["Inputs were made up."]).to_dict(), allow_nan=False))
    assert (data["schema"], data["agrees"], data["target"], data["batch"]) == (1, False, "model.py", 8)
    assert data["layers"][1] == {"name": "inputs", "predicted_bytes": 4, "measured_bytes": 0, "error": None}
    assert data["layers"][2] == {"name": "step peak", "predicted_bytes": 48, "measured_bytes": 48, "error": 0}
    assert data["range_bytes"] == [48, 48]
    assert data["tensors"]["matched_share"] == 1
    assert "predicted_curve" not in data["tensors"]
    assert data["notes"] == ["Inputs were made up."]


def renamed(prefix: str) -> StepGraph:
    graph = graphs.chain()
    for op in graph.ops:
        op.name = prefix + op.name
    return graph


@pytest.mark.parametrize("drawn", [("other/", ""), ("", "other/")])
def test_of_orders_equally_near_the_one_with_most_in_common_is_compared(drawn: tuple[str, str]) -> None:
    tensors = compare_tensors(0, run_of(AS_PREDICTED), [simulate(renamed(prefix)) for prefix in drawn])
    assert (tensors.matched_bytes, tensors.predicted_op) == (48, "c")


def test_an_order_that_is_nearer_is_compared_though_it_has_less_in_common() -> None:
    """What matches is no reason to call a peak of 112 bytes the measured one."""
    far = graphs.diamond()
    for op in far.ops:
        op.name = {"left": "b", "right": "c"}.get(op.name, op.name)
    tensors = compare_tensors(0, run_of(AS_PREDICTED), [simulate(far), simulate(renamed("other/"))])
    assert (tensors.predicted_peak_bytes, tensors.matched_bytes) == (48, 0)
