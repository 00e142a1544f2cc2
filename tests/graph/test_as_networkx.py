from __future__ import annotations

import networkx
import pytest

from graphmem.graph import as_networkx as module
from graphmem.graph.as_networkx import as_networkx
from graphmem.graph.model import StepGraph, Tensor
from graphmem.ops.registry import Env
from graphmem.runtime import liveness
from graphmem.runtime.simulate import simulate
from tests import graphs


def dag_of(graph: StepGraph, **options: object) -> networkx.DiGraph:
    return as_networkx(simulate(graph, order="graph", env=Env(threads=1), **options))


def test_a_tensor_with_all_its_attributes():
    graph = graphs.diamond()
    graph.ops[1].scope, graph.ops[1].source = "block_1/conv", "model.py:7"
    assert dag_of(graph).nodes["top:0"] == {
        "op": "top",
        "type": "MatMul",
        "role": "activation",
        "phase": "forward",
        "scope": "block_1/conv",
        "source": "model.py:7",
        "dtype": "float32",
        "shape": "2",
        "bytes": 8,
        "host": False,
        "kind": "new",
        "buffer": 1,
        "born": 1,
        "freed": 4,
        "last_reader": "right",
        "at_peak": False,
        "peak_bytes": 0,
    }


def test_edges_go_from_what_an_op_reads_to_what_it_writes():
    dag = dag_of(graphs.diamond())
    assert list(dag.edges(data=True)) == [
        ("x:0", "top:0", {"op": "top", "type": "MatMul"}),
        ("top:0", "left:0", {"op": "left", "type": "MatMul"}),
        ("top:0", "right:0", {"op": "right", "type": "MatMul"}),
        ("left:0", "join:0", {"op": "join", "type": "MatMul"}),
        ("right:0", "join:0", {"op": "join", "type": "MatMul"}),
    ]


def test_the_peak_of_the_diamond():
    dag = dag_of(graphs.diamond())
    assert dag.graph == {"peak_bytes": 112, "peak_position": 4, "peak_op": "join", "positions": 6}
    assert {name: node["peak_bytes"] for name, node in dag.nodes.items() if node["at_peak"]} == {
        "left:0": 16,
        "right:0": 32,
        "join:0": 64,
    }


@pytest.mark.parametrize("make", graphs.ALL, ids=lambda make: make.__name__)
def test_of_every_graph_it_is_a_dag_that_adds_up_to_the_peak_and_can_be_written(make, tmp_path):
    simulation = simulate(make(), order="graph")
    dag = as_networkx(simulation)
    assert networkx.is_directed_acyclic_graph(dag)
    assert sum(added for _, added in dag.nodes(data="peak_bytes")) == simulation.peak
    path = tmp_path / "step.graphml"
    networkx.write_graphml(dag, path)
    again = networkx.read_graphml(path)
    assert dict(again.nodes(data=True)) == dict(dag.nodes(data=True))
    assert list(again.edges(data=True)) == list(dag.edges(data=True))


def test_every_tensor_is_a_node():
    graph = graphs.two_weights()
    assert list(dag_of(graph)) == [f"{graph.ops[op].name}:{slot}" for op, slot, _ in graph.tensors()]


def test_views_share_the_number_of_their_buffer():
    dag = dag_of(graphs.view_chain())
    kinds = {
        name: (dag.nodes[name]["kind"], dag.nodes[name]["buffer"]) for name in ("base:0", "view:0", "view_of_view:0")
    }
    assert kinds == {"base:0": ("new", 1), "view:0": ("shared", 1), "view_of_view:0": ("shared", 1)}
    assert dag.nodes["base:0"]["last_reader"] == "last"
    assert dag.nodes["base:0"]["at_peak"]
    assert dag.nodes["view:0"]["at_peak"]
    assert (dag.nodes["base:0"]["peak_bytes"], dag.nodes["view:0"]["peak_bytes"]) == (64, 0)


