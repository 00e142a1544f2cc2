"""Keras 3 runs on several backends; graphmem reads TensorFlow's graphs only."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from graphmem.errors import TargetError

_BACKENDS = ("", "tensorflow", "jax", "torch", "numpy", "openvino")


def check_backend() -> None:
    """Refuse a Keras 3 that has been imported with another backend than TensorFlow.

    Raises:
        TargetError: it has.
    """
    config = getattr(sys.modules.get("keras"), "config", None)
    if config is not None and hasattr(config, "backend"):
        _require_tensorflow(config.backend(), "Keras was started with it")


def check_backend_to_come(with_keras: bool = True) -> None:
    """Refuse, before Keras is imported, the other backend that it would start with.

    Args:
        with_keras: whether the target needs Keras and leaves its backend to the environment.

    Raises:
        TargetError: `KERAS_BACKEND` or `keras.json` names another one, or `KERAS_BACKEND` one that there is not, which
            keeps TensorFlow from being imported.
    """
    if not with_keras and os.environ.get("KERAS_BACKEND", "tensorflow") in _BACKENDS:
        return
    if "keras" in sys.modules or os.environ.get("TF_USE_LEGACY_KERAS", "").lower() in ("1", "true"):
        check_backend()
        return
    said = os.environ.get("KERAS_BACKEND")
    if said:
        _require_tensorflow(said, "KERAS_BACKEND says so")
        return
    home = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    try:
        configured = json.loads((home / "keras.json").read_text()).get("backend", "tensorflow")
    except (OSError, ValueError, AttributeError):
        return
    _require_tensorflow(str(configured), f"{home / 'keras.json'} says so")


def _require_tensorflow(backend: str, why: str) -> None:
    if backend != "tensorflow":
        raise TargetError(
            f"Keras' backend is {backend} ({why}), and graphmem analyses TensorFlow; set KERAS_BACKEND=tensorflow."
        )
