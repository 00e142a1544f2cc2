"""Control flow of every kind: what TensorFlow's allocator was asked for, beside what graphmem predicts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphmem.graph.model import StepGraph
from graphmem.measure.events import Replay
from graphmem.ops.registry import Env
from graphmem.report.build import build_report
from graphmem.report.report import Report
from graphmem.runtime.simulate import Simulation, draw, typical
from tests.measure.recorded import THREADS, Recorded, record_all

pytestmark = pytest.mark.tf

MODULE = "tests.measure.control_flow_steps"

LOOPS = {
    "loop": [8, 8],
    "one_iteration_at_a_time": [6, 6],
    "no_gradient": [8],
    "nested": [3, 3, 4, 4],
    "nested_of_growing_length": [3, 3, 4, 4],
    "counter_and_condition": [5, 5],
    "maximum_iterations": [5, 5],
    "length_from_data": [5, 5],
    "branch_in_loop": [6, 6],
    "gradients_in_loop": [4],
    "stacked": [32],
    "stacked_with_gradient": [6, 6],
    "unstacked": [8, 8],
    "sliced_by_a_number_carried_along": [4],
    "grown_and_stacked": [6, 6],
    "grown_and_joined": [6, 6],
    "grown_and_gathered": [6, 6],
    "grown_by_its_size": [5, 5],
    "split_and_read": [4, 4],
    "scattered_and_gathered": [],
    "unknown_condition": [],
    "known_condition": [],
    "one_of_three": [],
    "custom_gradient": [],
    "inlined_functions": [],
    "called_functions": [],
    "recomputed": [],
    "mapped": [12, 12],
    "folded_left": [11, 11],
    "folded_right": [11, 11],
    "scanned": [11, 11],
    "vectorised": [],
    "functional_while": [6],
    "functional_if": [],
    "functional_case": [],
    "functional_if_with_effect": [],
    "functional_while_of_a_value": [3],
    "ctc_loss": [12, 12],
    "legacy_lstm": [10, 10],
    "iterator_in_loop": [4],
    "iterator_that_prefetches": [4],
    "iterator_without_effects": [12],
    "dataset_loop": [],
    "dataset_loop_with_break": [],
    "dataset_loop_with_state": [],
    "dataset_reduced": [],
    "loop_in_dataset_loop": [3, 3],
    "old_condition": [],
    "old_loop": [6, 6],
    "old_array": [6, 6],
    "old_rnn": [8, 8],
    "simple_rnn": [10, 10],
    "lstm": [10, 10],
    "gru": [10, 10],
    "lstm_of_sequences": [10, 10],
    "lstm_backwards": [10, 10],
    "lstm_with_dropout": [10, 10],
    "lstm_masked": [10, 10],
    "lstm_unrolled": [],
    "gru_stateful": [10, 10],
    "gru_masked": [10, 10],
    "bidirectional": [10, 10, 10, 10],
    "cells": [10, 10],
    "conv_lstm": [4, 4],
    "time_distributed": [],
    "steps_per_execution": [4],
    "legacy_steps_per_execution": [4],
}
"""Name of a step -> how often its loops run."""

GROWING = {
    "grown_by_rows_of_other_lengths": {"while/body/_1/while/matmul:0", "TensorListConcatV2:0"},
    "growing_value": {"while/body/_1/while/concat:0"},
}
"""Name of a step -> tensors that have another size in each iteration."""

GIVEN = {"length_from_data": {"while": 5}}
"""Trip counts that the user must give."""

STEADY = [
    "loop",
    "one_iteration_at_a_time",
    "no_gradient",
    "nested",
    "nested_of_growing_length",
    "counter_and_condition",
    "maximum_iterations",
    "length_from_data",
    "stacked",
    "grown_and_stacked",
    "grown_and_joined",
    "grown_and_gathered",
    "grown_by_its_size",
    "scattered_and_gathered",
    "unknown_condition",
    "known_condition",
    "one_of_three",
    "custom_gradient",
    "inlined_functions",
    "called_functions",
    "vectorised",
    "functional_while",
    "functional_case",
    "functional_while_of_a_value",
    "iterator_in_loop",
    "iterator_without_effects",
    "old_condition",
    "old_loop",
]
"""Steps whose ops TensorFlow runs in one order: the prediction is the measurement, to the byte."""

AHEAD = {"iterator_that_prefetches": 4 * 64 * 64 * 4}
"""Bytes of the batches that come next, which TensorFlow's pipeline makes beside the step: none, or so many at most."""

