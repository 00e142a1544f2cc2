"""Have Keras see a GPU that is not there while it traces; nobody else does.

Keras asks TensorFlow for the devices where GPUs have an implementation of their own: cuDNN's LSTM and GRU, data with
the channels first. It is answered as on a machine with a GPU; everyone else who asks gets the truth.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

#: The modules of TensorFlow's that Keras and legacy Keras call as `tf.config`.
_CONFIGS = ("tensorflow._api.v2.config", "tensorflow._api.v2.compat.v2.config")
_ASKED = ("list_logical_devices", "list_physical_devices")
_KERAS = ("keras.", "tf_keras.")
_MEMOISED = (("keras.src.backend.tensorflow.nn", "_cpu_only"),)
"""Answers that Keras remembers: forgotten before and after."""


@contextlib.contextmanager
def gpu_seen(on: bool = True) -> Iterator[None]:
    """Within the block, Keras finds one GPU more than there is.

    Args:
        on: whether it does; if not, nothing happens.
    """
    if not on:
        yield
        return
    put_back: list[tuple[Any, str, Callable[..., Any]]] = []
    try:
        for name in _CONFIGS:
            module = sys.modules.get(name) or importlib.import_module(name)
            for asked in _ASKED:
                original = getattr(module, asked)
                put_back.append((module, asked, original))
                setattr(module, asked, _answering_keras(original))
        _forget()
        yield
    finally:
        for module, asked, original in put_back:
            setattr(module, asked, original)
        _forget()


def _answering_keras(original: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """The function, whose answer to Keras has a GPU more."""

    @wraps(original)
    def listed(device_type: str | None = None) -> list[Any]:
        devices = list(original(device_type))
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if caller.startswith(_KERAS) and device_type in (None, "GPU"):
            kind = type(original("CPU")[0])
            name = "/physical_device:GPU:0" if kind.__name__ == "PhysicalDevice" else "/device:GPU:0"
            devices.append(kind(name=name, device_type="GPU"))
        return devices

    return listed


def _forget() -> None:
    for module, function in _MEMOISED:
        clear = getattr(getattr(sys.modules.get(module), function, None), "cache_clear", None)
        if clear is not None:
            clear()
