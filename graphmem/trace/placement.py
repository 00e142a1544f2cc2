"""Where ops and tensors of a graph would live on a machine with one GPU.

Devices are the words "cpu" and "gpu" in the tables here, TensorFlow's full names in GraphDefs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tensorflow.core.framework import graph_pb2, node_def_pb2, types_pb2

from graphmem.trace.kernels import Signature, signature

DEVICE_NAMES = {
    "cpu": "/job:localhost/replica:0/task:0/device:CPU:0",
    "gpu": "/job:localhost/replica:0/task:0/device:GPU:0",
}
"""TensorFlow's name of each device."""

COPY = "_Copy"
"""Op type of the copies between host and device memory (`graphmem.trace.copies`); attribute `to`: "cpu" or "gpu"."""

_METADATA = frozenset({"Shape", "ShapeN", "Size", "Rank"})


def device_of(node: Any) -> str:
    """ "gpu" if a NodeDef is assigned to a GPU, else "cpu"."""
    return "gpu" if "GPU:" in node.device.upper() else "cpu"


def place(graph: graph_pb2.GraphDef, requested: Mapping[str, str] | None = None) -> dict[str, str]:
    """The device, "cpu" or "gpu", that TensorFlow's placer would choose for each node on a machine with one GPU.

    An op goes to the GPU if it has a kernel there; ops that share a resource, or that a `_class` attribute ties
    together, go where all of them can; a constant follows its readers, an op that reads only shapes its input
    (core/common_runtime/placer.cc and colocation_graph.cc).

    Args:
        graph: functions inlined, control flow lowered. Resource arguments must carry `_handle_dtypes`.
        requested: node name -> the device that the user's code asks for, where it does. Only a wish for a CPU changes
            anything, and a variable of the caller stays where it is.
    """
    groups = _tie(graph)
    on_cpu = {groups.find(node.name) for node in graph.node if not _can_be_on_gpu(node)}
    held = {groups.find(node.name) for node in graph.node if node.op == "_Arg"}
    wishes = {name for name, device in (requested or {}).items() if "CPU" in device.upper()}
    on_cpu |= {groups.find(node.name) for node in graph.node if node.name in wishes} - held
    devices = {node.name: "cpu" if groups.find(node.name) in on_cpu else "gpu" for node in graph.node}
    for node in graph.node:
        if node.op == "_Retval" or (node.op in _METADATA and node.name not in wishes):
            devices[node.name] = devices[next(data_inputs(node))[0]]
    for name, readers in _generators(graph).items():
        if name not in wishes and {devices[reader] for reader in readers} == {"cpu"}:
            devices[name] = "cpu"
    return devices


def _tie(graph: graph_pb2.GraphDef) -> _Groups:
    """The sets of nodes that must share a device: by a resource they pass on, or by their `_class`."""
    groups = _Groups(node.name for node in graph.node)
    for node in graph.node:
        found = signature(node)
        if found is not None and types_pb2.DT_RESOURCE in found.input_types:
            for (source, _), dtype in zip(data_inputs(node), found.input_types, strict=True):
                if dtype == types_pb2.DT_RESOURCE:
                    groups.join(source, node.name)
        for name in node.attr["_class"].list.s if "_class" in node.attr else ():
            groups.join(name.decode().removeprefix("loc:@"), node.name)
    return groups


def _generators(graph: graph_pb2.GraphDef) -> dict[str, list[str]]:
    """Nodes without data inputs that write one tensor -> the nodes that wait for them, arguments apart."""
    found: dict[str, list[str]] = {}
    for node in graph.node:
        kind = signature(node)
        if kind is not None and not kind.input_types and len(kind.output_types) == 1 and node.op != "_Arg":
            found[node.name] = []
    for node in graph.node:
        for text in node.input:
            source = text.removeprefix("^").partition(":")[0]
            if source in found:
                found[source].append(node.name)
    return found


def memory_types(node: Any) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """Whether each input and each output of a placed NodeDef lives in host memory.

    On the CPU all do. On a GPU the kernel's registration says it; strings and resource handles always do.
    """
    if node.op == COPY:
        to_host = node.attr["to"].s == b"cpu"
        return (not to_host,), (to_host,)
    found = signature(node)
    on_gpu = device_of(node) == "gpu"
    if found is None:
        return (not on_gpu,) * sum(1 for _ in data_inputs(node)), ()
    if not on_gpu:
        return (True,) * len(found.input_types), (True,) * len(found.output_types)
    return (
        _with_attr(node, "_input_hostmem", found.inputs_on_host),
        _with_attr(node, "_output_hostmem", found.outputs_on_host),
    )


def assign(graph: graph_pb2.GraphDef, devices: Mapping[str, str]) -> graph_pb2.GraphDef:
    """A copy of the graph with each node on its device."""
    placed = graph_pb2.GraphDef()
    placed.CopyFrom(graph)
    for node in placed.node:
        node.device = DEVICE_NAMES[devices[node.name]]
    return placed


def data_inputs(node: Any) -> Iterator[tuple[str, int]]:
    """(producing node, output slot) of each data input of a NodeDef, in order."""
    for text in node.input:
        if text.startswith("^"):
            break
        name, _, slot = text.partition(":")
        yield name, int(slot or 0)


def _can_be_on_gpu(node: Any) -> bool:
    found = signature(node)
    if found is None:
        return True
    if node.op == "_Arg":
        return _argument_is_on_gpu(node, found)
    return found.on_gpu


def _argument_is_on_gpu(node: Any, found: Signature) -> bool:
    """An argument is where its caller made it: a variable where `VarHandleOp` has a kernel, a string on the host."""
    if found.output_types == (types_pb2.DT_STRING,):
        return False
    if found.output_types != (types_pb2.DT_RESOURCE,):
        return True
    held = node.attr["_handle_dtypes"].list.type if "_handle_dtypes" in node.attr else ()
    if not held:  # a table or an iterator
        return False
    variable = node_def_pb2.NodeDef(op="VarHandleOp")
    variable.attr["dtype"].type = held[0]
    handle = signature(variable)
    return handle is not None and handle.on_gpu


def _with_attr(node: Any, attr: str, hosts: tuple[bool, ...]) -> tuple[bool, ...]:
    """Add the tensors that an attribute of the node pins to host memory."""
    pinned = set(node.attr[attr].list.i) if attr in node.attr else ()
    return tuple(host or position in pinned for position, host in enumerate(hosts)) if pinned else hosts


class _Groups:
    """Disjoint sets of node names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._parent = {name: name for name in names}

    def find(self, name: str) -> str:
        while self._parent[name] != name:
            self._parent[name] = self._parent[self._parent[name]]
            name = self._parent[name]
        return name

    def join(self, one: str, other: str) -> None:
        if one in self._parent and other in self._parent:  # `_class` may name a node that a pass removed
            self._parent[self.find(one)] = self.find(other)
