"""Where ops and tensors live on a machine with one GPU, by the kernel registry of the installed TensorFlow."""

from __future__ import annotations

import pytest

from tests.trace.node_defs import BOOL, FLOAT, INT32, INT64, RESOURCE, STRING, UINT64, graph, lines, node, variable

pytestmark = pytest.mark.tf

HOST, DEVICE = True, False


@pytest.mark.parametrize(
    ("on_gpu", "inputs", "outputs"),
    [
        (node("n", "MatMul", "a", "b", T=FLOAT), (DEVICE, DEVICE), (DEVICE,)),
        (node("n", "Sum", "a", "axes", T=FLOAT, Tidx=INT32), (DEVICE, HOST), (DEVICE,)),
        (node("n", "Sum", "a", "axes", T=INT32, Tidx=INT32), (HOST, HOST), (HOST,)),
        (node("n", "Reshape", "a", "shape", T=FLOAT, Tshape=INT32), (DEVICE, HOST), (DEVICE,)),
        (node("n", "Shape", "a", T=FLOAT, out_type=INT32), (DEVICE,), (HOST,)),
        (node("n", "Const", dtype=INT32), (), (HOST,)),
        (node("n", "Const", dtype=FLOAT), (), (DEVICE,)),
        (node("n", "Conv2DBackpropInput", "s", "w", "g", T=FLOAT), (HOST, DEVICE, DEVICE), (DEVICE,)),
        (node("n", "ReadVariableOp", "v", dtype=FLOAT), (HOST,), (DEVICE,)),
        (
            node("n", "ConcatV2", "a", "b", "c", "axis", T=FLOAT, Tidx=INT32, N={"i": 3}),
            (DEVICE,) * 3 + (HOST,),
            (DEVICE,),
        ),
        (node("n", "IdentityN", "a", "b", T=[FLOAT, FLOAT]), (DEVICE, DEVICE), (DEVICE, DEVICE)),
        (node("n", "Switch", "a", "p", T=FLOAT), (DEVICE, HOST), (DEVICE, DEVICE)),
        (node("n", "Merge", "a", "b", T=FLOAT, N={"i": 2}), (DEVICE, DEVICE), (DEVICE, HOST)),
        (node("n", "_Arg", T=INT32), (), (HOST,)),
        (node("n", "_Arg", T=RESOURCE), (), (HOST,)),
        (node("n", "_CopyFromGpuToHost", "a", T=FLOAT), (DEVICE,), (HOST,)),
        (node("n", "PartitionedCall", "a", "i", Tin=[FLOAT, INT32], Tout=[INT32]), (DEVICE, HOST), (HOST,)),
    ],
    ids=lambda value: value.op + str(value.attr["T"].type or "") if hasattr(value, "op") else "",
)
def test_memory_of_a_gpu_kernels_arguments(on_gpu, inputs, outputs):
    from graphmem.trace.placement import memory_types

    on_gpu.device = "/device:GPU:0"
    assert memory_types(on_gpu) == (inputs, outputs)
    on_gpu.device = "/device:CPU:0"
    assert memory_types(on_gpu) == ((HOST,) * len(inputs), (HOST,) * len(outputs))


def test_an_attribute_pins_single_tensors_to_host_memory():
    from graphmem.trace.placement import memory_types

    pinned = node("n", "IdentityN", "a", "b", device="gpu", T=[FLOAT, FLOAT])
    pinned.attr["_output_hostmem"].list.i.append(1)
    assert memory_types(pinned) == ((DEVICE, DEVICE), (DEVICE, HOST))


def test_missing_attributes_have_their_defaults():
    from graphmem.trace.kernels import signature

    found = signature(node("n", "Sum", "a", "axes", T=FLOAT))
    assert (found.input_types, found.on_gpu) == ((FLOAT, INT32), True)


def test_a_call_by_name_has_no_signature():
    from graphmem.trace.kernels import signature

    assert signature(node("n", "my_function", "a")) is None


