"""The call that a user's code was stopped at."""

from __future__ import annotations

import inspect
import os
import sys
from dataclasses import dataclass, field
from typing import Any

from graphmem.errors import TargetError
from graphmem.target.data import Described, Feed


class Stop(BaseException):
    """Ends the user's code. No `Exception`, so that the user's `except Exception` does not keep it."""


@dataclass
class Caught:
    """The call that the user's code was stopped at.

    Attributes:
        name: the method of a Keras model, such as "fit", or the name of a `tf.function`.
        kind: "train", "test" or "predict" for a method, "custom" for a `tf.function`.
        where: "model.py line 12".
        framework: "keras", "tf_keras" or "tf".
        models, optimizers: the Keras objects in it; for a method the one model and no optimizer.
        data: what the method's data feeds to one step.
        function, args, kwargs: the `tf.function` and its arguments, tensors as specs.
        owner: the object whose method the function is.
        notes: for the report, one sentence each.
        user_files: absolute paths of the user's files.
    """

    name: str
    kind: str
    where: str
    framework: str
    models: list[Any] = field(default_factory=list)
    optimizers: list[Any] = field(default_factory=list)
    data: Described | None = None
    function: Any = None
    owner: Any = None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    user_files: set[str] = field(default_factory=set)


def feed_of(method: str, given: dict[str, Any], wanted: str | None) -> Feed:
    """The data arguments of fit, evaluate or predict; for a test step those that `fit` would validate with."""
    validation = given.get("validation_data")
    if wanted == "test" and validation is not None:
        parts = validation if isinstance(validation, (tuple, list)) else (validation,)
        x, y, weights = (*parts, None, None)[:3]
        batch_size = given.get("validation_batch_size") or given.get("batch_size")
        return Feed(x, y, weights, batch_size, steps=given.get("validation_steps"))
    return Feed(
        given["x"], given.get("y"), given.get("sample_weight"), given.get("batch_size"), given.get("class_weight"),
        given.get("steps_per_epoch" if method == "fit" else "steps"),
        0.0 if validation is not None else given.get("validation_split") or 0.0,
    )  # fmt: skip


def owner_of(function: Any) -> Any:
    """The object whose method the `tf.function` is; the function itself refers to it only weakly."""
    method = inspect.unwrap(getattr(function, "python_function", function))
    return getattr(getattr(method, "__self__", None), "target", None)


def other_backend() -> str | None:
    """The Keras 3 backend that the user chose, if it is not TensorFlow."""
    config = sys.modules.get("keras.src.backend.config")
    for name in (os.environ.get("KERAS_BACKEND"), config.backend() if config is not None else None):
        if name and name != "tensorflow":
            return name
    return None


def backend_error(backend: str) -> TargetError:
    """The error for a script that trains with something else than eager TensorFlow 2."""
    return TargetError(f"this script trains with Keras on {backend}; graphmem analyses eager TensorFlow 2 only.")
