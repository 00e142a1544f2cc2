"""`Enter` ops that TensorFlow's executor finds to be the same."""

import pytest

from graphmem.graph.model import Op, StepGraph, Tensor
from graphmem.runtime.edges import SINK_EDGES
from graphmem.runtime.plan import make_plan

pytestmark = pytest.mark.tf

X = Tensor("float32", (4,), 16)


def _enter(name, source, frame="loop", controls=(), **attrs):
    given = {"frame_name": frame, "is_constant": False, "parallel_iterations": 10} | attrs
    return Op(name, "Enter", ((source, 0),), controls, (X,), given)


def _merge(graph):
    from graphmem.trace.merge import merge_enters

    return merge_enters(graph)


def test_enters_of_one_value_into_one_loop_are_one():
    graph = StepGraph(
        [
            Op("zero", "Const", (), (), (X,)),
            _enter("a", 0, _const_inputs={"0": 0}),
            _enter("b", 0),
            Op("read a", "Identity", ((1, 0),), (), (X,)),
            Op("read both", "Mul", ((1, 0), (2, 0)), (), (X,)),
            Op("after b", "NoOp", (), (2, 1), ()),
        ]
    )
    merged = _merge(graph)
    assert [(op.name, op.inputs, op.controls) for op in merged.ops] == [
        ("zero", (), ()),
        ("a", ((0, 0),), ()),
        ("read a", ((1, 0),), ()),
        ("read both", ((1, 0), (1, 0)), ()),
        ("after b", (), (1,)),
    ]
    assert [op.attrs.get("_from_replaced") for op in merged.ops] == [None, None, None, (1,), None]


@pytest.mark.parametrize(
    "other",
    [
        _enter("b", 1),
        _enter("b", 0, frame="another"),
        _enter("b", 0, is_constant=True),
        _enter("b", 0, controls=(1,)),
    ],
    ids=["value", "loop", "is_constant", "controls"],
)
def test_others_are_not(other):
    ops = [Op("zero", "Const", (), (), (X,)), Op("one", "Const", (), (), (X,)), _enter("a", 0), other]
    graph = StepGraph(ops)
    assert _merge(graph) is graph


def test_edges_of_what_was_replaced_come_last():
    def ops():
        return [
            Op("zero", "Const", (), (), (X,)),
            _enter("a", 0),
            _enter("b", 0),
            Op("read b", "Identity", ((2, 0),), (), (X,)),
            Op("read a", "Identity", ((1, 0),), (), (X,)),
        ]

    plan = make_plan(StepGraph(ops()))
    assert [plan.numbers[index] for index in (0, 1, 2)] == [[2, 3], [5], [4]]
    merged = make_plan(_merge(StepGraph(ops())))
    # zero to a; a to "read a"; from the source to zero; two ops to the sink; "read b" in the end
    assert [merged.numbers[index] for index in (0, 1)] == [[2], [3, 7]]
    assert (merged.root_numbers, merged.edge_count, SINK_EDGES) == ([4], 8, 3)