def test_the_copy_of_a_variable_is_a_node_of_its_own():
    dag = dag_of(graphs.update_with_pending_reader())
    copy = dag.nodes["update:copy"]
    assert (copy["kind"], copy["bytes"], copy["born"], copy["role"], copy["peak_bytes"]) == (
        "copy",
        64,
        4,
        "update",
        64,
    )
    assert dag.nodes["read:0"]["kind"] == "resident"
    assert dag.nodes["w:0"]["kind"] == "none"


def test_scratch_is_a_node_of_its_own():
    b = graphs.Builder()
    four = Tensor("float32", (2, 8, 8, 4), 2048)
    b.argument("x", 4)
    b.op("image", "MatMul", ["x", "x"], outputs=(four,))
    b.op("sizes", "Const", outputs=(Tensor("int32", (4,), 16),), attrs={"_value": [3, 3, 4, 4]}, role="constant")
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME", "data_format": "NHWC", "dilations": [1, 1, 1, 1]}
    attrs["_const_inputs"] = {"1": [3, 3, 4, 4]}
    filters = (Tensor("float32", (3, 3, 4, 4), 576),)
    b.op("grad", "Conv2DBackpropFilter", ["image", "sizes", "image"], outputs=filters, attrs=attrs)
    simulation = simulate(b.graph, order="graph", env=Env(threads=1))
    lives = simulation.lifetimes
    sizes = [size for size, slot in zip(lives.nbytes, lives.slot, strict=True) if slot == liveness.SCRATCH]
    assert sizes
    scratch = as_networkx(simulation).nodes["grad:scratch"]
    assert (scratch["kind"], scratch["role"], scratch["bytes"]) == ("scratch", "scratch", sum(sizes))
    assert (scratch["born"], scratch["freed"]) == (3, 4)
    assert "last_reader" not in scratch
    assert "dtype" not in scratch


def test_what_is_unknown_is_left_out():
    node = dag_of(graphs.unknown_size()).nodes["unknown:0"]
    assert "bytes" not in node
    assert node["shape"] == "?"
    graph = graphs.unknown_size()
    graph.ops[1].outputs = (Tensor("float32", None, None),)
    assert "shape" not in dag_of(graph).nodes["unknown:0"]


def test_shapes_are_text():
    graph = graphs.chain()
    graph.ops[1].outputs = (Tensor("float32", (8, 224, 3), 21504),)
    graph.ops[2].outputs = (Tensor("float32", (), 4),)
    dag = dag_of(graph)
    assert (dag.nodes["a:0"]["shape"], dag.nodes["b:0"]["shape"]) == ("8x224x3", "scalar")


def test_the_back_edge_of_a_loop_is_left_out_and_its_iterations_are_one_node():
    dag = dag_of(graphs.loop(), trips={"while": 3})
    assert not dag.has_edge("next:0", "merge:0")
    assert dag.has_edge("enter:0", "merge:0")
    body = dag.nodes["body:0"]
    assert body["kind"] == "new"
    once = dag_of(graphs.loop(), trips={"while": 1}).nodes["body:0"]
    assert body["freed"] - body["born"] > once["freed"] - once["born"]


def test_an_op_on_a_branch_not_taken_is_skipped():
    b = graphs.Builder()
    b.argument("x", 8)
    truth = (Tensor("bool", (), 1),)
    b.op("yes", "Const", outputs=truth, attrs={"_value": True}, role="constant")
    b.op("switch", "Switch", ["x", "yes"], [8, 8])
    b.op("no", "MatMul", ["switch", "switch"], 64)
    b.op("then", "MatMul", [("switch", 1), ("switch", 1)], 32)
    b.op("merge", "Merge", ["no", "then"], [64, 4])
    dag = dag_of(b.graph)
    assert dag.nodes["no:0"]["kind"] == "skipped"
    assert "born" not in dag.nodes["no:0"]
    assert dag.nodes["then:0"]["kind"] == "new"


def test_the_numbers_for_scratch_and_copies_are_those_of_the_lifetimes():
    assert (module.SCRATCH, module.COPY) == (liveness.SCRATCH, liveness.COPY)