@pytest.mark.parametrize(
    ("made", "device"),
    [
        (node("n", "MatMul", "a", "a", T=FLOAT), "gpu"),
        (node("n", "Less", "a", "a", T=INT32), "gpu"),
        (node("n", "StringJoin", "a", "a", N={"i": 2}), "cpu"),
        (node("n", "NonMaxSuppressionV5", "a", T=FLOAT, T_threshold=FLOAT), "cpu"),
        (node("n", "ScatterNd", "a", T=FLOAT, Tindices=INT32), "gpu"),
        (node("n", "ScatterNd", "a", T=BOOL, Tindices=INT32), "cpu"),
        (node("n", "IteratorGetNext", "a", output_types=[FLOAT]), "cpu"),  # the CPU's kernel has the higher priority
        (node("n", "Shape", "a", T=FLOAT, out_type=INT32), "gpu"),
    ],
    ids=lambda value: value.op if hasattr(value, "op") else value,
)
def test_an_op_goes_to_the_gpu_if_it_has_a_kernel_there(made, device):
    from graphmem.trace.placement import place

    source = node("a", "_Arg", T=made.attr["T"].type or FLOAT)
    assert place(graph(source, made))["n"] == device


def test_arguments_are_where_their_caller_made_them():
    from graphmem.trace.placement import place

    arguments = graph(
        node("x", "_Arg", T=FLOAT),
        node("ids", "_Arg", T=INT32),
        node("text", "_Arg", T=STRING),
        variable("weight", FLOAT),
        variable("step", INT64),
        variable("counter", INT32),
        variable("seed", UINT64),
        node("table", "_Arg", T=RESOURCE),
    )
    assert place(arguments) == {
        "x": "gpu", "ids": "gpu", "text": "cpu", "weight": "gpu", "step": "gpu", "counter": "cpu", "seed": "gpu",
        "table": "cpu",
    }  # fmt: skip


def test_what_shares_a_resource_shares_a_device():
    from graphmem.trace.placement import place

    shared = graph(
        variable("counter", INT32),
        node("handle", "Identity", "counter", T=RESOURCE),
        node("read", "ReadVariableOp", "handle", dtype=INT32),
        variable("weight", FLOAT),
        node("other", "ReadVariableOp", "weight", dtype=FLOAT),
    )
    assert place(shared) == {"counter": "cpu", "handle": "cpu", "read": "cpu", "weight": "gpu", "other": "gpu"}


def test_a_class_attribute_ties_nodes_together():
    from graphmem.trace.placement import place

    follower = node("follower", "Relu", "x", T=FLOAT)
    follower.attr["_class"].list.s.extend([b"loc:@decoded", b"loc:@gone"])
    tied = graph(
        node("text", "_Arg", T=STRING), node("x", "_Arg", T=FLOAT), node("decoded", "DecodeRaw", "text"), follower
    )
    assert place(tied) == {"text": "cpu", "x": "gpu", "decoded": "cpu", "follower": "cpu"}


def test_constants_follow_their_readers_and_shapes_their_input():
    from graphmem.trace.placement import place

    followers = graph(
        node("text", "_Arg", T=STRING),
        node("x", "_Arg", T=FLOAT),
        node("only_host", "Const", dtype=STRING),
        node("both", "Const", dtype=INT32),
        node("waited_for", "Const", dtype=FLOAT),
        node("joined", "StringJoin", "text", "only_host", "^both", "^waited_for", N={"i": 2}),
        node("size", "Size", "joined", T=STRING, out_type=INT32),
        node("sum", "Sum", "x", "both", T=FLOAT, Tidx=INT32),
        node("result", "_Retval", "joined", T=STRING),
    )
    assert place(followers) == {
        "text": "cpu", "x": "gpu", "only_host": "cpu", "both": "gpu", "waited_for": "cpu", "joined": "cpu",
        "size": "cpu", "sum": "gpu", "result": "cpu",
    }  # fmt: skip


def test_a_wish_for_the_cpu_counts_but_moves_no_variable():
    from graphmem.trace.placement import place

    wished = graph(
        variable("weight", FLOAT),
        node("read", "ReadVariableOp", "weight", dtype=FLOAT),
        node("relu", "Relu", "read", T=FLOAT),
        node("double", "AddV2", "relu", "relu", T=FLOAT),
    )
    wishes = {"read": "/device:CPU:0", "relu": "/cpu:0", "double": "/device:GPU:0", "gone": "/device:CPU:0"}
    assert place(wished, wishes) == {"weight": "gpu", "read": "gpu", "relu": "cpu", "double": "gpu"}


