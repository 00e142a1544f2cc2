"""Each verdict, reached by spoiling one thing in lifetimes that were right."""

from __future__ import annotations

import pytest

from graphmem.graph.model import StepGraph
from graphmem.ops.registry import Env
from graphmem.runtime.branches import Branches
from graphmem.runtime.effects import effects
from graphmem.runtime.executor import Schedule, schedule
from graphmem.runtime.liveness import Lifetimes, lifetimes
from graphmem.runtime.plan import make_plan
from graphmem.runtime.validate import CHECKS, Verdict, validate
from tests import graphs


def solved(graph: StepGraph) -> tuple[StepGraph, Schedule, Lifetimes]:
    plan = make_plan(graph)
    made = schedule(plan, Branches(plan), policy="graph")
    return graph, made, lifetimes(graph, made, effects(graph, Env()))


@pytest.mark.parametrize("make", graphs.ALL, ids=lambda make: make.__name__)
def test_every_tiny_graph_is_solved_well(make):
    assert validate(*solved(make())) == (Verdict.GOOD, "")


def test_an_op_before_its_input():
    graph, made, lives = solved(graphs.chain())
    made.inputs[1] = [3, 3]
    assert validate(graph, made, lives) == (Verdict.BAD_ORDER, "op 'a' at position 1 reads input 0 before it is made")


def test_an_op_that_reads_the_wrong_tensor():
    graph, made, lives = solved(graphs.chain())
    made.inputs[2] = [0, 1]
    assert validate(graph, made, lives) == (Verdict.BAD_ORDER, "op 'b' at position 2 reads something else as input 0")


def test_an_op_that_never_runs():
    graph, made, lives = solved(graphs.inplace_update())
    del made.ops[-1], made.inputs[-1], made.values[-1]
    assert validate(graph, made, lives) == (Verdict.BAD_ORDER, "op 'update' runs 0 times")


def test_an_op_that_does_not_wait_for_its_control_input():
    graph, made, lives = solved(graphs.control_edge())
    graph.ops[3].controls = (4,)
    assert validate(graph, made, lives) == (Verdict.BAD_ORDER, "op 'small' at position 3 does not wait for 'sum'")


@pytest.mark.parametrize(("born", "freed"), [(1, 1), (3, 2), (-1, 3), (1, 6)])
def test_a_lifetime_that_is_none(born, freed):
    graph, made, lives = solved(graphs.chain())
    lives.born[1], lives.freed[1] = born, freed
    assert validate(graph, made, lives) == (Verdict.BAD_SPAN, f"buffer 1 lives from {born} to {freed} of 5")


def test_a_buffer_born_before_its_op():
    graph, made, lives = solved(graphs.chain())
    lives.born[2] = 1
    what = "buffer 2 is born while op 'a' at position 1 runs, which did not make it"
    assert validate(graph, made, lives) == (Verdict.BAD_SPAN, what)


def test_a_tensor_without_a_buffer():
    graph, made, lives = solved(graphs.chain())
    lives.value_buffer[2] = -1
    assert validate(graph, made, lives) == (Verdict.BAD_STORAGE, "op 'b' at position 2: output 0 has no buffer")


def test_a_buffer_that_is_too_small():
    graph, made, lives = solved(graphs.chain())
    lives.nbytes[2] = 15
    what = "op 'b' at position 2: output 0 of 16 bytes lies in a buffer of 15"
    assert validate(graph, made, lives) == (Verdict.BAD_STORAGE, what)


def test_a_matrix_product_in_its_input():
    graph, made, lives = solved(graphs.forwarded())
    graph.ops[2].type = "MatMul"
    what = "op 'b' at position 2: output 0 shares a buffer, which no rule of MatMul allows"
    assert validate(graph, made, lives) == (Verdict.BAD_STORAGE, what)


def test_a_read_after_the_end():
    graph, made, lives = solved(graphs.diamond())
    lives.freed[1] = 3
    what = "op 'right' at position 3 uses buffer 1, alive from 1 to 3"
    assert validate(graph, made, lives) == (Verdict.BAD_READ, what)


def test_a_result_that_is_freed_before_the_end():
    graph, made, lives = solved(graphs.chain())
    lives.freed[3] = 4
    what = "op 'return_0' at position 4 uses buffer 3, alive from 3 to 4"
    assert validate(graph, made, lives) == (Verdict.BAD_READ, what)


def test_a_buffer_taken_over_while_somebody_still_reads_it():
    b = graphs.Builder()
    b.argument("x", 4)
    b.op("a", "MatMul", ["x", "x"], 64)
    b.op("b", "Relu", ["a"], 64)
    b.op("c", "MatMul", ["a", "b"], 64)
    graph, made, lives = solved(b.graph)
    assert validate(graph, made, lives) == (Verdict.GOOD, "")
    assert lives.value_buffer[2] == 2
    lives.value_buffer[2] = 1
    what = "op 'b' at position 2 writes into buffer 1, which op 'c' at position 3 still reads"
    assert validate(graph, made, lives) == (Verdict.OVERWRITTEN, what)


def test_a_buffer_that_nobody_frees():
    graph, made, lives = solved(graphs.dead_output())
    lives.freed[2] = 4
    assert validate(graph, made, lives) == (
        Verdict.HELD_TOO_LONG,
        "buffer 2 of 'split' is last used at 1 and freed at 4",
    )


def test_every_verdict_has_its_check():
    assert {verdict for verdict, _ in CHECKS} | {Verdict.GOOD} == set(Verdict)
