"""TensorFlow checkpoints and SavedModel folders as plain data: index and protos are read, nothing is built or run."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from graphmem.errors import TargetError

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_SLOT = "/.OPTIMIZER_SLOT/"
_OLD_SLOT = re.compile(r"/(Adam|Momentum|RMSProp|Adagrad|Adadelta|Ftrl|AdamAsync)(_\d+)?$|^beta[12]_power(_\d+)?$")
"""How TensorFlow 1 named its optimizers' slots."""


@dataclass(frozen=True)
class Entry:
    """A stored tensor: its key, what it belongs to ("weight", "optimizer", "other"), dtype and shape."""

    key: str
    kind: str
    dtype: str
    shape: tuple[int, ...]


@dataclass
class SavedModelFacts:
    """What a `saved_model.pb` says.

    Attributes:
        functions, nodes: functions of the library, and the nodes in them and in the main graph.
        objects: tracked objects, variables included.
        repeated: whether every variable occurs twice or more by name.
        resources: tables and the like, which functions of the file fill when it is loaded.
        legacy: whether Keras 2 wrote it.
        model_config, training_config: of a legacy model, as JSON text; "" if unknown.
    """

    functions: int = 0
    nodes: int = 0
    objects: int = 0
    repeated: bool = False
    resources: int = 0
    legacy: bool = False
    model_config: str = ""
    training_config: str = ""
    versions: dict[str, str] = field(default_factory=dict)


def entries(prefix: str) -> list[Entry]:
    """The tensors of a checkpoint, in the order of their keys.

    Raises:
        TargetError: it cannot be read.
    """
    import tensorflow as tf

    try:
        reader = tf.train.load_checkpoint(prefix)
        shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
        optimizers = _optimizer_paths(reader) if OBJECT_GRAPH in shapes else ()
    except (tf.errors.OpError, ValueError, RuntimeError) as error:
        said = str(error).splitlines()[0].rstrip(".")[:200]
        raise TargetError(f"{prefix} is no TensorFlow checkpoint, or is damaged: {said}.") from error
    return [
        Entry(key.removesuffix(_VALUE), _kind(key, optimizers), dtypes[key].base_dtype.name, tuple(shapes[key]))
        for key in sorted(shapes)
        if key != OBJECT_GRAPH
    ]


def _kind(key: str, optimizers: tuple[str, ...]) -> str:
    name = key.removesuffix(_VALUE)
    for path in optimizers:  # which tracks the weights that it trains as well
        if name.startswith(path):
            return "weight" if name.startswith(f"{path}_trainable_variables/") else "optimizer"
    if _SLOT in key or _OLD_SLOT.search(name):
        return "optimizer"
    parts = name.split("/")
    if any(part.endswith("optimizer") for part in parts[:-1]):
        return "optimizer"
    if name in ("save_counter", "global_step") or {"keras_api", "metrics", "_metrics"} & set(parts):
        return "other"
    if any(part.startswith(("seed_generator", "_seed_generator", "_random_seed", "compile_metrics")) for part in parts):
        return "other"
    return "weight"


def _optimizer_paths(reader: Any) -> tuple[str, ...]:
    """The keys' beginnings below which an optimizer lies: an object that tracks `_variables` and an iteration."""
    graph = object_graph(reader)
    found = []
    for path, node in _walk(graph):
        names = {child.local_name for child in graph.nodes[node].children}
        if "_variables" in names and names & {"iteration", "_iterations", "iterations", "iter"}:
            found.append(f"{path}/")
    return tuple(found)


def object_graph(reader: Any) -> Any:
    """The `TrackableObjectGraph` of an object-based checkpoint."""
    from tensorflow.core.protobuf import trackable_object_graph_pb2

    return trackable_object_graph_pb2.TrackableObjectGraph.FromString(reader.get_tensor(OBJECT_GRAPH))


def _walk(graph: Any) -> Iterator[tuple[str, int]]:
    """Every object once, by a shortest path of names to it."""
    seen, waiting = {0}, [("", 0)]
    for path, node in waiting:
        yield path, node
        for child in graph.nodes[node].children:
            if child.node_id not in seen:
                seen.add(child.node_id)
                name = child.local_name.replace(".", "..").replace("/", ".S")
                waiting.append((f"{path}/{name}" if path else name, child.node_id))


def saved_model_facts(folder: str) -> SavedModelFacts:
    """What the folder's `saved_model.pb`, and `keras_metadata.pb` if there is one, say.

    Raises:
        TargetError: it cannot be read.
    """
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf import saved_model_pb2

    path = os.path.join(folder, "saved_model.pb")
    try:
        with open(path, "rb") as file:
            saved = saved_model_pb2.SavedModel.FromString(file.read())
    except (OSError, DecodeError) as error:
        raise TargetError(f"{folder} is no SavedModel, or is damaged: its saved_model.pb cannot be read.") from error
    if not saved.meta_graphs:
        raise TargetError(f"{folder} is no SavedModel, or is damaged: its saved_model.pb holds no graph.")
    meta = saved.meta_graphs[0]
    library, objects = meta.graph_def.library.function, meta.object_graph_def.nodes
    variables = [node.variable for node in objects if node.WhichOneof("kind") == "variable"]
    names = Counter((variable.name, variable.dtype, str(variable.shape)) for variable in variables)
    facts = SavedModelFacts(
        functions=len(library),
        nodes=len(meta.graph_def.node) + sum(len(function.node_def) for function in library),
        objects=len(objects),
        repeated=bool(names) and min(names.values()) > 1,
        resources=sum(node.WhichOneof("kind") == "resource" for node in objects),
        legacy=os.path.exists(os.path.join(folder, "keras_metadata.pb")),
        versions={"tensorflow": meta.meta_info_def.tensorflow_version},
    )
    if facts.legacy:
        _add_legacy(facts, os.path.join(folder, "keras_metadata.pb"))
    return facts


def _add_legacy(facts: SavedModelFacts, path: str) -> None:
    """The configurations that Keras 2 left beside the graph, if tf_keras is there to read them."""
    import json

    try:
        from tf_keras.protobuf import saved_metadata_pb2
    except ImportError:
        return
    with open(path, "rb") as file:
        nodes = saved_metadata_pb2.SavedMetadata.FromString(file.read()).nodes
    root = next((node for node in nodes if node.node_path == "root"), None)
    if root is not None:
        metadata = json.loads(root.metadata)
        facts.model_config = json.dumps(metadata.get("model_config") or {})
        facts.training_config = json.dumps(metadata.get("training_config") or {})
        facts.versions["keras"] = str(metadata.get("keras_version", "2."))
