"""Loops, branches and lists: hand-built graphs of what TensorFlow makes of while, cond and TensorList."""

from __future__ import annotations

import pytest

from graphmem.graph.model import Op, StepGraph, Tensor
from graphmem.runtime.simulate import simulate

INT = Tensor("int32", (), 4)
BOOL = Tensor("bool", (), 1)
HANDLE = Tensor("variant", (), 0)
LIST = 64
"""Bytes of the tensor that refers to a list."""


def _x(elements: int) -> Tensor:
    return Tensor("float32", (elements,), 4 * elements)


class _Build:
    """Ops by name; inputs are names, "name:slot" for other outputs."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.waiting: list[tuple[str, ...]] = []

    def add(self, name: str, kind: str, inputs: tuple[str, ...], *outputs: Tensor, **attrs: object) -> None:
        self.waiting.append(inputs)
        self.ops.append(Op(name, kind, (), (), outputs, attrs))

    def graph(self) -> StepGraph:
        index = {op.name: place for place, op in enumerate(self.ops)}
        for op, inputs in zip(self.ops, self.waiting, strict=True):
            found = []
            for name in inputs:
                producer, _, slot = name.partition(":")
                found.append((index[producer], int(slot or 0)))
            op.inputs = tuple(found)
        return StepGraph(self.ops)


def _loop(trips: int | None, body: str = "MatMul", elements: int = 100) -> StepGraph:
    """`for i in range(trips): x = body(x)`; with `None` the bound is an argument."""
    b = _Build()
    x = _x(elements)
    b.add("x", "_Arg", (), x, index=0, _arg=["argument", 0])
    b.add("zero", "Const", (), INT, _value=0)
    if trips is None:
        b.add("bound", "_Arg", (), INT, index=1, _arg=["argument", 1])
    else:
        b.add("bound", "Const", (), INT, _value=trips)
    for name, tensor in (("zero", INT), ("x", x)):
        b.add(f"enter_{name}", "Enter", (name,), tensor, frame_name="while", is_constant=False)
        b.add(f"merge_{name}", "Merge", (f"enter_{name}", f"next_{name}"), tensor, INT)
    b.add("enter_bound", "Enter", ("bound",), INT, frame_name="while", is_constant=True)
    b.add("less", "Less", ("merge_zero", "enter_bound"), BOOL)
    b.add("cond", "LoopCond", ("less",), BOOL)
    for name, tensor in (("zero", INT), ("x", x)):
        b.add(f"switch_{name}", "Switch", (f"merge_{name}", "cond"), tensor, tensor)
        b.add(f"exit_{name}", "Exit", (f"switch_{name}:0",), tensor)
    b.add("one", "Const", (), INT, _value=1)
    b.add("enter_one", "Enter", ("one",), INT, frame_name="while", is_constant=True)
    b.add("step", "AddV2", ("switch_zero:1", "enter_one"), INT)
    b.add("body", body, ("switch_x:1", "switch_x:1"), x)
    b.add("next_zero", "NextIteration", ("step",), INT)
    b.add("next_x", "NextIteration", ("body",), x)
    b.add("return", "_Retval", ("exit_x",), index=0)
    return b.graph()


@pytest.mark.parametrize("trips", [0, 1, 2, 25])
def test_a_loop_runs_as_often_as_its_condition_says(trips: int) -> None:
    graph = _loop(trips)
    simulation = simulate(graph, orders=3)
    names = [graph.ops[index].name for index in simulation.schedule.ops]
    assert names.count("body") == trips
    assert names.count("less") == trips + 1
    assert names.count("exit_x") == 1
    assert simulation.schedule.loops == {"while": trips}
    assert not simulation.schedule.at_least
    # one iteration's input and output are alive together; the first input is the caller's
    expected = {0: 0, 1: 400}.get(trips, 800)
    assert expected <= simulation.peak <= expected + 20  # and a few counters


def test_an_unknown_trip_count_is_one_and_at_least() -> None:
    simulation = simulate(_loop(None), orders=1)
    assert simulation.schedule.loops == {"while": 1}
    assert simulation.schedule.at_least
    assert "unknown" in simulation.schedule.assumed[0]
    assert "--set" in simulation.schedule.assumed[0]


def test_a_given_trip_count_is_taken() -> None:
    simulation = simulate(_loop(None), orders=1, trips={"while": 7})
    assert simulation.schedule.loops == {"while": 7}
    assert not simulation.schedule.at_least


def _cond(predicate: object) -> StepGraph:
    """`y = big(x) if predicate else small(x)`."""
    b = _Build()
    b.add("x", "_Arg", (), _x(10), index=0, _arg=["argument", 0])
    if predicate is None:
        b.add("p", "_Arg", (), BOOL, index=1, _arg=["argument", 1])
    else:
        b.add("p", "Const", (), BOOL, _value=predicate)
    b.add("switch", "Switch", ("x", "p"), _x(10), _x(10))
    b.add("small", "MatMul", ("switch:0", "switch:0"), _x(10))
    b.add("big", "MatMul", ("switch:1", "switch:1"), _x(1000))
    b.add("cut", "MatMul", ("big", "big"), _x(10))
    b.add("merge", "Merge", ("small", "cut"), _x(10), INT)
    b.add("return", "_Retval", ("merge",), index=0)
    return b.graph()


@pytest.mark.parametrize(("predicate", "peak"), [(True, 4040), (False, 40)])
def test_a_known_branch_runs_alone(predicate: bool, peak: int) -> None:
    graph = _cond(predicate)
    simulation = simulate(graph, orders=1)
    names = {graph.ops[index].name for index in simulation.schedule.ops}
    assert ("big" in names, "small" in names) == (predicate, not predicate)
    assert peak <= simulation.peak <= peak + 4
    assert not simulation.schedule.assumed


def test_an_unknown_branch_takes_the_larger_side() -> None:
    simulation = simulate(_cond(None), orders=1)
    assert 4040 <= simulation.peak <= 4044
    assert "larger branch (true" in simulation.schedule.assumed[0]


def _list(stacked: bool) -> StepGraph:
    """Two tensors pushed on a list, then stacked or popped."""
    b = _Build()
    b.add("shape", "Const", (), INT, _value=100)
    b.add("x", "_Arg", (), _x(100), index=0, _arg=["argument", 0])
    b.add("empty", "EmptyTensorList", ("shape", "shape"), HANDLE)
    b.add("a", "MatMul", ("x", "x"), _x(100))
    b.add("push_a", "TensorListPushBack", ("empty", "a"), HANDLE)
    b.add("b", "MatMul", ("x", "x"), _x(100))
    b.add("push_b", "TensorListPushBack", ("push_a", "b"), HANDLE)
    if stacked:
        b.add("stack", "TensorListStack", ("push_b", "shape"), _x(200))
        b.add("return", "_Retval", ("stack",), index=0)
    else:
        b.add("pop", "TensorListPopBack", ("push_b", "shape"), HANDLE, _x(100))
        b.add("sum", "MatMul", ("pop:1", "pop:1"), _x(1))
        b.add("return", "_Retval", ("sum",), index=0)
    return b.graph()


def test_elements_and_their_stack_are_alive_together() -> None:
    assert simulate(_list(True), orders=1).peak == 400 + 400 + 800 + LIST


def test_a_popped_element_is_the_pushed_tensor_and_the_list_lets_go_of_the_rest() -> None:
    simulation = simulate(_list(False), order="graph")
    assert simulation.total.tolist()[-1] == 4  # the sum; both elements are gone
    assert simulation.peak == 400 + 400 + LIST


def test_a_merge_runs_although_what_it_waits_for_is_dead() -> None:
    graph = _cond(True)
    index = {op.name: place for place, op in enumerate(graph.ops)}
    graph.ops[index["merge"]].controls = (index["small"],)
    names = [graph.ops[place].name for place in simulate(graph, orders=1).schedule.ops]
    assert "small" not in names
    assert names[-2:] == ["merge", "return"]


def test_a_second_tensor_at_an_index_takes_the_place_of_the_first() -> None:
    b = _Build()
    b.add("three", "Const", (), INT, _value=3)
    b.add("x", "_Arg", (), _x(100), index=0, _arg=["argument", 0])
    b.add("empty", "TensorListReserve", ("three", "three"), HANDLE)
    b.add("a", "MatMul", ("x", "x"), _x(100))
    b.add("set_a", "TensorListSetItem", ("empty", "three", "a"), HANDLE, _const_inputs={"1": 2})
    b.add("b", "MatMul", ("x", "x"), _x(100))
    b.add("set_b", "TensorListSetItem", ("set_a", "three", "b"), HANDLE, _const_inputs={"1": 2})
    b.add("get", "TensorListGetItem", ("set_b", "three", "three"), _x(100), _const_inputs={"1": 2})
    b.add("return", "_Retval", ("get",), index=0)
    simulation = simulate(b.graph(), order="graph")
    assert simulation.total.tolist()[-1] == 400  # the second, which is returned
    assert simulation.peak == 400 + 400 + LIST


def test_a_list_in_a_list_is_handed_on_whole() -> None:
    b = _Build()
    b.add("shape", "Const", (), INT, _value=100)
    b.add("x", "_Arg", (), _x(100), index=0, _arg=["argument", 0])
    b.add("inner", "EmptyTensorList", ("shape", "shape"), HANDLE)
    b.add("outer", "EmptyTensorList", ("shape", "shape"), HANDLE)
    b.add("a", "MatMul", ("x", "x"), _x(100))
    b.add("push", "TensorListPushBack", ("inner", "a"), HANDLE)
    b.add("push_list", "TensorListPushBack", ("outer", "push"), HANDLE)
    b.add("pop_list", "TensorListPopBack", ("push_list", "shape"), HANDLE, HANDLE)
    b.add("pop", "TensorListPopBack", ("pop_list:1", "shape"), HANDLE, _x(100))
    b.add("return", "_Retval", ("pop:1",), index=0)
    simulation = simulate(b.graph(), order="graph")
    assert simulation.total.tolist()[-1] == 400
    assert simulation.peak == 400 + 2 * LIST


def test_a_loop_that_may_end_early_runs_as_often_as_its_counter_allows() -> None:
    graph = _loop(6)
    index = {op.name: place for place, op in enumerate(graph.ops)}
    condition = graph.ops[index["cond"]]
    graph.ops += [
        Op("may_end", "Any", ((index["merge_x"], 0),), (), (BOOL,)),
        Op("both", "LogicalAnd", ((index["less"], 0), (len(graph.ops), 0)), (), (BOOL,)),
    ]
    condition.inputs = ((len(graph.ops) - 1, 0),)
    simulation = simulate(graph, orders=1)
    assert simulation.schedule.loops == {"while": 6}
    assert not simulation.schedule.at_least
    assert "may end early" in simulation.schedule.assumed[0]
    assert simulate(graph, orders=1, trips={"while": 2}).schedule.loops == {"while": 2}
