"""What holds of every graph, on random ones: see `random_graphs` for what they are made of."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.graph.model import Op, StepGraph, Tensor
from graphmem.graph.store import load_trace, save_trace
from graphmem.graph.verify import verify
from graphmem.ops.registry import Env
from graphmem.runtime.branches import Branches
from graphmem.runtime.effects import effects
from graphmem.runtime.executor import Schedule, schedule
from graphmem.runtime.liveness import Lifetimes, lifetimes
from graphmem.runtime.plan import make_plan
from graphmem.runtime.queues import QUEUES
from graphmem.runtime.simulate import simulate
from graphmem.runtime.validate import Verdict, validate
from tests import graphs
from tests.graphs import floats
from tests.runtime.brute_force import moments
from tests.runtime.random_graphs import orders, step_graphs

GOOD = (Verdict.GOOD, "")
fixed = settings(derandomize=True, deadline=None, max_examples=50)
"""The same cases every time, so that a failure is the doing of a change."""


def in_order(graph: StepGraph, order: list[int]) -> Schedule:
    """An order written down as a schedule, for graphs without loops."""
    first, count = {}, 0
    for index in order:
        first[index] = count
        count += len(graph.ops[index].outputs)
    inputs = [[first[producer] + slot for producer, slot in graph.ops[index].inputs] for index in order]
    return Schedule(list(order), inputs, [first[index] for index in order], count)


def lives(graph: StepGraph, order: list[int]) -> Lifetimes:
    return lifetimes(graph, in_order(graph, order), effects(graph, Env()))


def timeline(graph: StepGraph, order: list[int]) -> list[int]:
    """Bytes at each position beyond what was resident before, from the lifetimes."""
    found, totals = lives(graph, order), [0] * len(order)
    for nbytes, born, freed, resident in zip(found.nbytes, found.born, found.freed, found.resident, strict=True):
        for position in range(freed, len(order)) if resident else range(born, freed):
            totals[position] += -(nbytes or 0) if resident else nbytes or 0
    return totals


def peak(graph: StepGraph, order: list[int]) -> int:
    return max(timeline(graph, order), default=0)


@st.composite
def ordered_graphs(draw: st.DrawFn, **options: bool) -> tuple[StepGraph, list[int]]:
    graph = draw(step_graphs(**options))
    return graph, draw(orders(graph))


@given(ordered_graphs())
@settings(fixed, max_examples=200)
def test_the_lifetimes_add_up_to_what_brute_force_counts(case):
    graph, order = case
    verify(graph)
    assert timeline(graph, order) == moments(graph, order).totals


@given(ordered_graphs())
@fixed
def test_any_topological_order_gives_valid_lifetimes(case):
    graph, order = case
    assert validate(graph, in_order(graph, order), lives(graph, order)) == GOOD


@pytest.mark.parametrize("policy", QUEUES)
@given(graph=step_graphs(), draw=st.integers(0, 99))
@settings(fixed, max_examples=30)
def test_every_order_of_the_executor_is_legal_and_counted_right(policy, graph, draw):
    plan = make_plan(graph)
    found = schedule(plan, Branches(plan), policy=policy, draw=draw)
    assert validate(graph, found, lifetimes(graph, found, effects(graph, Env()))) == GOOD
    assert timeline(graph, found.ops) == moments(graph, found.ops).totals


@given(ordered_graphs())
@fixed
def test_the_peak_lies_between_the_largest_op_and_the_sum_of_all_tensors(case):
    graph, order = case
    found = lives(graph, order)
    own = [size or 0 for size, resident in zip(found.nbytes, found.resident, strict=True) if not resident]
    writes = [0] * len(order)
    for size, born, resident in zip(found.nbytes, found.born, found.resident, strict=True):
        writes[born] += 0 if resident else size or 0
    before = sum(variable.nbytes or 0 for variable in graph.variables)
    assert max(writes) - before <= peak(graph, order) <= sum(own)


@given(ordered_graphs(), st.integers(2, 1000))
@fixed
def test_sizes_times_k_give_a_peak_times_k(case, k):
    graph, order = case
    larger = copy.deepcopy(graph)
    for item in (*larger.variables, *larger.arguments, *(tensor for _, _, tensor in larger.tensors())):
        if item.dtype == "float32" and item.nbytes is not None:
            item.shape, item.nbytes = (item.nbytes // 4 * k,), item.nbytes * k
    verify(larger)
    assert timeline(larger, order) == [total * k for total in timeline(graph, order)]


@given(ordered_graphs(), st.randoms(use_true_random=False))
@fixed
def test_the_order_in_which_ops_are_listed_changes_nothing(case, rng):
    graph, order = case
    place = list(range(len(graph.ops)))
    rng.shuffle(place)
    ops: list[Op] = [Op("", "", (), (), ())] * len(place)
    for index, op in enumerate(graph.ops):
        moved = copy.copy(op)
        moved.name = f"renamed_{place[index]}"
        moved.inputs = tuple((place[producer], slot) for producer, slot in op.inputs)
        moved.controls = tuple(place[producer] for producer in op.controls)
        ops[place[index]] = moved
    relabelled = StepGraph(ops, graph.variables, graph.arguments)
    verify(relabelled)
    assert timeline(relabelled, [place[index] for index in order]) == timeline(graph, order)


@given(ordered_graphs(), st.data())
@fixed
def test_one_more_reader_never_lowers_the_peak(case, data):
    graph, order = case
    sources = [(op, slot) for op, slot, tensor in graph.tensors() if tensor.dtype != "resource"]
    source = data.draw(st.sampled_from(sources))
    place = data.draw(st.integers(order.index(source[0]) + 1, len(order)))
    read = copy.deepcopy(graph)
    read.ops.append(Op("one_more", "MatMul", (source,), (), (Tensor("float32", (0,), 0),)))
    assert peak(read, [*order[:place], len(graph.ops), *order[place:]]) >= peak(graph, order)


@given(ordered_graphs(), st.data())
@fixed
def test_an_op_that_writes_nothing_and_reads_nothing_of_the_step_changes_no_peak(case, data):
    graph, order = case
    place = data.draw(st.integers(1, len(order)))
    more = copy.deepcopy(graph)
    more.ops.append(Op("empty", "NobodyKnowsThisOp", (), (), (floats(0),)))
    assert peak(more, [*order[:place], len(graph.ops), *order[place:]]) == max(peak(graph, order), 0)


@given(ordered_graphs())
@fixed
def test_after_the_last_op_only_results_and_variables_are_left(case):
    graph, order = case
    end = len(order)
    found = lives(graph, order)
    values = in_order(graph, order)
    returned = {
        found.value_buffer[value]
        for position, index in enumerate(order)
        if graph.ops[index].type == "_Retval"
        for value in values.inputs[position]
    }
    adopted = {
        found.value_buffer[values.inputs[position][1]]
        for position, index in enumerate(order)
        if graph.ops[index].type == "AssignVariableOp"
    }
    for buffer, freed in enumerate(found.freed):
        if freed == end and not found.resident[buffer] and buffer not in returned | adopted:
            updates = graph.ops[found.op[buffer]].type in ("AssignSubVariableOp", "AssignVariableOp")
            last_op = found.born[buffer] == end - 1 or found.last[buffer] == end - 1
            assert updates or last_op, f"buffer {buffer} of {graph.ops[found.op[buffer]].name}"


@given(step_graphs(updates=False), st.sampled_from(sorted(QUEUES)))
@fixed
def test_a_simulation_is_the_typical_one_of_its_orders_and_counts_right(graph, order):
    simulation = simulate(graph, order=order, orders=3)
    assert simulation.peak in simulation.peaks
    assert simulation.total.tolist() == moments(graph, simulation.schedule.ops).totals
    assert simulation.peak == max(simulation.total) == simulation.total[simulation.position]
    assert validate(graph, simulation.schedule, simulation.lifetimes) == GOOD


@given(step_graphs())
@fixed
def test_a_trace_comes_back_as_it_was(tmp_path_factory, graph):
    path = str(tmp_path_factory.mktemp("trace") / "step.graphmem")
    save_trace(graph, path)
    assert load_trace(path) == graph


@given(ordered_graphs())
@fixed
def test_a_view_of_the_same_size_never_raises_the_peak(case):
    graph, order = case
    copied = copy.deepcopy(graph)
    for op in copied.ops:
        if op.type == "Identity":
            op.type = "NobodyKnowsThisOp"
    assert peak(graph, order) <= peak(copied, order)


def test_a_small_slice_may_raise_it_as_it_holds_the_whole():
    b = graphs.Builder()
    b.argument("x", 4)
    b.op("base", "MatMul", ["x", "x"], outputs=(Tensor("float32", (16, 16), 1024),))
    rows = (Tensor("float32", (1, 16), 64),) * 16
    b.op("rows", "Split", ["x", "base"], outputs=rows, attrs={"num_split": 16, "_const_inputs": {"0": 0}})
    b.op("other", "MatMul", ["x", "x"], 4096)
    b.op("last", "MatMul", ["rows", "other"], 4)
    order = [0, 1, 2, 3, 4]
    assert timeline(b.graph, order) == [0, 1024, 1024, 1024 + 4096, 1024 + 4096 + 4]
    b.graph.ops[2].type = "NobodyKnowsThisOp"
    assert timeline(b.graph, order) == [0, 1024, 1024 + 16 * 64, 64 + 4096, 64 + 4096 + 4]
