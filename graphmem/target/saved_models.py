"""Models saved by Keras or TensorFlow, read by their configuration: their weights stay in the file."""

from __future__ import annotations

import importlib
import json
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphmem.errors import TargetError
from graphmem.target.keras_inputs import batch_of
from graphmem.target.specs import close_spec
from graphmem.target.step import Options, Step

_CONFIGURATION_BYTES = 256 << 20  # far above any real configuration: a hostile file must not exhaust memory
_UNKNOWN = re.compile(r"(?:Could not locate (?:class|function)|Unknown [\w ]+:|object of type) [`']?([\w>.]+)")
_DEFAULT_SIGNATURE = "serving_default"


def load_configuration(path: str) -> Any:
    """The model that a `.keras` or `.h5` file describes, compiled if it was, without its weights.

    Raises:
        TargetError: the file is damaged, holds weights only, needs classes of the user's, or holds Python bytecode.
    """
    config, training, version = _read_keras(path) if path.lower().endswith(".keras") else _read_h5(path)
    _refuse_bytecode(config, path)
    keras = _keras_of(version)
    with _reading(path):
        if training is None and path.lower().endswith(".keras"):
            return keras.saving.deserialize_keras_object(config, safe_mode=True)
        return _legacy_model(keras, config, training)


def load_without_training(path: str) -> Any:
    """The model that a legacy `.h5` file describes, not compiled and without its weights.

    Raises:
        TargetError: as `load_configuration`.
    """
    config, _, version = _read_h5(path)
    _refuse_bytecode(config, path)
    with _reading(path):
        return _legacy_model(_keras_of(version), config, None)


def step_of_saved_model(path: str, options: Options, target: str) -> Step:
    """The step of a SavedModel folder: of the Keras model that it describes, else its serving signature as it stands.

    Raises:
        TargetError: the folder is damaged, or a training step is asked of a signature, which has none.
    """
    from graphmem.target.keras_models import step_of_model

    model = _legacy_keras_model(path)
    if model is not None:
        return step_of_model(model, options, target=target, live=False)
    if options.kind not in (None, "predict"):
        raise TargetError(
            f"{target} holds serving functions and no {options.kind} step; it can be analysed with --step predict."
        )
    for flag, value in (("--loss", options.loss), ("--optimizer", options.optimizer), ("--input", options.inputs)):
        if value:
            raise TargetError(f"{flag} has no use for {target}, whose signature is fixed; use --batch and --set.")
    return _serving_step(path, options, target)


def _serving_step(path: str, options: Options, target: str) -> Step:
    import tensorflow as tf

    with _reading(path), _weights_stay_in_file():
        loaded = tf.saved_model.load(path)
    signatures = dict(loaded.signatures)
    name = _DEFAULT_SIGNATURE if _DEFAULT_SIGNATURE in signatures else next(iter(signatures), "")
    if not name or (len(signatures) > 1 and name != _DEFAULT_SIGNATURE):
        listed = f"several signatures ({', '.join(sorted(signatures))})" if signatures else "no signature"
        raise TargetError(f"{target} has {listed} and no {_DEFAULT_SIGNATURE!r}; load it in a Python file.")
    signature = signatures[name]
    specs = signature.structured_input_signature[1]
    inputs = {key: close_spec(spec, key, options.batch, options.dims) for key, spec in sorted(specs.items())}

    def predict_step(**features: Any) -> Any:
        return signature(**features)

    return Step(
        function=tf.autograph.experimental.do_not_convert(predict_step),
        args=(),
        kind="predict",
        target=target,
        batch=batch_of(inputs),
        notes=[f"The step is the SavedModel's signature {name!r}; a SavedModel holds no training step."],
        facts={"signature": name},
        kwargs=inputs,
        keeps=[loaded],
    )


def _read_keras(path: str) -> tuple[dict[str, Any], None, str]:
    """The configuration in a `.keras` archive and the version of Keras that wrote it."""
    try:
        with zipfile.ZipFile(path) as archive:
            config = _read_member(archive, "config.json", path)
            metadata = _read_member(archive, "metadata.json", path) if "metadata.json" in archive.namelist() else {}
    except (zipfile.BadZipFile, OSError, KeyError, NotImplementedError, RuntimeError) as error:
        raise TargetError(f"{path} is no Keras model, or is damaged: {_first_line(error)}") from error
    return config, None, str(metadata.get("keras_version", "3"))


def _read_member(archive: zipfile.ZipFile, name: str, path: str) -> dict[str, Any]:
    if archive.getinfo(name).file_size > _CONFIGURATION_BYTES:
        raise TargetError(f"{path} has a {name} of more than {_CONFIGURATION_BYTES >> 20} MiB, which no model needs.")
    return _parse(archive.read(name), path)


