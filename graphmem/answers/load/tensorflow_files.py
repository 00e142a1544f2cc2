"""The contents of TensorFlow checkpoints and SavedModel folders."""

from __future__ import annotations

import glob
import os

from graphmem.answers.load.configuration import code_in, layer_count, parse
from graphmem.answers.load.contents import Contents, Stored
from graphmem.answers.load.training import training_of
from graphmem.errors import TargetError
from graphmem.graph.model import tensor_bytes


def read_checkpoint(prefix: str) -> Contents:
    """The contents of a checkpoint, given by its prefix.

    Raises:
        TargetError: it cannot be read.
    """
    contents = Contents(prefix, "checkpoint", _size(glob.glob(glob.escape(prefix) + ".*")))
    _add_tensors(contents, prefix)
    return contents


def read_saved_model(folder: str) -> Contents:
    """The contents of a SavedModel folder.

    Raises:
        TargetError: it cannot be read.
    """
    from graphmem.target.checkpoints import saved_model_facts

    files = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    contents = Contents(folder, "savedmodel", _size(files))
    facts = saved_model_facts(folder)
    contents.functions, contents.nodes, contents.objects = facts.functions, facts.nodes, facts.objects
    contents.keras_version = facts.versions.get("keras", "2." if facts.legacy else "")
    variables = os.path.join(folder, "variables", "variables")
    if os.path.exists(f"{variables}.index"):
        _add_tensors(contents, variables)
    if facts.repeated:
        contents.notes.append("Every variable is stored twice or more under different names, and loaded as often.")
    if facts.resources:
        contents.code = "functions that fill tables when it is loaded"
    if facts.model_config:
        config = parse(facts.model_config, folder)
        contents.layers, contents.code = layer_count(config), contents.code or code_in(config)
        training = parse(facts.training_config, folder)
        contents.training = training_of(training) if training else None
    return contents


def checkpoint_prefix(path: str) -> str | None:
    """The prefix of the checkpoint that a path names: itself, its index or data file, or a folder's latest."""
    if os.path.isdir(path):
        return _latest(path)
    for ending in (".index", ".data-00000-of-"):
        before, found, _ = path.rpartition(ending)
        if found and os.path.exists(f"{before}.index"):
            return before
    return path if os.path.exists(f"{path}.index") else None


def _latest(folder: str) -> str | None:
    """What the folder's `checkpoint` file says is the latest, or the only one in it."""
    try:
        with open(os.path.join(folder, "checkpoint"), encoding="utf-8") as file:
            line = next((text for text in file if text.startswith("model_checkpoint_path:")), "")
    except (OSError, UnicodeDecodeError):
        line = ""
    name = line.partition('"')[2].rpartition('"')[0]
    if name and os.path.exists(os.path.join(folder, f"{name}.index")):
        return os.path.join(folder, name)
    found = glob.glob(os.path.join(glob.escape(folder), "*.index"))
    return found[0].removesuffix(".index") if len(found) == 1 else None


def _add_tensors(contents: Contents, prefix: str) -> None:
    from graphmem.target.checkpoints import entries

    unknown = 0
    for entry in entries(prefix):
        size = tensor_bytes(entry.dtype, entry.shape)
        if size is None or entry.dtype == "string":
            unknown += 1
            continue
        contents.tensors.append(Stored(entry.key, entry.kind, entry.dtype, entry.shape, size, size, entry.key))
    if unknown:
        contents.notes.append(f"{unknown} stored texts are not counted: the index does not tell how long they are.")


def _size(files: list[str]) -> int:
    try:
        return sum(os.path.getsize(file) for file in files)
    except OSError as error:
        raise TargetError(f"{error.filename} cannot be read: {error.strerror}.") from error