ORDERS, MORE_ORDERS = 30, {"bidirectional": 120}
"""TensorFlow's order differs from process to process, and so do the peaks of small loops: some are rare, most so where
two loops run beside one another."""


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    return record_all(MODULE, [*LOOPS, *GROWING])


_drawn: dict[str, list[Simulation]] = {}


def predicted(name: str, recorded: Recorded) -> tuple[list[Simulation], Report, Replay]:
    found = recorded[name]
    assert not isinstance(found, str), found
    graph, done = found
    if name not in _drawn:
        orders = 8 if name in STEADY else MORE_ORDERS.get(name, ORDERS)
        _drawn[name] = draw(graph, env=Env(threads=THREADS), trips=GIVEN.get(name), orders=orders)
    drawn = _drawn[name]
    return drawn, build_report(drawn[typical([simulation.peak for simulation in drawn])]), done


def measured(name: str, first: Replay) -> Iterator[int]:
    """The peak of a step in one process and, as some orders are too rare to be drawn, in two more."""
    yield first.peak
    for _ in range(2):
        found = record_all(MODULE, [name])[name]
        assert not isinstance(found, str), found
        yield found[1].peak


@pytest.mark.parametrize("name", LOOPS)
def test_the_measured_peak_is_one_of_those_predicted(name: str, recorded: Recorded) -> None:
    drawn, report, done = predicted(name, recorded)
    assert report.at_least is False
    assert sorted(drawn[0].schedule.loops.values()) == LOOPS[name]
    low, high = report.step_peak_range_bytes
    least, most = low * 0.98, high * 1.02 + AHEAD.get(name, 0)
    assert any(least <= peak <= most for peak in measured(name, done)), (low, high, done.peak)


@pytest.mark.parametrize("name", STEADY)
def test_a_step_of_one_order_is_predicted_to_the_byte(name: str, recorded: Recorded) -> None:
    drawn, _, done = predicted(name, recorded)
    assert {simulation.peak for simulation in drawn} == {done.peak}


def test_what_pipelines_hold_is_named_as_not_counted(recorded: Recorded) -> None:
    for name in ("iterator_in_loop", "iterator_that_prefetches", "steps_per_execution"):
        _, report, _ = predicted(name, recorded)
        assert [note for note in report.notes if "batches that come next" in note]
    _, report, _ = predicted("dataset_loop", recorded)
    assert [note for note in report.notes if "copies the tensors that it holds" in note]
    _, report, _ = predicted("loop", recorded)
    assert not [note for note in report.notes if "not counted" in note]


def test_what_kernels_ask_for_besides_their_outputs_bears_their_names(recorded: Recorded) -> None:
    graph, done = recorded["time_distributed"]
    assert all(held.op for held in done.alive)
    largest = max(done.alive, key=lambda held: held.nbytes)
    assert largest.op in {op.name for op in graph.ops if op.type == "Conv2DBackpropFilter"}
    assert largest.nbytes > 100 * max(tensor.nbytes or 0 for op in graph.ops for tensor in op.outputs)


def test_a_stack_and_its_elements_are_alive_together(recorded: Recorded) -> None:
    drawn, _, done = predicted("stacked", recorded)
    elements = 32 * 64 * 64 * 4
    assert 2 * elements < done.peak == drawn[0].peak < 2 * elements + 100


@pytest.mark.parametrize("name", GROWING)
def test_what_is_of_another_size_in_each_iteration_is_named(name: str, recorded: Recorded) -> None:
    _, report, done = predicted(name, recorded)
    assert report.at_least
    assert GROWING[name] <= set(report.unknown_sizes)
    assert report.step_peak_bytes <= done.peak


def test_a_loop_of_unknown_length_is_named_with_its_line(recorded: Recorded) -> None:
    graph = recorded["length_from_data"][0]
    assert isinstance(graph, StepGraph)
    report = build_report(draw(graph, env=Env(threads=THREADS), orders=1)[0])
    assert report.at_least
    assert [note for note in report.notes if "trip count of loop 'while'" in note and "--set while=N" in note]


def test_what_a_counter_allows_is_said_to_be_the_most(recorded: Recorded) -> None:
    for name in ("counter_and_condition", "maximum_iterations"):
        drawn, report, _ = predicted(name, recorded)
        assert [note for note in report.notes if "loop 'while'" in note and "may end early" in note]
        assert report.at_least is False
        graph = drawn[0].graph
        assert sorted(draw(graph, orders=1, trips={"while": 2})[0].schedule.loops.values()) == [2, 2]
