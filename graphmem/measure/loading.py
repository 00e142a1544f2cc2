"""Load a saved model in a process of its own, and see how much memory the process takes for it: Linux's /proc tells."""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphmem.errors import CheckFailed, UserCodeError
from graphmem.measure.children import answer, ask

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_LARGE = "131072"
"""Bytes from which a block is given back to the system as soon as it is freed: the C library's default, held fast."""


def measure_loading(
    path: str, kind: str, way: str, names: list[str], *, legacy: bool, unsafe: bool, as_is: bool, timeout: float
) -> dict[str, Any]:
    """Load a saved model in one way in a new process.

    Args:
        path, kind: the file and its format.
        way: "compiled", "not compiled", "weights only" or "graph".
        names: the tensors that this way loads; only weights files and checkpoints need them.
        legacy: whether tf_keras is to load it.
        unsafe: whether code in the file, or named by it, may run.
        as_is: whether the C library keeps free memory as it likes, and that counts.
        timeout: seconds that the process may take.

    Returns:
        Resident bytes: "before" loading, and beyond that at the "peak" and "after"; the "seconds" it took.

    Raises:
        CheckFailed: the process was killed, crashed or ran out of time; this system does not tell.
        UserCodeError: the file cannot be loaded in this way.
    """
    if not (_STATUS.exists() and _CLEAR.exists()):
        raise CheckFailed("resident memory is measured through Linux's /proc, which this system does not have.")
    request = {
        "path": os.path.abspath(path), "format": kind, "way": way, "names": names, "unsafe": unsafe, "as_is": as_is,
        "legacy": legacy, "folder": os.getcwd(),
    }  # fmt: skip
    settings = {
        "TF_ENABLE_ONEDNN_OPTS": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "0"),
        "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "3"),
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    if not as_is:
        settings["MALLOC_MMAP_THRESHOLD_"] = _LARGE
    return ask(__name__, request, "loads the file", timeout, settings)


def main(folder: str, parent: int) -> None:
    """In the child: load the file and leave the figures."""
    answer(folder, parent, _measured)


def _measured(request: dict[str, Any]) -> dict[str, Any]:
    load = _loader(request)
    _settle(request["as_is"])
    _CLEAR.write_text("5")  # the kernel's high-water mark begins anew
    before, began = _resident("VmRSS"), time.monotonic()
    try:
        kept = load()
    except Exception as error:
        said = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__).rstrip(".")
        raise UserCodeError(f"{request['path']} cannot be loaded ({request['way']}): {said[:300]}.") from error
    seconds = time.monotonic() - began
    peak = _resident("VmHWM")
    _settle(request["as_is"])
    after = _resident("VmRSS")
    del kept
    return {"before": before, "peak": peak - before, "after": after - before, "seconds": round(seconds, 2)}


