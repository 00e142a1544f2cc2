"""What instructions are called: through fusions, loops and what XLA adds on its own."""

from __future__ import annotations

import pytest

from graphmem.graph.model import Variable
from graphmem.xla.read import read
from graphmem.xla.step import Meaning
from tests.xla.modules import Module


def fused(made: Module, name: str, *ops: tuple[str, str], shape=64) -> int:
    """A fusion's computation: a parameter, then (opcode, op_name) one after another; with a tuple, of the last two."""
    number = made.computation(name, scheduled=False)
    before = [made.op(f"{name}.in", "parameter", 64, parameter_number=0)]
    for index, (opcode, op_name) in enumerate(ops):
        before.append(made.op(f"{name}.{index}", opcode, 64, before[-1:], op_name=op_name))
    if isinstance(shape, list):
        made.op(f"{name}.out", "tuple", shape, before[-2:])
    return number


def named(made: Module) -> dict[str, tuple[str, str]]:
    """Instruction -> (TensorFlow's op, type) of those that make something."""
    return {op.name: (op.attrs["op_name"], op.type) for op in read(made.compiled()).graph.ops if op.outputs}


@pytest.mark.parametrize(
    ("ops", "own", "expected"),
    [
        ([("add", "net/Add")], "net/Root", ("net/Root", "fusion(add)")),
        ([("add", "net/Add")], "", ("net/Add", "fusion(add)")),
        ([("add", "net/Add"), ("bitcast", "")], "", ("net/Add", "fusion(add)")),
        ([("transpose", ""), ("bitcast", "")], "", ("end/Neg", "fusion(transpose)")),
        ([("dot", "net/MatMul"), ("maximum", "net/Relu")], "", ("net/Relu", "fusion(dot)")),
        ([("add", "XLA_Retvals")], "XLA_Retvals", ("end/Neg", "fusion(add)")),
    ],
)
def test_a_fusion(ops, own, expected):
    made = Module()
    inside = fused(made, "inside", *ops)
    made.computation("step")
    x = made.op("x", "parameter", 64, parameter_number=0, op_name="XLA_Args")
    f = made.op("f", "fusion", 64, [x], calls=[inside], op_name=own)
    made.op("end", "negate", 64, [f], op_name="end/Neg")
    assert named(made)["f"] == expected


def test_a_fusion_of_several_results_is_named_after_the_one_in_temporary_memory():
    made = Module()
    inside = fused(made, "inside", ("multiply", "adam/Mul"), ("add", "net/Add"), shape=[64, 64])
    made.computation("step")
    x = made.op("x", "parameter", 64, parameter_number=0)
    f = made.op("f", "fusion", [64, 64], [x], calls=[inside], op_name="adam/Mul")
    made.op("end", "negate", 64, [made.op("second", "get-tuple-element", 64, [f], tuple_index=1)])
    assert named(made)["f"] == ("adam/Mul", "fusion(multiply)")
    made.allocation(64, (made.buffer(f, 1, size=64), 0, 64))
    assert named(made)["f"] == ("net/Add", "fusion(add)")


def test_copies_are_named_after_what_they_read_else_after_their_first_reader():
    made = Module()
    made.computation("step")
    x = made.op("x", "parameter", 64, parameter_number=0)
    copy = made.op("of_x", "copy", 64, [x])
    view = made.op("view", "bitcast", 64, [copy])
    a = made.op("a", "negate", 64, [view], op_name="net/a")
    later = made.op("of_a", "copy", 64, [a])
    made.op("b", "add", 64, [later, view], op_name="net/b")
    found = {name: op for name, (op, _) in named(made).items()}
    assert found == {"x": "", "of_x": "net/a", "view": "net/a", "a": "net/a", "of_a": "net/a", "b": "net/b"}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gradient_tape/net/lstm/while/net/lstm/while/cell/Tanh_1_0/accumulator", "net/lstm/while/cell/Tanh_1"),
        ("outer/gradient_tape/net/while_1/net/while/Mul_0/accumulator", "net/while/Mul"),
        ("net/my/accumulator", "net/my/accumulator"),
    ],
)
def test_what_a_loop_keeps_for_its_gradient_is_of_the_op_that_makes_it(name, meant):
    made = Module()
    made.computation("step")
    x = made.op("x", "parameter", 64, parameter_number=0)
    made.op("kept", "broadcast", 64, [x], op_name=name)
    assert named(made)["kept"] == (meant, "broadcast")


def test_weights_in_another_layout_are_weights():
    made = Module()
    made.computation("step")
    w = made.op("w", "parameter", 64, parameter_number=0)
    turned = made.op("turned", "transpose", 64, [w])
    product = made.op("product", "dot", 64, [turned], op_name="net/MatMul")
    loss = made.op("loss", "negate", 64, [product], op_name="net/loss")
    new = made.op("new", "subtract", 64, [product], op_name="sgd/Sub")
    made.op("root", "tuple", [64, 64], [new, loss])
    made.alias(0, 0)
    graph = read(made.compiled(), Meaning([Variable("w", "float32", (16,), 64)], optimizers=["sgd"])).graph
    roles = {op.name: op.role for op in graph.ops if op.outputs}
    assert roles == {"w": "input", "turned": "weight", "product": "activation", "loss": "activation", "new": "update"}
