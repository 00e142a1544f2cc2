"""Grappler, run on a graph for a device that need not exist.

Given the graph that TensorFlow itself would give to Grappler (functions inlined, control flow lowered, `_Arg` and
`_Retval` nodes, in TensorFlow's order), the result for the CPU equals TensorFlow's own executed graph, node by node
and in the same order; a test holds it to that. For a GPU nothing but the devices differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tensorflow.core.framework import graph_pb2, node_def_pb2, types_pb2
from tensorflow.core.protobuf import config_pb2, device_properties_pb2, meta_graph_pb2
from tensorflow.python.eager import context
from tensorflow.python.framework import errors_impl
from tensorflow.python.grappler import cluster, tf_optimizer

from graphmem.errors import InternalError, TargetError
from graphmem.trace.copies import insert_copies
from graphmem.trace.kernels import require_gpu_kernels
from graphmem.trace.placement import DEVICE_NAMES, assign, place

CPU_MEMORY_BYTES = 256 << 20
"""What TensorFlow's CPU device says of its memory, whatever the machine has (threadpool_device_factory.cc)."""

#: TensorFlow does not rewrite graphs of fewer nodes (meta_optimizer.cc).
_SMALLEST_GRAPH = 4

#: Stands for an `_Arg` of known shape while Grappler runs. The Python entry to Grappler forgets the shapes of `_Arg`
#: nodes, and feeds a Placeholder with a real tensor. This op has its shape as an attribute, no inputs, and a state,
#: so that it is neither folded nor merged: just what an `_Arg` is to Grappler.
_STAND_IN = "_ParallelConcatStart"


def gpu_graph(
    lowered: graph_pb2.GraphDef,
    control_outputs: Iterable[str] = (),
    *,
    architecture: str = "8.0",
    memory_bytes: int = 16 << 30,
    rewrite: bool = True,
    requested: Mapping[str, str] | None = None,
    notes: list[str] | None = None,
) -> graph_pb2.GraphDef:
    """The graph that TensorFlow would execute on a machine with one GPU.

    Args:
        lowered: the graph as it reaches Grappler: TensorFlow's instantiation with the meta optimizer disabled.
        control_outputs: names of the nodes that must run though nobody reads them (assignments above all).
        architecture: the GPU's compute capability; it decides layouts.
        memory_bytes: the GPU's memory. If Grappler thinks that the step needs more, it has tensors wait in host
            memory (`_CopyFromGpuToHost` and `_CopyFromHostToGpu` nodes), as it would on that GPU.
        rewrite: whether Grappler runs at all.
        requested: node name -> the device that the user's code asks for, where it does.
        notes: is told if Grappler fails.

    Returns:
        A GraphDef whose nodes are all on a device, with `_Copy` nodes between host and device memory;
        `placement.memory_types` tells the memory of each tensor.

    Raises:
        TargetError: the installed TensorFlow lists no GPU kernels, or has put oneDNN's CPU ops into the graph.
        InternalError: the graph is from before TensorFlow noted the variables' types on the arguments.
    """
    require_gpu_kernels()
    _check(lowered)
    graph = assign(lowered, place(lowered, requested))
    if rewrite:
        try:
            graph = optimise(graph, control_outputs, device="gpu", architecture=architecture, memory_bytes=memory_bytes)
        except errors_impl.OpError as error:  # TensorFlow then runs it as it is (optimize_function_graph_utils.cc)
            if notes is not None:
                notes.append(f"TensorFlow's graph rewrites fail, and it goes without: {error.message.splitlines()[0]}")
    return insert_copies(graph)


