"""Ops that prove cheap run inline: the executor's moving average of their cycles, and the order that follows."""

from __future__ import annotations

import pytest

from graphmem.graph.model import Op, StepGraph, Tensor
from graphmem.ops.cost import cycles, stays_expensive
from graphmem.runtime.executor import schedule
from graphmem.runtime.plan import make_plan
from graphmem.runtime.simulate import simulate
from graphmem.runtime.warmup import warmed


def _tensor(nbytes: int | None) -> Tensor:
    return Tensor("float32", None if nbytes is None else (nbytes // 4,), nbytes)


def _moving_average(per_run: float, runs: int) -> float:
    estimate = 100_000_000.0
    for _ in range(runs):
        estimate = 0.9 * estimate + 0.1 * per_run
    return estimate


@pytest.mark.parametrize("per_run", [0, 600, 3_000, 7_000, 7_990, 9_000])
def test_an_op_is_cheap_once_the_average_of_its_cycles_has_come_down(per_run: float) -> None:
    for runs in (0, 50, 85, 90, 91, 95, 100, 120, 200):
        assert stays_expensive(per_run, runs) == (_moving_average(per_run, runs) > 8_000)


def test_it_takes_some_ninety_runs() -> None:
    assert [stays_expensive(600, runs) for runs in (89, 90, 91)] == [True, True, False]


@pytest.mark.parametrize(
    ("kind", "nbytes", "cheap"),
    [
        ("Mul", 8192, True),
        ("Mul", 512_000, False),
        ("Tanh", 8192, True),
        ("Tanh", 131_072, False),
        ("AddN", 8192, True),
        ("AddN", 131_072, False),
        ("SelectV2", 1024, True),
        ("SelectV2", 16_384, False),
        ("MatMul", 8192, False),
        ("ReadVariableOp", 1 << 30, True),
        ("SomethingElse", 256, True),
        ("Mul", None, False),
    ],
)
def test_which_kernels_are_cheap(kind: str, nbytes: int | None, cheap: bool) -> None:
    graph = StepGraph([Op("a", "Const", (), (), (_tensor(4),)), Op("b", kind, ((0, 0),), (), (_tensor(nbytes),))])
    per_run = cycles(graph.ops[1], graph)
    assert (per_run is not None and not stays_expensive(per_run, 1000)) == cheap


def test_sums_of_whole_lists_are_never_cheap() -> None:
    lists = Tensor("variant", (), 0)
    graph = StepGraph([Op("a", "TensorListReserve", (), (), (lists,)), Op("b", "AddN", ((0, 0), (0, 0)), (), (lists,))])
    assert cycles(graph.ops[1], graph) is None


def test_what_is_near_the_limit_goes_either_way() -> None:
    """SelectV2 of 7 KiB: about 6,900 cycles."""
    graph = StepGraph([Op("a", "Const", (), (), (_tensor(4),)), Op("b", "SelectV2", ((0, 0),), (), (_tensor(7168),))])
    plan = make_plan(graph)
    found = {warmed(plan, schedule(plan), 1000, draw).expensive[1] for draw in range(20)}
    assert found == {True, False}


def test_a_step_that_has_run_a_hundred_times_runs_its_cheap_ops_first() -> None:
    """Of two expensive ops that become ready together the last runs first; a cheap one joins the inline queue."""
    small, large = _tensor(64), _tensor(1 << 22)
    graph = StepGraph(
        [
            Op("root", "Const", (), (), (small,)),
            Op("cheap", "Mul", ((0, 0),), (), (small,)),
            Op("costly", "MatMul", ((0, 0),), (), (large,)),
            Op("both", "MatMul", ((1, 0), (2, 0)), (), (small,)),
        ]
    )
    plan = make_plan(graph)
    once = schedule(plan)
    assert once.ops == [0, 2, 1, 3]
    assert schedule(warmed(plan, once, 90)).ops == [0, 2, 1, 3]
    assert schedule(warmed(plan, once, 100)).ops == [0, 1, 2, 3]
    assert simulate(graph, warmup=100).schedule.ops == [0, 1, 2, 3]
    assert simulate(graph).schedule.ops == [0, 2, 1, 3]