def test_one_copy_per_tensor_and_memory():
    from graphmem.trace.copies import insert_copies
    from graphmem.trace.placement import memory_types

    result = insert_copies(
        graph(
            node("labels", "_Arg", device="gpu", T=INT32),
            node("x", "_Arg", device="gpu", T=FLOAT),
            node("a", "Cast", "labels", device="gpu", SrcT=INT32, DstT=FLOAT),
            node("b", "Cast", "labels", "^a", device="gpu", SrcT=INT32, DstT=INT64),
            node("sum", "Sum", "labels", "labels", device="gpu", T=INT32, Tidx=INT32),
            node("on_cpu", "Relu", "x", device="cpu", T=FLOAT),
            node("split", "Split", "sum", "x", device="gpu", T=FLOAT, num_split={"i": 2}),
            node("also_on_cpu", "AddV2", "split:1", "x", device="cpu", T=FLOAT),
            node("back", "AddV2", "also_on_cpu", "x", device="gpu", T=FLOAT),
        )
    )
    assert lines(result) == [
        "labels = _Arg() @gpu",
        "x = _Arg() @gpu",
        "labels/_copy_0_to_gpu = _Copy(labels) @gpu",
        "a = Cast(labels/_copy_0_to_gpu) @gpu",
        "b = Cast(labels/_copy_0_to_gpu, ^a) @gpu",
        "sum = Sum(labels, labels) @gpu",
        "x/_copy_0_to_cpu = _Copy(x) @cpu",
        "on_cpu = Relu(x/_copy_0_to_cpu) @cpu",
        "split = Split(sum, x) @gpu",
        "split/_copy_1_to_cpu = _Copy(split:1) @cpu",
        "also_on_cpu = AddV2(split/_copy_1_to_cpu, x/_copy_0_to_cpu) @cpu",
        "also_on_cpu/_copy_0_to_gpu = _Copy(also_on_cpu) @gpu",
        "back = AddV2(also_on_cpu/_copy_0_to_gpu, x) @gpu",
    ]
    by_name = {n.name: n for n in result.node}
    assert [n.attr["T"].type for n in result.node if n.op == "_Copy"] == [INT32, FLOAT, FLOAT, FLOAT]
    assert memory_types(by_name["labels/_copy_0_to_gpu"]) == ((HOST,), (DEVICE,))
    assert memory_types(by_name["x/_copy_0_to_cpu"]) == ((DEVICE,), (HOST,))


def test_no_copy_where_both_devices_use_host_memory():
    from graphmem.trace.copies import insert_copies

    placed = graph(
        node("shape", "_Arg", device="gpu", T=INT32),
        node("total", "Prod", "shape", "shape", device="cpu", T=INT32, Tidx=INT32),
    )
    assert lines(insert_copies(placed)) == lines(placed)


def test_a_build_without_gpu_kernels_is_said_to_be_one(monkeypatch):
    from graphmem.errors import TargetError
    from graphmem.trace import grappler, kernels

    monkeypatch.setattr(kernels, "_kernels", lambda op: ())
    with pytest.raises(TargetError, match="lists no GPU kernels"):
        grappler.gpu_graph(graph())


def test_a_graph_with_onednns_cpu_ops_is_refused():
    from graphmem.errors import TargetError
    from graphmem.trace.grappler import gpu_graph

    with pytest.raises(TargetError, match="TF_ENABLE_ONEDNN_OPTS=0"):
        gpu_graph(graph(node("x", "_Arg", T=FLOAT), node("y", "_MklRelu", "x", T=FLOAT)))


def test_a_graph_whose_variables_have_no_type_is_refused():
    from graphmem.errors import InternalError
    from graphmem.trace.grappler import gpu_graph

    raw = graph(node("weight", "_Arg", T=RESOURCE), node("read", "ReadVariableOp", "weight", dtype=FLOAT))
    with pytest.raises(InternalError, match="argument weight holds a variable of unknown type"):
        gpu_graph(raw)
