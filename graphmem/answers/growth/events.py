"""TensorBoard event files, read without TensorFlow: what of them is graph, and whose model it is."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from graphmem.errors import TargetError
from graphmem.protos import message_class

_FIELDS = (
    ("Event", "1 wall_time double, 2 step int64, 4 graph_def bytes, 5 summary Summary, 8 tagged_run_metadata Tagged,"
              " 9 meta_graph_def bytes"),
    ("Summary", "1 value* Value"),
    ("Value", "1 tag string, 8 tensor Tensor"),
    ("Tensor", "8 string_val* bytes"),
    ("Tagged", "1 tag string, 2 run_metadata bytes"),
    ("MetaGraph", "2 graph_def bytes"),
    ("RunMetadata", "3 partition_graphs* bytes, 4 function_graphs* FunctionGraphs"),
    ("FunctionGraphs", "2 pre_optimization_graph bytes"),
    ("Graph", "1 node* Node, 2 library Library"),
    ("Node", "1 name string, 2 op string, 3 input* string"),
    ("Library", "1 function* Function"),
    ("Function", "3 node_def* Node"),
)  # fmt: skip

_KERAS = "keras"
"""Tag under which the TensorBoard callback writes the model's configuration."""

_HEADER, _FOOTER = 12, 4
"""A TFRecord: the length (8 bytes) and its checksum (4), the data, the data's checksum (4)."""


@dataclass(frozen=True)
class Node:
    """A node of a graph: its name, op, and the names of the nodes that it reads; control inputs begin with ^."""

    name: str
    op: str
    inputs: tuple[str, ...] = ()


@dataclass
class Graph:
    """A graph in an event file.

    Attributes:
        bytes: that it takes there.
        nodes: of the graph itself.
        function_nodes: number of nodes in the functions of its library.
    """

    bytes: int
    nodes: list[Node]
    function_nodes: int = 0


@dataclass
class Events:
    """What the event files of one run hold.

    Attributes:
        bytes: of the files.
        records: number of events.
        began: wall time of the first event (seconds since 1970), 0.0 for none.
        graphs: the graphs in them.
        other_graph_bytes: of graphs that TensorFlow recorded with a step (run metadata).
        layers: names of the layers of the models whose configuration is there.
        cut: whether a file ends in the middle of a record.
    """

    bytes: int = 0
    records: int = 0
    began: float = 0.0
    graphs: list[Graph] = field(default_factory=list)
    other_graph_bytes: int = 0
    layers: set[str] = field(default_factory=set)
    cut: bool = False


def read_events(paths: list[Path]) -> Events:
    """Read the event files of one run.

    Raises:
        TargetError: a file cannot be read or is no event file.
    """
    found = Events()
    for path in sorted(paths):
        try:
            found.bytes += path.stat().st_size
            with path.open("rb") as file:
                for record in _records(file, path, found):
                    _add(found, _parsed("Event", record, path), path)
        except OSError as error:
            raise TargetError(f"{path} cannot be read: {error.strerror}.") from error
    return found


def _records(file: IO[bytes], path: Path, found: Events) -> Iterator[bytes]:
    """The records of a TFRecord file; one that is still being written may end in the middle of one."""
    size = path.stat().st_size
    while header := file.read(_HEADER):
        if len(header) < _HEADER:
            found.cut = True
            return
        (length,) = struct.unpack("<Q", header[:8])
        if length > size:
            raise TargetError(f"{path} is no event file, or is damaged: a record of {length} bytes.")
        data = file.read(length + _FOOTER)
        if len(data) < length + _FOOTER:
            found.cut = True
            return
        yield data[:length]


def _add(found: Events, event: Any, path: Path) -> None:
    found.records += 1
    if event.wall_time and (not found.began or event.wall_time < found.began):
        found.began = event.wall_time
    if event.graph_def:
        found.graphs.append(_graph(event.graph_def, path))
    if event.meta_graph_def and not event.graph_def:  # TensorFlow 1 writes the same graph in both ways
        inner = _parsed("MetaGraph", event.meta_graph_def, path).graph_def
        if inner and all(graph.bytes != len(inner) for graph in found.graphs):
            found.graphs.append(_graph(inner, path))
    if event.tagged_run_metadata.run_metadata:
        metadata = _parsed("RunMetadata", event.tagged_run_metadata.run_metadata, path)
        found.other_graph_bytes += sum(map(len, metadata.partition_graphs))
        found.other_graph_bytes += sum(len(graphs.pre_optimization_graph) for graphs in metadata.function_graphs)
    for value in event.summary.value:
        if value.tag == _KERAS and value.tensor.string_val:
            found.layers |= _layer_names(value.tensor.string_val[0])


def _graph(data: bytes, path: Path) -> Graph:
    graph = _parsed("Graph", data, path)
    nodes = [Node(node.name, node.op, tuple(node.input)) for node in graph.node]
    return Graph(len(data), nodes, sum(len(function.node_def) for function in graph.library.function))


def _layer_names(text: bytes) -> set[str]:
    """The names of all layers in a model's JSON."""
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError):
        return set()
    names = set()
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            config = part.get("config")
            if isinstance(config, dict) and isinstance(config.get("name"), str) and part.get("class_name"):
                names.add(config["name"])
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return names


def _parsed(root: str, data: bytes, path: Path) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return message_class(f"graphmem.events.{root}", root, _FIELDS).FromString(data)
    except DecodeError as error:
        raise TargetError(f"{path} is no event file, or is damaged: its records are no events.") from error
