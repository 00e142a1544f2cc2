"""The step that docs/architecture.md works through by hand: five ops that compute, five that only pass on.

One layer `y = relu(x @ w)`, its gradient, and the update of `w`. Once `x` and `w` are read the schedule has no choice:
one op at a time is ready.
"""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.graph.model import Argument, Op, StepGraph, Tensor, Variable, tensor_bytes
from graphmem.graph.verify import verify
from graphmem.ops.registry import Env
from graphmem.report.build import build_report
from graphmem.runtime.simulate import Simulation, simulate
from graphmem.runtime.validate import Verdict, validate
from tests.markdown import ROOT, blocks, table

PAGE = ROOT / "docs" / "architecture.md"


def f32(*shape: int) -> Tensor:
    return Tensor("float32", shape, tensor_bytes("float32", shape))


def first_step() -> StepGraph:
    """The graph of the page, as the trace builds it."""
    handle = Tensor("resource", (), 0)
    ops = [
        Op("x", "_Arg", (), (), (f32(8, 4),), {"index": 0, "_arg": ("argument", 0)}, role="input"),
        Op("w", "_Arg", (), (), (handle,), {"index": 1, "_arg": ("variable", 0)}, role="weight"),
        Op("read", "ReadVariableOp", ((1, 0),), (), (f32(4, 16),)),
        Op("h", "MatMul", ((0, 0), (2, 0)), (), (f32(8, 16),)),
        Op("y", "Relu", ((3, 0),), (), (f32(8, 16),)),
        Op("dh", "ReluGrad", ((4, 0), (4, 0)), (), (f32(8, 16),), phase="backward", role="gradient"),
        Op("dw", "MatMul", ((0, 0), (5, 0)), (), (f32(4, 16),), phase="backward", role="gradient"),
        Op("update", "AssignSubVariableOp", ((1, 0), (6, 0)), (), (), phase="update", role="update"),
        Op("result", "Identity", ((4, 0),), (7,), (f32(8, 16),), role="output"),
        Op("return", "_Retval", ((8, 0),), (), (), {"index": 0}, role="output"),
    ]
    weight = Variable("w", "float32", (4, 16), tensor_bytes("float32", (4, 16)))
    data = Argument("x", "float32", (8, 4), tensor_bytes("float32", (8, 4)))
    return StepGraph(ops, [weight], [data], {"target": "first", "step": "train", "batch": 8})


@pytest.fixture(scope="module")
def first() -> Simulation:
    return simulate(first_step(), env=Env(threads=2))


def buffers(simulation: Simulation) -> dict[str, tuple[int | None, int, int, bool]]:
    """Op that made the buffer -> (bytes, born, freed, whether it outlives the step)."""
    lives = simulation.lifetimes
    return {
        simulation.graph.ops[op].name: (lives.nbytes[at], lives.born[at], lives.freed[at], lives.resident[at])
        for at, op in enumerate(lives.op)
    }


def shared_by(simulation: Simulation) -> dict[str, list[str]]:
    """Op that made the buffer -> the ops whose outputs lie in it, in the order in which they run."""
    names = [op.name for op in simulation.graph.ops]
    found: dict[str, list[str]] = {names[op]: [] for op in simulation.lifetimes.op}
    for position, index in enumerate(simulation.schedule.ops):
        for slot in range(len(simulation.graph.ops[index].outputs)):
            buffer = simulation.lifetimes.value_buffer[simulation.schedule.values[position] + slot]
            if buffer >= 0:
                found[names[simulation.lifetimes.op[buffer]]].append(names[index])
    return found


def test_graph_is_legal() -> None:
    verify(first_step())


@pytest.mark.parametrize("order", ["default", "graph", "breadth-first", "deterministic"])
def test_every_order_has_the_same_peak(order: str) -> None:
    simulation = simulate(first_step(), order=order, env=Env(threads=2))
    assert (simulation.peak, simulation.position) == (1280, 6)
    assert simulation.schedule.ops[3:] == list(range(3, 10))  # x, w and read may come in another order


def test_ops_run_in_the_order_of_the_page(first: Simulation) -> None:
    assert first.schedule.ops == list(range(10))