def optimise(
    graph: graph_pb2.GraphDef,
    control_outputs: Iterable[str] = (),
    *,
    device: str = "cpu",
    architecture: str = "8.0",
    memory_bytes: int = 16 << 30,
) -> graph_pb2.GraphDef:
    """The graph after Grappler's passes; no device is touched.

    The passes are TensorFlow's defaults, as changed by `tf.config.optimizer`: with the meta optimizer disabled there,
    the graph comes back as it is.

    Args:
        graph: placed: every node names its device.
        control_outputs: names of nodes that must run though nobody reads them.
        device: "cpu", or "gpu" for a machine that has one GPU as well.
        architecture, memory_bytes: the GPU's.
    """
    arguments = {node.name: node for node in graph.node if _has_shape(node)}
    names = {node.name for node in graph.node}
    keep = [node.name for node in graph.node if node.op == "_Retval"]
    keep += [name for name in control_outputs if name in names]
    config = _config()
    if config.graph_options.rewrite_options.disable_meta_optimizer or len(graph.node) < _SMALLEST_GRAPH or not keep:
        return graph
    meta = meta_graph_pb2.MetaGraphDef()
    meta.graph_def.CopyFrom(graph)
    meta.collection_def["train_op"].node_list.value.extend(keep)
    for node in meta.graph_def.node:
        if node.name in arguments:
            _stand_in(node)
    devices = virtual_devices(device, architecture, memory_bytes)
    result = tf_optimizer.OptimizeGraph(config, meta, verbose=False, cluster=cluster.Cluster(devices=devices))
    for node in result.node:
        if node.op == _STAND_IN and node.name in arguments:
            node.CopyFrom(arguments[node.name])
    return result


def _check(lowered: graph_pb2.GraphDef) -> None:
    """Refuse graphs that would be placed wrongly in silence."""
    untyped = {node.name for node in lowered.node if node.op == "_Arg" and "_handle_dtypes" not in node.attr}
    for node in lowered.node:
        if node.op.startswith("_Mkl"):
            raise TargetError(
                "TensorFlow was imported with oneDNN on, which hides what a GPU would run; "
                "set TF_ENABLE_ONEDNN_OPTS=0 before TensorFlow is imported"
            )
        if node.op == "ReadVariableOp" and node.input[0] in untyped:
            raise InternalError(f"argument {node.input[0]} holds a variable of unknown type: the graph is not lowered")


def _config() -> config_pb2.ConfigProto:
    """What TensorFlow hands to Grappler when it instantiates a function."""
    config = config_pb2.ConfigProto()
    config.graph_options.CopyFrom(context.context().config.graph_options)
    config.graph_options.rewrite_options.min_graph_nodes = -1
    return config


def _has_shape(node: node_def_pb2.NodeDef) -> bool:
    return (
        node.op == "_Arg"
        and node.attr["T"].type != types_pb2.DT_RESOURCE  # a handle's own attributes tell the shape behind it
        and "_output_shapes" in node.attr
        and len(node.attr["_output_shapes"].list.shape) == 1
    )


def _stand_in(node: node_def_pb2.NodeDef) -> None:
    dtype, shape = node.attr["T"].type, node.attr["_output_shapes"].list.shape[0]
    attrs = node_def_pb2.NodeDef()
    attrs.attr["dtype"].type = dtype
    attrs.attr["shape"].shape.CopyFrom(shape)
    node.op = _STAND_IN
    node.ClearField("attr")
    node.MergeFrom(attrs)


def virtual_devices(device: str, architecture: str, memory_bytes: int) -> list[device_properties_pb2.NamedDevice]:
    """The devices of the virtual cluster.

    Types, memory sizes and the GPU's architecture decide what is rewritten. Speeds only decide which tensors go to
    host memory when the GPU's is short, and without any Grappler moves none: they are those of a common data-centre
    GPU (an A100: 108 multiprocessors at 1.41 GHz, 1,555 GB/s).
    """
    cpu = device_properties_pb2.NamedDevice(name=DEVICE_NAMES["cpu"])
    cpu.properties.type = "CPU"
    cpu.properties.frequency = 2000  # MHz
    cpu.properties.num_cores = 8
    cpu.properties.memory_size = CPU_MEMORY_BYTES
    if device == "cpu":
        return [cpu]
    gpu = device_properties_pb2.NamedDevice(name=DEVICE_NAMES["gpu"])
    gpu.properties.type = "GPU"
    gpu.properties.frequency = 1410  # MHz
    gpu.properties.num_cores = 108
    gpu.properties.bandwidth = 1_555_000_000  # KB/s
    gpu.properties.memory_size = memory_bytes
    gpu.properties.environment["architecture"] = architecture
    return [cpu, gpu]