def _resident(row: str) -> int:
    """Bytes of the row of /proc/self/status: VmRSS now, VmHWM at most."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(row))
    return int(line.split()[1]) * 1024


def _settle(as_is: bool) -> None:
    """Drop what nobody holds, and give what the C library keeps free back to the system."""
    gc.collect()
    if not as_is:
        try:
            ctypes.CDLL(None).malloc_trim(0)
        except AttributeError:  # not glibc
            pass


def _loader(request: dict[str, Any]) -> Callable[[], Any]:
    """The load as a function, once all that it needs is imported, built and warmed up on a tiny model."""
    keras = importlib.import_module("tf_keras" if request["legacy"] else "keras")
    path, kind = request["path"], request["format"]
    _warm_up(keras)
    if kind == "savedmodel":
        import tensorflow as tf

        return lambda: tf.saved_model.load(path)
    if kind == "checkpoint":
        return _restorer(path, set(request["names"]))
    if kind == "weights.h5":
        return lambda: _read_weights(keras, path, request["names"])
    if request["unsafe"]:
        sys.path.insert(0, request["folder"])  # where modules that the file names may lie
    safe = {"safe_mode": not request["unsafe"]}
    if request["way"] == "weights only":
        return lambda: _built_and_filled(keras, path, safe)
    return lambda: keras.models.load_model(path, compile=request["way"] == "compiled", **safe)


def _warm_up(keras: Any) -> None:
    """What is loaded once per process, whatever is loaded, is no cost of the file."""
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        layers = keras.layers
        model = keras.Sequential([layers.Input((4,)), layers.Dense(3)])
        model.compile(keras.optimizers.Adam(), keras.losses.MeanSquaredError())
        model.optimizer.build(model.trainable_variables)
        for name in ("m.keras", "m.h5"):
            model.save(f"{folder}/{name}")
            keras.models.load_model(f"{folder}/{name}")
        tf.saved_model.save(model, f"{folder}/saved")
        tf.saved_model.load(f"{folder}/saved")
        variable = tf.Variable(tf.zeros(3))
        tf.train.Checkpoint(v=variable).restore(tf.train.Checkpoint(v=variable).write(f"{folder}/ckpt"))


def _built_and_filled(keras: Any, path: str, safe: dict[str, bool]) -> Any:
    """Build the model without compiling it, and load its weights."""
    if path.lower().endswith(".keras"):
        with zipfile.ZipFile(path) as archive:
            config = json.loads(archive.read("config.json"))
        model = keras.saving.deserialize_keras_object({**config, "compile_config": None}, **safe)
    else:
        from graphmem.target.saved_models import load_without_training

        model = load_without_training(path)
    model.load_weights(path)
    return model


def _read_weights(keras: Any, path: str, names: list[str]) -> list[Any]:
    """A variable for each array of the file, and its value read, as `load_weights` does in a model."""
    import h5py
    import numpy as np

    with h5py.File(path, "r") as file:
        kinds = [file[name].attrs.get("dtype", file[name].dtype.name) for name in names]
        made = [keras.Variable("zeros", file[name].shape, dtype=kind) for name, kind in zip(names, kinds, strict=True)]
        for name, variable in zip(names, made, strict=True):
            variable.assign(np.array(file[name]))
    return made


def _restorer(prefix: str, names: set[str]) -> Callable[[], Any]:
    """Variables for a checkpoint, and its values restored into them, as into a model that is there."""
    import tensorflow as tf

    from graphmem.target.checkpoints import OBJECT_GRAPH, entries, object_graph

    reader = tf.train.load_checkpoint(prefix)
    wanted = {entry.key: entry for entry in entries(prefix) if entry.key in names}

    def fresh(entry: Any) -> Any:
        return tf.Variable(tf.zeros(entry.shape, entry.dtype))

    if not reader.has_tensor(OBJECT_GRAPH):

        def restore_by_name() -> Any:
            variables = {key: fresh(entry) for key, entry in wanted.items()}
            tf.compat.v1.train.Saver(variables).restore(None, prefix)
            return variables

        return restore_by_name
    graph = object_graph(reader)

    def restore() -> Any:
        objects = [_object(node, wanted, fresh) for node in graph.nodes]
        for node, made in zip(graph.nodes, objects, strict=True):
            for child in node.children:
                if not isinstance(made, tf.Variable):
                    made._track_trackable(objects[child.node_id], child.local_name, overwrite=True)
        root = tf.train.Checkpoint(root=objects[0])
        root.restore(prefix).expect_partial()
        return root

    return restore


def _object(node: Any, wanted: dict[str, Any], fresh: Callable[[Any], Any]) -> Any:
    """A stand-in for a tracked object of a checkpoint: a variable, or something that tracks others."""
    import tensorflow as tf

    for attribute in node.attributes:
        entry = wanted.get(attribute.checkpoint_key.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE"))
        if entry is not None:
            return fresh(entry)
    return tf.Module() if not node.children else tf.train.Checkpoint()