def _read_h5(path: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """The configurations of model and training in a legacy `.h5` file; the latter empty if it was not compiled."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            attributes = {key: file.attrs.get(key) for key in ("model_config", "training_config", "keras_version")}
    except (OSError, KeyError, ValueError) as error:
        raise TargetError(f"{path} is no HDF5 file, or is damaged: {_first_line(error)}") from error
    if attributes["model_config"] is None:
        raise TargetError(f"{path} holds weights and no model; analyse the Python file that builds the model.")
    training = _parse(attributes["training_config"], path) if attributes["training_config"] is not None else {}
    version = attributes["keras_version"]
    return _parse(attributes["model_config"], path), training, _text(version) if version is not None else "3"


def _parse(text: Any, path: str) -> dict[str, Any]:
    try:
        parsed = json.loads(_text(text))
    except (ValueError, RecursionError) as error:
        raise TargetError(f"{path} has a configuration that cannot be read: {_first_line(error)}") from error
    if not isinstance(parsed, dict):
        raise TargetError(f"{path} has a configuration that describes no model.")
    return parsed


def _tupled(value: Any) -> Any:
    """The configuration of the `.h5` format with the tuples and shapes that JSON has no form for."""
    if isinstance(value, dict):
        if value.get("class_name") in ("__tuple__", "TensorShape") and isinstance(value.get("items"), list):
            return tuple(map(_tupled, value["items"]))
        return {key: _tupled(part) for key, part in value.items()}
    return [_tupled(part) for part in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _keras_of(version: str) -> Any:
    """The Keras that reads files of this version: tf_keras for 2.x, where it is installed."""
    if version.startswith("2."):
        try:
            return importlib.import_module("tf_keras")
        except ImportError:
            pass
    return importlib.import_module("keras")


def _legacy_model(keras: Any, config: dict[str, Any], training: dict[str, Any] | None) -> Any:
    """A model from the configurations of the `.h5` format, of either Keras."""
    config, training = _tupled(config), _tupled(training)
    if keras.__name__.partition(".")[0] == "tf_keras":
        utilities = importlib.import_module("tf_keras.src.saving.legacy.saving_utils")
        model = keras.models.model_from_config(config)
    else:
        utilities = importlib.import_module("keras.src.legacy.saving.saving_utils")
        options = importlib.import_module("keras.src.legacy.saving.saving_options")
        with options.keras_option_scope(use_legacy_config=True):
            model = utilities.model_from_config(config)
    if training:
        model.compile(**utilities.compile_args_from_training_config(training))
    return model


def _legacy_keras_model(path: str) -> Any | None:
    """The model that Keras 2 described in a SavedModel; `None` if it did not, or there is no tf_keras to read it."""
    described = os.path.join(path, "keras_metadata.pb")
    if not os.path.exists(described):
        return None
    try:
        keras = importlib.import_module("tf_keras")
        messages = importlib.import_module("tf_keras.protobuf.saved_metadata_pb2")
    except ImportError:
        return None
    if os.path.getsize(described) > _CONFIGURATION_BYTES:
        raise TargetError(f"{described} is larger than {_CONFIGURATION_BYTES >> 20} MiB, which no model needs.")
    with open(described, "rb") as file, _reading(path):
        nodes = messages.SavedMetadata.FromString(file.read()).nodes
    root = next((node for node in nodes if node.node_path == "root"), None)
    metadata = _parse(root.metadata, described) if root is not None else {}
    config = metadata.get("model_config")
    if not config or root is None or root.identifier not in ("_tf_keras_network", "_tf_keras_sequential"):
        return None  # a subclassed model is described by its code, which the folder does not hold
    _refuse_bytecode(config, path)
    with _reading(path):
        return _legacy_model(keras, config, metadata.get("training_config"))


def _refuse_bytecode(config: Any, path: str) -> None:
    """Refuse a model with a Lambda layer whose function is stored as Python bytecode: reading it would run it."""
    waiting = [config]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            inside = part.get("config")
            function = inside.get("function") if isinstance(inside, dict) else None
            lambda_layer = part.get("class_name") == "Lambda" and isinstance(function, (list, tuple))
            if part.get("class_name") == "__lambda__" or lambda_layer or part.get("function_type") == "lambda":
                raise TargetError(
                    f"{path} has a Lambda layer stored as Python bytecode, which graphmem does not run; analyse the "
                    "Python file that builds the model."
                )
            waiting.extend(part.values())
        elif isinstance(part, (list, tuple)):
            waiting.extend(part)


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Say in one sentence why a file cannot be made into a model, naming the class that is missing."""
    try:
        yield
    except TargetError:
        raise
    except Exception as error:
        missing = _UNKNOWN.search(str(error))
        if missing:
            name = missing[1].rpartition(">")[2]
            raise TargetError(
                f"{path} uses {name!r}, which is not part of Keras; analyse a Python file that defines it and builds "
                "the model: FILE.py:NAME."
            ) from error
        raise TargetError(f"{path} cannot be made into a model: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return said.strip("'").rstrip(".")[:300] + "."


@contextmanager
def _weights_stay_in_file() -> Iterator[None]:
    """Load a SavedModel's functions and not the values of its variables, which nothing of a trace reads."""
    from tensorflow.python.saved_model import load

    restore = load.Loader._restore_checkpoint
    load.Loader._restore_checkpoint = lambda self: None
    try:
        yield
    finally:
        load.Loader._restore_checkpoint = restore