def test_lifetimes(first: Simulation) -> None:
    assert buffers(first) == {
        "x": (128, 0, 10, True),
        "w": (256, 1, 10, True),
        "h": (512, 3, 10, False),
        "dh": (512, 5, 7, False),
        "dw": (256, 6, 8, False),
    }


def test_views_and_what_is_taken_over_share_a_buffer(first: Simulation) -> None:
    assert shared_by(first) == {"x": ["x"], "w": ["read"], "h": ["h", "y", "result"], "dh": ["dh"], "dw": ["dw"]}


def test_timeline(first: Simulation) -> None:
    assert first.total.tolist() == [0, 0, 0, 512, 512, 1024, 1280, 768, 512, 512]


def test_peak_and_frontier(first: Simulation) -> None:
    report = build_report(first)
    assert (report.peak.op, report.peak.position, report.peak.phase) == ("dw", 6, "backward")
    assert [(row.op, row.bytes, row.role, row.last_reader) for row in report.frontier] == [
        ("h", 512, "activation", "result"),
        ("dh", 512, "gradient", ""),
        ("dw", 256, "gradient", "update"),
    ]
    assert (report.resident_bytes, report.argument_bytes, report.step_peak_bytes) == (256, 128, 1280)
    assert (report.needed_bytes, report.naive_sum_bytes, report.at_least) == (1664, 2560, False)


def test_validator_agrees(first: Simulation) -> None:
    assert validate(first.graph, first.schedule, first.lifetimes) == (Verdict.GOOD, "")


def test_page_shows_this_graph() -> None:
    ops = first_step().ops
    listed = next(
        block.text for block in blocks(PAGE) if block.language == "text" and "AssignSubVariableOp" in block.text
    )
    expected = []
    for op in ops:
        reads = [ops[source].name for source, _ in op.inputs] + [f"^{ops[source].name}" for source in op.controls]
        expected.append([op.name, op.type, *reads])
    assert [line.replace(",", " ").split() for line in listed.splitlines()] == expected


def test_page_shows_these_lifetimes(first: Simulation) -> None:
    rows = table(PAGE, "buffer")
    shown = {row["buffer"]: (int(row["bytes"]), int(row["born"]), int(row["freed"])) for row in rows}
    assert shown == {name: facts[:3] for name, facts in buffers(first).items()}
    assert {row["buffer"]: row["tensors in it"].split(", ") for row in rows} == shared_by(first)


def test_page_shows_this_timeline(first: Simulation) -> None:
    rows = table(PAGE, "position")
    mine = {name: facts for name, facts in buffers(first).items() if not facts[3]}
    assert [int(row["position"]) for row in rows] == list(range(10))
    assert [row["op"] for row in rows] == [first.graph.ops[index].name for index in first.schedule.ops]
    assert [int(row["bytes"]) for row in rows] == first.total.tolist()
    for position, row in enumerate(rows):
        alive = [name for name, (_, born, freed, _) in mine.items() if born <= position < freed]
        assert row["alive"] == (", ".join(alive) or "–")


def test_page_shows_this_report(first: Simulation) -> None:
    report = build_report(first)
    assert [(row["line"], int(row["bytes"])) for row in table(PAGE, "line")] == [
        ("resident", report.resident_bytes),
        ("inputs", report.argument_bytes),
        ("step peak", report.step_peak_bytes),
        ("needed", report.needed_bytes),
        ("all tensors", report.naive_sum_bytes),
    ]


@pytest.mark.tf
def test_tensorflow_would_execute_this_graph() -> None:
    import tensorflow as tf

    import graphmem

    names: dict[str, Any] = {"tf": tf}
    code = next(block.text for block in blocks(PAGE) if block.language == "python")
    exec(code, names)
    spec = tf.TensorSpec((8, 4), tf.float32)
    report = graphmem.analyze(names["step"], spec, orders=3)
    traced, expected = report.simulation.graph, first_step()
    assert [(op.type, op.inputs, op.controls, op.outputs) for op in traced.ops] == [
        (op.type, op.inputs, op.controls, op.outputs) for op in expected.ops
    ]
    assert [op.phase for op in traced.ops[:8]] == [op.phase for op in expected.ops[:8]]
    assert report.simulation.total.tolist() == [0, 0, 0, 512, 512, 1024, 1280, 768, 512, 512]
    assert (report.needed_bytes, report.naive_sum_bytes) == (1664, 2560)
