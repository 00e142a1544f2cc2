"""Equal ops, of which TensorFlow's executor keeps one."""

import pytest

from graphmem.graph.model import Op, StepGraph, Tensor
from graphmem.runtime.edges import SINK_EDGES
from graphmem.runtime.plan import make_plan

pytestmark = pytest.mark.tf

X = Tensor("float32", (4,), 16)


def _op(name, kind, *inputs, controls=(), equal="", device="cpu"):
    """An op; those with the same `equal` have the same type and attributes, one without is not to be merged."""
    attrs = {"_signature": equal} if equal else {}
    return Op(name, kind, tuple((producer, 0) for producer in inputs), controls, (X,), attrs, device=device)


def _merge(graph):
    from graphmem.trace.merge import merge_equal

    return merge_equal(graph)


def test_enters_of_one_value_into_one_loop_are_one():
    graph = StepGraph(
        [
            Op("zero", "Const", (), (), (X,)),
            _op("a", "Enter", 0, equal="enter"),
            _op("b", "Enter", 0, equal="enter"),
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
    assert [op.attrs.get("_from_replaced") for op in merged.ops] == [None, None, None, {"1": 2}, None]
    assert not any("_signature" in op.attrs for op in merged.ops)


def test_what_reads_equal_ops_may_be_equal_itself():
    graph = StepGraph(
        [
            _op("sum", "AddV2", 4, 3, equal="add"),  # stands before what it reads
            _op("other sum", "AddV2", 2, 1, equal="add"),
            _op("one", "Const", equal="1"),
            _op("two", "Const", equal="2"),
            _op("one again", "Const", equal="1"),
            _op("out", "Mul", 0, 1),
            _op("two again", "Const", equal="2"),
        ]
    )
    graph.ops[1].inputs = ((2, 0), (6, 0))
    merged = _merge(graph)
    assert [op.name for op in merged.ops] == ["sum", "one", "two", "out"]
    assert merged.ops[3].inputs == ((0, 0), (0, 0))


@pytest.mark.parametrize(
    "other",
    [
        _op("b", "Enter", 1, equal="enter"),
        _op("b", "Enter", 0, equal="of another loop"),
        _op("b", "Enter", 0),
        _op("b", "Enter", 0, equal="enter", controls=(1,)),
        _op("b", "Enter", 0, equal="enter", device="gpu"),
    ],
    ids=["input", "attributes", "stateful", "controls", "device"],
)
def test_others_are_not(other):
    graph = StepGraph([_op("zero", "Const"), _op("one", "Const"), _op("a", "Enter", 0, equal="enter"), other])
    assert _merge(graph) is graph


def test_constants_differ_by_their_values_and_stateful_ops_are_never_equal():
    import tensorflow as tf

    from graphmem.trace.merge import signature

    with tf.Graph().as_default() as graph:
        for name, value in (("a", [1.0, 2.0]), ("b", [1.0, 2.0]), ("c", [1.0, 3.0])):
            tf.constant(value, name=name)
        tf.random.uniform([2], name="d")
    nodes = {node.name: signature(node) for node in graph.as_graph_def().node}
    assert nodes["a"] == nodes["b"] != nodes["c"]
    assert nodes["d/RandomUniform"] is None


def test_edges_of_what_was_replaced_come_last():
    def ops():
        return [
            Op("zero", "Const", (), (), (X,)),
            _op("a", "Enter", 0, equal="enter"),
            _op("b", "Enter", 0, equal="enter"),
            Op("read b", "Identity", ((2, 0),), (), (X,)),
            Op("read a", "Identity", ((1, 0),), (), (X,)),
        ]

    plan = make_plan(StepGraph(ops()))
    assert [plan.numbers[index] for index in (0, 1, 2)] == [[2, 3], [5], [4]]
    merged = make_plan(_merge(StepGraph(ops())))
    # zero to a; a to "read a"; from the source to zero; two ops to the sink; "read b" in the end
    assert [merged.numbers[index] for index in (0, 1)] == [[2], [3, 7]]
    assert (merged.root_numbers, merged.edge_count, SINK_EDGES) == ([4], 8, 3)
