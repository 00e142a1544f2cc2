"""Read `.keras`, `.h5` and `.weights.h5` files as plain data: nothing of them is built or run."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphmem.answers.load.archive import seekable_member
from graphmem.answers.load.configuration import LIMIT_BYTES, code_in, layer_count, parse
from graphmem.answers.load.contents import Contents, Stored
from graphmem.answers.load.hdf5 import stored_tensors
from graphmem.answers.load.training import training_of
from graphmem.errors import TargetError

WEIGHTS = "model.weights.h5"


def read_keras(path: str) -> Contents:
    """The contents of a `.keras` archive.

    Raises:
        TargetError: it cannot be read, or is none.
    """
    contents = Contents(path, "keras", os.path.getsize(path))
    with _reading(path), zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        if "config.json" not in names:
            raise TargetError(f"{path} is no Keras model: it has no config.json.")
        config = parse(_member(archive, "config.json", path), path)
        if "metadata.json" in names:
            metadata = parse(_member(archive, "metadata.json", path), path)
            contents.keras_version = str(metadata.get("keras_version", ""))
        _configured(contents, config, config.get("compile_config"))
        if WEIGHTS in names:
            entry = archive.getinfo(WEIGHTS)
            contents.weights_member_bytes = entry.file_size
            tensors = _inside(archive)
            packed = entry.compress_size / max(entry.file_size, 1)
            contents.tensors = [_packed(tensor, packed) for tensor in tensors]
        else:
            contents.notes.append(f"It has no {WEIGHTS}: its weights are not counted.")
    return contents


def read_h5(path: str) -> Contents:
    """The contents of an HDF5 file: a model in the legacy format, or weights alone, in that format or in Keras 3's.

    Raises:
        TargetError: it cannot be read, or is none.
    """
    import h5py

    contents = Contents(path, "h5", os.path.getsize(path))
    with _reading(path), h5py.File(path, "r") as file:
        model, training = file.attrs.get("model_config"), file.attrs.get("training_config")
        legacy = model is not None or "layer_names" in file.attrs
        version = file.attrs.get("keras_version")
        contents.keras_version = version.decode() if isinstance(version, bytes) else str(version or "")
        contents.tensors = stored_tensors(file, by_layer=legacy)
        if model is None:
            contents.format = "weights.h5"
            return contents
        _configured(contents, parse(model, path), parse(training, path) if training is not None else None)
    return contents


def _configured(contents: Contents, config: dict[str, Any], training: Any) -> None:
    contents.layers, contents.code = layer_count(config), code_in(config)
    if isinstance(training, dict) and training:
        contents.training = training_of(training)
        contents.code = contents.code or code_in(training)


def _member(archive: zipfile.ZipFile, name: str, path: str) -> bytes:
    if archive.getinfo(name).file_size > LIMIT_BYTES:
        raise TargetError(f"{path} has a {name} of more than {LIMIT_BYTES >> 20} MiB, which no model needs.")
    return archive.read(name)


def _inside(archive: zipfile.ZipFile) -> list[Stored]:
    """The tensors of the HDF5 file in the archive, of which only the index is read."""
    import h5py

    with seekable_member(archive, WEIGHTS) as member, h5py.File(member, "r") as file:
        return stored_tensors(file)


def _packed(tensor: Stored, share: float) -> Stored:
    """The tensor with its part of what the archive holds on disk."""
    return Stored(
        tensor.name, tensor.kind, tensor.dtype, tensor.shape, tensor.bytes, round(tensor.disk_bytes * share),
        tensor.group,
    )  # fmt: skip


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Say in one sentence why a file cannot be read."""
    try:
        yield
    except TargetError:
        raise
    except zipfile.BadZipFile as error:
        raise TargetError(f"{path} is no Keras model, or is damaged: it is no zip archive.") from error
    except (OSError, KeyError, ValueError, RuntimeError, NotImplementedError, EOFError) as error:
        said = str(error).splitlines()[0].strip("'\" .") if str(error) else type(error).__name__
        raise TargetError(f"{path} is no model or weights file, or is damaged: {said[:200]}.") from error
