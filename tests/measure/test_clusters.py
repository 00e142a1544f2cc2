"""Parts of a step that XLA compiles, or that TensorFlow calls: what the allocator was asked for, beside the trace."""

from __future__ import annotations

import pytest

from graphmem.measure.compare import compare_tensors
from graphmem.measure.run import Run
from graphmem.ops.registry import Env
from graphmem.report.build import build_report
from graphmem.runtime.simulate import draw, simulate
from tests.measure.recorded import THREADS, Recorded, record_all

pytestmark = pytest.mark.tf

COMPILED = {"one_call": 1, "a_gradient_and_an_update": 3, "in_a_loop": 1, "grouped_convolution": 2}
"""Name of a step -> how many calls of it XLA compiles."""

CALLED = ["called_functions", "functional_while"]


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    return record_all("tests.measure.cluster_steps", [*COMPILED, *CALLED, "shaped_by_data"])


@pytest.mark.parametrize("name", [*COMPILED, *CALLED])
def test_all_that_is_alive_at_the_peak_matches(name: str, recorded: Recorded) -> None:
    found = recorded[name]
    assert not isinstance(found, str), found
    graph, done = found
    assert sum(op.type == "XlaLaunch" for op in graph.ops) == COMPILED.get(name, 0)
    drawn = draw(graph, env=Env(threads=THREADS), orders=30)
    tensors = compare_tensors(0, Run(done, graph, 0, 0, 0.0, {}), drawn)
    if name == "grouped_convolution":  # whose many small tensors have more orders than one
        assert tensors.matched_share > 0.99
        assert min(one.peak for one in drawn) * 0.998 <= done.peak <= max(one.peak for one in drawn) * 1.002
        assert all(item.bytes < 0.002 * done.peak for item in tensors.differences)
    else:
        assert (tensors.predicted_peak_bytes, tensors.matched_bytes) == (done.peak, done.peak)
        assert tensors.differences == []
    report = build_report(drawn[0])
    assert (report.at_least, report.unknown_ops) == (False, {})


def test_a_call_of_a_gradient_is_of_the_backward_pass(recorded: Recorded) -> None:
    graph = recorded["a_gradient_and_an_update"][0]
    assert [op.phase for op in graph.ops if op.type == "XlaLaunch"].count("backward") == 1


def test_temporary_memory_is_part_of_the_peak(recorded: Recorded) -> None:
    graph, done = recorded["one_call"]
    x, product, result = 128 * 64 * 4, 128 * 64 * 4, 128 * 128 * 4
    assert done.peak == simulate(graph).peak == x + product + result


def test_what_xla_cannot_compile_stays_unknown_and_is_told(recorded: Recorded) -> None:
    found = recorded["shaped_by_data"]
    if isinstance(found, str):  # it cannot be run either
        pytest.fail(found)
    report = build_report(simulate(found[0]))
    assert report.at_least
    assert list(report.unknown_ops) == ["StatefulPartitionedCall"] or list(report.unknown_ops) == ["PartitionedCall"]
    assert any("cannot compile 1 of the step's 1 calls" in note for note in report.notes)
