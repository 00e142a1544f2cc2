from __future__ import annotations

from dataclasses import replace

import pytest

from graphmem.errors import InternalError
from graphmem.graph.model import Argument, Made, StepGraph, Tensor, Variable
from graphmem.graph.verify import LAWS, verify
from tests import graphs


@pytest.mark.parametrize("make", graphs.ALL, ids=lambda make: make.__name__)
def test_every_tiny_graph_is_legal(make):
    verify(make())


def broken(graph: StepGraph) -> str:
    with pytest.raises(InternalError) as caught:
        verify(graph)
    return str(caught.value)


def test_the_message_names_the_law_the_op_and_its_sources():
    graph = graphs.control_edge()
    graph.ops[3].inputs = ((0, 0), (2, 5))
    assert broken(graph) == (
        "the graph breaks the law 'inputs exist': op 'small' (MatMul of 'x':0, 'reduced':5, after 'reduced'): "
        "input 1 reads output 5 of an op that has 1"
    )


def test_two_ops_of_one_name():
    graph = graphs.chain()
    graph.ops[2].name = "a"
    assert "'names are unique': op 'a' (MatMul of 'a':0, 'a':0): another op has the same name" in broken(graph)


def test_a_nameless_op():
    graph = graphs.chain()
    graph.ops[1].name = ""
    assert "its name or its type is empty" in broken(graph)


@pytest.mark.parametrize("producer", [-1, 5, 10**30])
def test_an_input_from_nowhere(producer):
    graph = graphs.chain()
    graph.ops[1].inputs = ((producer, 0),)
    assert broken(graph).endswith(f"op 'a' (MatMul of #{producer}:0): input 0 names op #{producer} of 5")


def test_a_negative_slot_is_not_python_indexing():
    graph = graphs.chain()
    graph.ops[1].inputs = ((0, -1),)
    assert "input 0 reads output -1 of an op that has 1" in broken(graph)


def test_a_control_input_from_nowhere():
    graph = graphs.chain()
    graph.ops[1].controls = (99,)
    assert broken(graph).endswith("after #99): a control input names op #99 of 5")


def test_a_cycle_of_data():
    graph = graphs.chain()
    graph.ops[1].inputs = ((3, 0),)
    assert "'only loops have cycles': op 'a' (MatMul of 'c':0)" in broken(graph)


def test_a_cycle_through_a_control_edge():
    graph = graphs.chain()
    graph.ops[1].controls = (3,)
    assert "'only loops have cycles': op 'a'" in broken(graph)


def test_a_back_edge_needs_both_a_next_iteration_and_a_merge():
    graph = graphs.loop()
    graph.ops[[op.name for op in graph.ops].index("next")].type = "Identity"
    assert "'only loops have cycles': op 'merge'" in broken(graph)


@pytest.mark.parametrize(("field", "value"), [("phase", "sideways"), ("role", "hero"), ("device", "tpu")])
def test_an_unknown_label(field, value):
    graph = graphs.chain()
    setattr(graph.ops[1], field, value)
    assert f"its {field} is {value!r}" in broken(graph)


@pytest.mark.parametrize(
    ("tensor", "what"),
    [
        (Tensor("float32", (3,), 11), "output 0: it claims 11 bytes; float32 of shape [3] is 12 bytes"),
        (Tensor("float32", (3, None), 12), "output 0: it claims 12 bytes; float32 of shape [3, None] is unknown"),
        (Tensor("float32", None, 12), "output 0: it claims 12 bytes; float32 of shape unknown is unknown"),
        (Tensor("string", (3,), 12), "output 0: it claims 12 bytes; string of shape [3] is unknown"),
        (Tensor("variant", (), 8), "output 0: it claims 8 bytes; variant of shape [] is 0 bytes"),
        (Tensor("bool", (5,), 1), "output 0: it claims 1 bytes; bool of shape [5] is 5 bytes"),
        (Tensor("float32", (-1,), None), "output 0: its shape is [-1]"),
        (Tensor("", (1,), None), "output 0: its dtype is empty"),
    ],
)
def test_a_size_that_does_not_follow(tensor, what):
    graph = graphs.chain()
    graph.ops[1].outputs = (tensor,)
    assert broken(graph).endswith(what)


