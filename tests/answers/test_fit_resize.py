"""Graphs at sizes that were not traced: the laws of their numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.answers.resize import Resized, Unpredicted, same_ops
from graphmem.graph.model import Argument, Op, StepGraph, Tensor, Variable, tensor_bytes


def step(batch: int, width: int = 10) -> StepGraph:
    """A graph whose sizes depend on a batch in every way that is known: b·4·w, b², 2 b + 3, and not at all."""

    def tensor(*shape: int) -> Tensor:
        return Tensor("float32", shape, tensor_bytes("float32", shape))

    ops = [
        Op("x", "_Arg", (), (), (tensor(batch, 4),), {"index": 127, "_arg": ["argument", 0]}),
        Op("w", "Const", (), (), (tensor(4, width),), {"seed": batch}),
        Op("h", "MatMul", ((0, 0), (1, 0)), (), (tensor(batch, width),), {"transpose_a": False}),
        Op("g", "Reshape", ((2, 0),), (), (tensor(batch * width),), {"_const_inputs": {"1": [batch * width]}}),
        Op("s", "MatMul", ((2, 0), (2, 0)), (), (tensor(batch, batch), tensor(batch * batch)), {}),
        Op("p", "Pad", ((3, 0),), (2,), (tensor(2 * batch + 3),), {"paddings": [[0, batch]], "rate": 0.5}),
    ]
    variable = Variable("v", "float32", (127, 4), 127 * 16)
    return StepGraph(ops, [variable], [Argument("x", "float32", (batch, 4), batch * 16)], {"batch": batch})


@given(st.integers(1, 5000))
def test_two_graphs_tell_any_third(value: int) -> None:
    made = Resized({16: step(16), 24: step(24)}).at(value)
    right = step(value)
    right.ops[1].attrs["seed"] = 16  # no size: left as it was
    assert made.ops == right.ops
    assert (made.arguments, made.variables) == (right.arguments, right.variables)


def test_one_graph_at_a_prime_tells_what_the_prime_divides() -> None:
    made, right = Resized({127: step(127)}).at(20), step(20)
    assert [op.outputs for op in made.ops[:5]] == [op.outputs for op in right.ops[:5]]
    assert made.ops[3].attrs == right.ops[3].attrs
    assert made.ops[0].attrs["index"] == 127
    assert made.variables[0].shape == (127, 4)
    assert made.ops[5].outputs[0].shape == (257,)  # 2 b + 3 at 127: a second graph is needed to tell


def test_a_size_that_is_no_whole_number_is_not_guessed() -> None:
    resized = Resized({2: step(6), 4: step(9)})  # 3/2 b + 3
    assert resized.at(6).ops[0].outputs[0].shape == (12, 4)
    with pytest.raises(Unpredicted):
        resized.at(3)


def test_bytes_that_do_not_follow_the_shape_have_a_law_of_their_own() -> None:
    def odd(batch: int) -> StepGraph:
        return StepGraph([Op("t", "Unique", (), (), (Tensor("float32", (None,), 100 + 8 * batch),))])

    assert Resized({2: odd(2), 3: odd(3)}).at(10).ops[0].outputs[0] == Tensor("float32", (None,), 180)


def test_what_makes_graphs_the_same() -> None:
    assert same_ops(step(3), step(4, width=11))
    for change in (
        lambda graph: graph.ops.pop(),
        lambda graph: setattr(graph.ops[2], "type", "Other"),
        lambda graph: setattr(graph.ops[2], "inputs", ((1, 0), (0, 0))),
        lambda graph: setattr(graph.ops[5], "controls", ()),
        lambda graph: setattr(graph.ops[2], "device", "gpu"),
        lambda graph: graph.ops[2].attrs.clear(),
        lambda graph: setattr(graph.ops[2], "outputs", (Tensor("float16", (3, 10), 60),)),
        lambda graph: setattr(graph.ops[2], "outputs", (Tensor("float32", (3, 10, 1), 120),)),
        lambda graph: setattr(graph.ops[2], "outputs", (Tensor("float32", (3, 10), 120, host=True),)),
        lambda graph: graph.arguments.clear(),
    ):
        other = step(3)
        change(other)
        assert not same_ops(step(3), other)
