"""When ops run, why their outputs exist and whose they are, from names and edges alone."""

from __future__ import annotations

from graphmem.graph.phases import set_phases, set_roles, set_scopes, set_sources, set_update_scopes
from graphmem.graph.scopes import ScopePaths
from tests.graphs import Builder


def chain():
    """x -> forward -> (gradient, other gradient) -> their sum -> update."""
    made = Builder()
    made.op("x", "Placeholder", writes=4, role="input")
    made.op("net_1/dense_1/MatMul", "MatMul", ["x"], 4)
    made.op("net_1/dense_1/Relu", "Relu", ["net_1/dense_1/MatMul"], 4)
    made.op("gradient_tape/net_1/dense_1/ReluGrad", "ReluGrad", ["net_1/dense_1/Relu"], 4)
    made.op("gradient_tape/loss/Mul", "Mul", ["net_1/dense_1/Relu"], 4)
    both = ["net_1/dense_1/MatMul", "gradient_tape/net_1/dense_1/ReluGrad", "gradient_tape/loss/Mul"]
    made.op("AddN_3", "AddN", both, 4)
    made.op("rate", "Const", writes=4, role="constant")
    made.op("scaled", "Mul", ["AddN_3", "rate"], 4)
    made.op("sgd/Sub", "Sub", ["scaled"], 4)
    return made.graph


def prepared(optimizers=("sgd",)):
    graph = chain()
    names, types = [op.name for op in graph.ops], [op.type for op in graph.ops]
    set_phases(graph, names, types, optimizers)
    set_roles(graph, names, types)
    return graph, names, types


def test_phases_and_roles():
    graph, _, _ = prepared()
    assert {op.name: (op.phase, op.role) for op in graph.ops} == {
        "x": ("forward", "input"),
        "net_1/dense_1/MatMul": ("forward", "activation"),
        "net_1/dense_1/Relu": ("forward", "activation"),
        "gradient_tape/net_1/dense_1/ReluGrad": ("backward", "gradient"),
        "gradient_tape/loss/Mul": ("backward", "gradient"),
        "AddN_3": ("backward", "gradient"),  # though not all that it adds is called a gradient
        "rate": ("update", "constant"),
        "scaled": ("update", "update"),
        "sgd/Sub": ("update", "update"),
    }


def test_an_optimizers_scope_is_the_update_whatever_it_depends_on():
    made = Builder()
    made.op("adam_1/Pow", "Pow", writes=4)
    made.op("adam/gradient_tape/x", "Mul", writes=4)
    set_phases(made.graph, [op.name for op in made.graph.ops], ["Pow", "Mul"], ["adam"])
    assert [op.phase for op in made.graph.ops] == ["update", "update"]


def test_a_sum_of_gradients_has_the_scope_of_the_first_gradient():
    graph, names, _ = prepared()
    set_scopes(graph, names, ScopePaths({"net_1/dense_1": "net/dense"}))
    scopes = {op.name: op.scope for op in graph.ops}
    assert scopes["AddN_3"] == "net/dense"
    assert scopes["gradient_tape/loss/Mul"] == "loss"
    assert scopes["sgd/Sub"] == "sgd"


def test_the_update_belongs_to_the_layer_of_the_variable():
    graph, names, _ = prepared()
    set_scopes(graph, names, ScopePaths())
    set_update_scopes(graph, {len(graph.ops) - 1: "net/dense"})
    assert {op.name: op.scope for op in graph.ops if op.phase == "update"} == {
        "rate": "net/dense", "scaled": "net/dense", "sgd/Sub": "net/dense",
    }  # fmt: skip


def test_what_serves_variables_of_two_layers_belongs_to_none():
    made = Builder()
    made.op("rate", "Mul", writes=4, phase="update")
    made.op("one", "Sub", ["rate"], 4, phase="update")
    made.op("two", "Sub", ["rate"], 4, phase="update")
    set_update_scopes(made.graph, {1: "a", 2: "b"})
    assert [op.scope for op in made.graph.ops] == ["", "a", "b"]


def test_lines_of_a_layer_serve_its_gradients():
    graph, names, _ = prepared()
    set_scopes(graph, names, ScopePaths({"net_1/dense_1": "net/dense"}))
    set_sources(graph, names, {"net_1/dense_1/MatMul": "a.py:3"})
    assert {op.name for op in graph.ops if op.source == "a.py:3"} == {
        "net_1/dense_1/MatMul", "gradient_tape/net_1/dense_1/ReluGrad", "AddN_3",
    }  # fmt: skip


def test_one_line_is_that_of_all_but_the_inputs():
    graph, names, _ = prepared()
    set_sources(graph, names, {"": "fit.py:9"})
    assert [op.source for op in graph.ops] == ["", *["fit.py:9"] * (len(graph.ops) - 1)]


def test_all_ops_that_tensorflow_makes_of_a_sum_have_its_scope():
    made = Builder()
    made.op("net/dense/Relu", "Relu", writes=4)
    made.op("gradient_tape/net/dense/ReluGrad", "ReluGrad", ["net/dense/Relu"], 4)
    made.op("AddN_1/tmp_var", "TemporaryVariable", writes=4)
    made.op("AddN_1/add", "AssignAdd", ["AddN_1/tmp_var", "gradient_tape/net/dense/ReluGrad"], 4)
    made.op("AddN_1", "DestroyTemporaryVariable", ["AddN_1/add"], 4)
    graph = made.graph
    for op in graph.ops[1:]:
        op.phase = "backward"
    set_scopes(graph, [op.name for op in graph.ops], ScopePaths(paths={"net": "net", "net/dense": "net/dense"}))
    assert {op.name: op.scope for op in graph.ops if op.name.startswith("AddN")} == {
        "AddN_1/tmp_var": "net/dense",
        "AddN_1/add": "net/dense",
        "AddN_1": "net/dense",
    }
