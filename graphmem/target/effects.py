"""What a script must not do while it is only looked at: write models whose weights are not real, fetch weights."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from graphmem.target.patching import Patch

_MODELS = (("keras.src.models.model", "Model"), ("tf_keras.src.engine.training", "Model"))
_FILES = ("save", "save_weights", "load_weights", "export")
_SAVERS = (
    ("tensorflow.python.checkpoint.checkpoint", "Checkpoint.save"),
    ("tensorflow.python.checkpoint.checkpoint", "Checkpoint.write"),
    ("tensorflow.python.checkpoint.checkpoint_management", "CheckpointManager.save"),
    ("tensorflow._api.v2.saved_model", "save"),
)
_FETCHERS = (("keras.src.utils.file_utils", "get_file"), ("tf_keras.src.utils.data_utils", "get_file"))
_PRETRAINED = ("keras.src.applications.", "tf_keras.src.applications.")


def patches() -> list[Patch]:
    """Replacements under which no model or checkpoint is written and no weights are fetched or read."""
    found = [Patch(module, f"{owner}.{name}", _nothing) for module, owner in _MODELS for name in _FILES]
    found += [Patch(module, name, _nothing) for module, name in _SAVERS]
    return found + [Patch(module, name, _no_weights) for module, name in _FETCHERS]


def _nothing(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*_: Any, **__: Any) -> None:
        """Do nothing: the values of the weights decide no size."""

    return call


def _no_weights(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def fetch(*args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if caller.startswith(_PRETRAINED) and not caller.endswith(".imagenet_utils"):
            return ""  # a file of pretrained weights, which load_weights would skip
        return original(*args, **kwargs)

    return fetch
