"""Legacy Keras's LSTM and GRU, traced so that TensorFlow inlines them.

tf_keras puts each such layer into a function of its own, marked as one of two implementations (CPU, cuDNN) between
which Grappler chooses by the device. TensorFlow then calls that function rather than inline it, under a name that
nobody can look up. Without the mark, and with the implementation of GPUs, it inlines the same ops.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

NOTE = "legacy LSTM and GRU layers are modelled inlined; TensorFlow calls functions, which hold their inputs longer"


@contextlib.contextmanager
def inlined(notes: list[str]) -> Iterator[None]:
    """Trace legacy recurrent layers for a GPU, without the mark; tf_keras is left as it was.

    Args:
        notes: gets `NOTE` if there was such a layer.
    """
    if "tf_keras" not in sys.modules:
        yield
        return
    utils: Any = importlib.import_module("tf_keras.src.layers.rnn.gru_lstm_utils")

    for_gpu: dict[str, Callable[..., Any]] = {}

    def plain_function(name: str, device: str, function: Callable[..., Any], attributes: dict[str, Any]) -> Any:
        import tensorflow as tf

        if NOTE not in notes:
            notes.append(NOTE)
        if device == "GPU":
            for_gpu[name] = tf.function(function, autograph=False)
        return lambda **given: for_gpu[name](**given)  # called when both are known

    original = utils.generate_defun_backend, utils.function_register
    utils.generate_defun_backend = plain_function
    utils.function_register = lambda *args, **kwargs: None  # the twin, which is never called
    try:
        yield
    finally:
        utils.generate_defun_backend, utils.function_register = original
