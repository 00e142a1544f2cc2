"""The numbers of edges: in which order TensorFlow adds them, as its own of several steps were read off."""

from __future__ import annotations

from graphmem.graph.model import Op, StepGraph, Tensor
from graphmem.runtime.plan import Plan, make_plan

X = Tensor("float32", (4,), 16)


def _op(name: str, kind: str, *inputs: int, controls: tuple[int, ...] = (), **attrs: object) -> Op:
    return Op(name, kind, tuple((producer, 0) for producer in inputs), controls, (X,), dict(attrs))


def _numbered(plan: Plan) -> dict[int, str]:
    """Number of an edge -> "from > to"; of an edge to an op's data inputs and its control inputs alike."""
    ops = plan.graph.ops
    found = {number: f"> {ops[root].name}" for number, root in zip(plan.root_numbers, plan.roots, strict=True)}
    for index, (row, numbers) in enumerate(zip(plan.edges, plan.numbers, strict=True)):
        assert len(row) == len(numbers) <= 1, "more edges than one are walked in another order than they have numbers"
        found |= {number: f"{ops[index].name} > {ops[edge[0]].name}" for edge, number in zip(row, numbers, strict=True)}
    return dict(sorted(found.items()))


def test_edges_within_the_graph_come_before_those_of_source_and_sink_and_of_folded_constants() -> None:
    plan = make_plan(
        StepGraph(
            [
                _op("x", "_Arg", index=0),
                _op("sum", "AddV2", 0, 4),
                _op("product", "Mul", 1, 3),
                _op("b/folded", "Const", _folded=True),
                _op("a/folded", "Const", _folded=True),
                _op("out", "_Retval", 2, index=0),
            ]
        )
    )
    # 2 to 4: in the order of the readers; 5: the source; 6: out to the sink; then constants by name, each before its
    # edge from the source
    assert _numbered(plan) == {
        2: "x > sum",
        3: "sum > product",
        4: "product > out",
        5: "> x",
        7: "a/folded > sum",
        8: "> a/folded",
        9: "b/folded > product",
        10: "> b/folded",
    }
    assert plan.edge_count == 11


def test_edges_that_close_a_loop_come_when_all_nodes_are_there() -> None:
    plan = make_plan(
        StepGraph(
            [
                _op("x", "Const"),
                _op("enter", "Enter", 0, frame_name="loop"),
                _op("merge", "Merge", 1, 4),
                _op("body", "Relu", 2),
                _op("next", "NextIteration", 3),
            ]
        )
    )
    assert list(_numbered(plan).items()) == [
        (2, "x > enter"), (3, "enter > merge"), (4, "merge > body"), (5, "body > next"), (6, "next > merge"),
        (7, "> x"),
    ]  # fmt: skip


def test_return_values_are_the_last_nodes_by_their_index() -> None:
    plan = make_plan(
        StepGraph(
            [
                _op("x", "_Arg", index=0),
                _op("y", "_Arg", index=1),
                _op("second", "_Retval", 1, index=1),
                _op("first", "_Retval", 0, index=0),
            ]
        )
    )
    assert list(_numbered(plan).values()) == ["x > first", "y > second", "> x", "> y"]
    assert sorted(range(4), key=lambda index: plan.node_ids[index]) == [0, 1, 3, 2]
