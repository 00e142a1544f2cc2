"""TensorFlow's own static estimate of a peak: Grappler's `DeterminePeakMemoryUsage`, run for a virtual device."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow.python.grappler import cluster, item

from graphmem.trace.grappler import virtual_devices
from graphmem.trace.placement import COPY, DEVICE_NAMES

_ROOM = 1 << 60
"""Bytes that the virtual devices have: with less than the graph needs, Grappler raises instead of telling."""


def static_peak(graph: Any, device: str) -> int | str:
    """Bytes that Grappler thinks a graph needs at its peak on a device, or why it does not tell.

    Args:
        graph: the GraphDef that an executor would run, with its `_Arg` and `_Retval` nodes.
        device: "cpu" or "gpu".
    """
    meta = meta_graph_pb2.MetaGraphDef()
    meta.graph_def.CopyFrom(graph)
    for node in meta.graph_def.node:
        if node.op == COPY:  # graphmem's own, for what TensorFlow does without an op
            node.op = "Identity"
            del node.attr["to"]
    fetched = [node.name for node in graph.node if node.op == "_Retval"]
    meta.collection_def["train_op"].node_list.value.extend(fetched or [node.name for node in graph.node[-1:]])
    devices = virtual_devices(device, "8.0", _ROOM)
    for named in devices:
        named.properties.memory_size = _ROOM
    try:
        found = cluster.Cluster(devices=devices).DeterminePeakMemoryUsage(item.Item(meta))
    except (tf.errors.OpError, ValueError, RuntimeError) as error:
        return str(error).strip().partition(". ")[0].partition("\n")[0] or type(error).__name__
    return int(found[DEVICE_NAMES[device]][0]) if DEVICE_NAMES[device] in found else "it names no such device"