@pytest.mark.parametrize(
    "tensor",
    [
        Tensor("bfloat16", (3, 5), 30),
        Tensor("complex64", (2,), 16),
        Tensor("float32", (), 4),
        Tensor("float32", (0, 9), 0),
        Tensor("float32", (7,), None),
        Tensor("resource", None, 0),
        Tensor("string", (4,), None),
        Tensor("a_type_of_the_future", (4,), None),
    ],
)
def test_sizes_that_are_right(tensor):
    graph = graphs.chain()
    graph.ops[1].outputs = (tensor,)
    verify(graph)


def test_the_sizes_of_variables_and_arguments_are_checked_too():
    graph = graphs.inplace_update()
    graph.variables[0].nbytes = 60
    assert "variable 'w': it claims 60 bytes; float32 of shape [16] is 64 bytes" in broken(graph)
    assert "argument 'z': its shape is [-2]" in broken(StepGraph([], arguments=[Argument("z", "int8", (-2,), None)]))


@pytest.mark.parametrize(
    ("arg", "what"),
    [
        (("argument", 1), "it stands for argument 1 of 1"),
        (("variable", 0), "it stands for variable 0 of 0"),
        (("argument", -1), "it stands for argument -1 of 1"),
        (("banana", 0), "its _arg is ('banana', 0)"),
        ("argument", "its _arg is 'argument'"),
    ],
)
def test_an_arg_of_nothing(arg, what):
    graph = graphs.chain()
    graph.ops[0].attrs["_arg"] = arg
    assert broken(graph).endswith(what)


def test_variables_have_a_role_of_their_own_and_a_real_owner():
    weight = Variable("w", "float32", (1,), 4)
    orphan = StepGraph([], [weight, Variable("m", "float32", (1,), 4, role="optimizer state", slot_of="v")])
    assert "variable 'm': it is a slot of 'v', which is no variable of the step" in broken(orphan)
    actor = StepGraph([], [Variable("w", "int8", (), 1, role="activation")])
    assert "variable 'w': its role is 'activation'" in broken(actor)
    verify(StepGraph([], [weight, Variable("m", "float32", (1,), 4, role="optimizer state", slot_of="w")]))


@pytest.mark.parametrize(
    ("made", "what"),
    [
        ([Made(0, 4, "drawn"), Made(0, 4, "drawn")], "it makes a variable twice"),
        ([Made(1, 4, "drawn")], "it makes 4 bytes of variable 1 of 1"),
        ([Made(-2, 4, "drawn")], "it makes 4 bytes of variable -2 of 1"),
        ([Made(0, -4, "drawn")], "it makes -4 bytes of variable 0 of 1"),
        ([Made(0, 4, "grown")], "it makes a variable in the way 'grown'"),
        ([Made(0, 4, "batch")], "it makes a variable in the way 'batch'"),
        ([Made(0, 4, "drawn", until=0)], "it drops variable 0 after 0 of 1"),
        ([Made(0, 4, "drawn", until=2)], "it drops variable 0 after 2 of 1"),
    ],
)
def test_a_program_makes_each_variable_once_and_drops_it_later(made, what):
    graph = StepGraph([], [Variable("w", "float32", (1,), 4)], made=made)
    assert broken(graph).endswith(what)
    verify(replace(graph, made=[Made(-1, 4, "drawn", until=2), Made(0, 4, "filled")], kept_constants=2))
    assert broken(replace(graph, made=[], kept_constants=-1)).endswith("it keeps -1 constants")


def test_every_law_has_a_name_of_its_own():
    assert len({name for name, _ in LAWS}) == len(LAWS)
