"""The copies between host and device memory that TensorFlow makes on a machine with one GPU."""

from __future__ import annotations

from typing import Any

from tensorflow.core.framework import graph_pb2, node_def_pb2, types_pb2

from graphmem.trace.kernels import signature
from graphmem.trace.placement import COPY, DEVICE_NAMES, data_inputs, memory_types


def insert_copies(graph: graph_pb2.GraphDef) -> graph_pb2.GraphDef:
    """A copy of a placed graph with one `_Copy` node per tensor that is read in the other memory.

    TensorFlow sends such a tensor once for all its readers there (core/common_runtime/memory_types.cc,
    core/graph/graph_partition.cc): a copy to the GPU takes one buffer of device memory from the time its source is
    made until its last reader is done. The copy stands before the first of its readers in the node list.
    """
    nodes = {node.name: node for node in graph.node}
    memory = {node.name: memory_types(node) for node in graph.node}
    result = graph_pb2.GraphDef()
    result.versions.CopyFrom(graph.versions)
    result.library.CopyFrom(graph.library)
    copies: dict[tuple[str, int], str] = {}
    for node in graph.node:
        changed = node_def_pb2.NodeDef()
        changed.CopyFrom(node)
        for position, ((source, slot), wants_host) in enumerate(
            zip(data_inputs(node), memory[node.name][0], strict=False)
        ):
            made_on_host = memory[source][1]
            if slot >= len(made_on_host) or made_on_host[slot] == wants_host:
                continue
            if (source, slot) not in copies:
                copy = _copy_node(source, slot, "cpu" if wants_host else "gpu", _dtype(nodes[source], slot))
                copies[source, slot] = copy.name
                result.node.append(copy)
            changed.input[position] = copies[source, slot]
        result.node.append(changed)
    return result


def _copy_node(source: str, slot: int, to: str, dtype: int) -> node_def_pb2.NodeDef:
    node = node_def_pb2.NodeDef(
        name=f"{source}/_copy_{slot}_to_{to}", op=COPY, input=[f"{source}:{slot}" if slot else source]
    )
    node.device = DEVICE_NAMES[to]
    node.attr["T"].type = dtype
    node.attr["to"].s = to.encode()
    return node


def _dtype(node: Any, slot: int) -> int:
    found = signature(node)
    return found.output_types[slot] if found else types_pb2.DT_INVALID
