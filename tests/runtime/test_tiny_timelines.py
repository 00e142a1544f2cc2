"""Whole timelines of the tiny graphs, worked out by hand: bytes alive while each op runs, in graph order."""

from __future__ import annotations

import pytest

from benchmarks.synthetic import BATCH, OPS_PER_LAYER, WIDTH, decoder_graph
from graphmem.graph.verify import verify
from graphmem.ops.registry import Env
from graphmem.runtime.simulate import simulate
from tests import graphs

TIMELINES = {
    # x is the caller's, then a=8, b=16, c=32: two neighbours at a time; the result stays
    "chain": [0, 8, 8 + 16, 16 + 32, 32],
    # top=8 lives until right has read it
    "diamond": [0, 8, 8 + 16, 8 + 16 + 32, 16 + 32 + 64, 64],
    # the second output of split dies with split
    "dead_output": [0, 8 + 1024, 8 + 16, 16],
    # two views add nothing and hold base=64 until last has run
    "view_chain": [0, 64, 64, 64, 64 + 32, 64 + 32 + 8, 8],
    # one buffer for a, b and c
    "forwarded": [0, 64, 64, 64, 64],
    # handles and the read take nothing; the gradient dies with the update in place
    "inplace_update": [0, 0, 0, 64, 64],
    # h=32, y=8 are held for dw1, dw2 and the result; dh=32, dw2=128, dw1=64
    "two_weights": [0, 0, 0, 0, 0, 32, 40, 72, 72 + 128, 8 + 32 + 128 + 64, 8 + 128 + 64, 8 + 64, 8],
    # the sum takes over the first gradient
    "tied_weight": [0, 0, 0, 0, 32, 40, 40 + 64, 8 + 64 + 32, 8 + 64 + 32 + 64, 8 + 64 + 64, 8 + 64, 8],
    # square holds a twice, so it may not take it over
    "x_times_x": [0, 64, 64 + 64, 64],
    # small waits for reduced: large is gone by then
    "control_edge": [0, 1024, 1024 + 4, 4 + 8, 4 + 8 + 16, 16],
    # the unknown tensor is counted nowhere
    "unknown_size": [0, 0, 16, 16],
    # an unknown op makes new buffers
    "unknown_op": [0, 8, 8],
    # the constant is resident
    "constant": [0, 0, 8, 8],
    "empty": [],
}


@pytest.mark.parametrize("name", TIMELINES)
def test_the_whole_timeline(name):
    simulation = simulate(getattr(graphs, name)(), order="graph", env=Env(threads=1))
    assert simulation.total.tolist() == TIMELINES[name]
    assert simulation.peak == max(TIMELINES[name], default=0)
    assert simulation.peaks == [simulation.peak]
    if TIMELINES[name]:
        assert simulation.position == TIMELINES[name].index(simulation.peak)


def test_a_pending_reader_makes_the_update_copy_the_variable():
    simulation = simulate(graphs.update_with_pending_reader(), order="graph")
    assert simulation.total.tolist()[:6] == [0, 0, 0, 64, 64 + 64, 64 + 8]
    assert simulation.peak == 128


@pytest.mark.parametrize("branch", [False, True])
def test_a_read_copies_a_variable_that_the_step_updates_sparsely_in_a_branch_or_not(branch):
    simulation = simulate(graphs.sparse_update(branch=branch), order="graph")
    assert simulation.peak == max(simulation.total.tolist()) == 64 + 8


@pytest.mark.parametrize("order", ["default", "graph", "breadth-first", "deterministic"])
def test_the_same_graph_gives_the_same_simulation(order):
    first, second = (simulate(decoder_graph(500), order=order, orders=4) for _ in range(2))
    assert first.total.tolist() == second.total.tolist()
    assert first.schedule == second.schedule
    assert first.peaks == second.peaks
    assert first.peak in first.peaks


def test_the_synthetic_graph_is_as_large_as_asked_and_its_peak_is_that_worked_out_on_paper():
    for asked in (1, 100, 3000):
        graph = decoder_graph(asked)
        verify(graph)
        assert asked <= len(graph) < asked + OPS_PER_LAYER + 3
    layers = (len(graph) - 3) // OPS_PER_LAYER
    activation, gradients = BATCH * WIDTH * 4, WIDTH * WIDTH * 4 + WIDTH * 4
    # The updates come last: then the gradients of all layers are alive, and the step's result; the end of the backward
    # pass adds at most the activations of the last layer and what its gradients are made of.
    at_least = layers * gradients + activation
    assert at_least <= simulate(graph, order="graph").peak <= at_least + 5 * activation
