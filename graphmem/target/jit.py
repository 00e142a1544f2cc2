"""Whether the target has its step compiled by XLA: what the user said, else what Keras decides on each device."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from graphmem.target.gpu_seen import gpu_seen
from graphmem.target.keras_compile import compile_settings, is_compiled
from graphmem.target.patching import Patch, Patches
from graphmem.target.step import Jit

_TOLD: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
"""Models -> the `jit_compile` that `compile()` was called with; Keras keeps what it makes of it on this machine."""


@contextmanager
def compiles_watched() -> Iterator[None]:
    """Remember what `compile()` of Keras 3 models is told of XLA in the block."""
    with Patches([Patch("keras.src.trainers.trainer", "Trainer.compile", _remembering)]):
        yield


def _remembering(compile_model: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(compile_model)

    @functools.wraps(compile_model)
    def compile_and_remember(*args: Any, **kwargs: Any) -> Any:
        result = compile_model(*args, **kwargs)
        given = signature.bind(*args, **kwargs).arguments
        _TOLD[args[0]] = given.get("jit_compile", "auto")
        return result

    return compile_and_remember


def asked_of_model(model: Any) -> Any:
    """What a model's `compile()` was told: True, False, or "auto"; also "auto" where Keras does not tell it from False.

    Keras on a machine without a GPU keeps False for both, so that of models compiled before graphmem could watch only
    True is known.
    """
    if not is_compiled(model):
        return "auto"
    told = _TOLD.get(model)
    if told is not None:
        return told
    kept = compile_settings(model).get("jit_compile")
    return kept if kept or _is_legacy(model) or _has_gpu() else "auto"


def _is_legacy(model: Any) -> bool:
    return any(base.__module__.startswith("tf_keras") for base in type(model).__mro__)


def _has_gpu() -> bool:
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU"))


def jit_of_function(function: Any) -> Jit:
    """What a `tf.function` says of itself; a plain callable says nothing, and TensorFlow then runs it op by op."""
    asked = getattr(function, "_jit_compile", None)
    if asked:
        return Jit.always("the function has jit_compile=True")
    return Jit.never(f"the function {'has jit_compile=False' if asked is False else 'is not compiled with XLA'}")


def jit_of_model(model: Any, framework: str, asked: Any) -> Jit:
    """What `compile(jit_compile=…)` makes of a Keras model's step.

    Keras 3 takes "auto" for every model: XLA where there is a GPU and nothing forbids it (`Trainer.compile` and
    `model_supports_jit`). Legacy Keras compiles with XLA only when told to.

    Args:
        asked: what `compile()` was told: True, False, or "auto" or `None` if nothing.
    """
    if getattr(model, "run_eagerly", False):
        return Jit.never("the model runs eagerly")
    if framework == "tf_keras":
        asked = bool(asked) and asked != "auto"
    if asked is False:
        given = "legacy Keras was not told jit_compile=True" if framework == "tf_keras" else "it says jit_compile=False"
        return Jit.never(given)
    against = _against(model) if framework == "keras" else ""
    if against:
        return Jit.never(against)
    cudnns = _cudnns(model) if framework == "keras" else ""
    by_cudnn = f"layer {cudnns!r} is cuDNN's on a GPU, which XLA cannot compile"
    if asked is True:
        always = Jit.always("the model was compiled with jit_compile=True")
        return replace(always, gpu=False, why_gpu=by_cudnn) if cudnns else always
    if getattr(model, "_distribute_strategy", None) is not None:
        return Jit.never("Keras does not combine XLA with tf.distribute")
    return Jit(
        cpu=False, why_cpu="Keras compiles with XLA only where there is a GPU",
        gpu=not cudnns, why_gpu=by_cudnn if cudnns else 'Keras compiles with XLA on a GPU, jit_compile="auto"',
    )  # fmt: skip


def _cudnns(model: Any) -> str:
    """The first recurrent layer that Keras would give to cuDNN on a GPU, as its constructor decides; "" if none."""
    from keras.src import backend

    with gpu_seen():
        for layer in model._flatten_layers():
            if getattr(layer, "use_cudnn", False) not in (True, "auto") or not hasattr(backend, "cudnn_ok"):
                continue
            cell = layer.cell
            given = [cell.activation, cell.recurrent_activation, layer.unroll, cell.use_bias]
            resets = [cell.reset_after] if hasattr(cell, "reset_after") else []
            if backend.cudnn_ok(*given, *resets):
                return str(layer.name)
    return ""


def _against(model: Any) -> str:
    """What keeps Keras from compiling a model with XLA, even where it is asked to; "" if nothing does."""
    from tensorflow.python.framework.config import is_op_determinism_enabled

    if is_op_determinism_enabled():
        return "op determinism is on, with which Keras uses no XLA"
    without = [layer.name for layer in model._flatten_layers() if not layer.supports_jit]
    if without:
        others = f" and {len(without) - 1} other{'s' * (len(without) > 2)}" if len(without) > 1 else ""
        return f"layer {without[0]!r}{others} cannot be compiled by XLA"
    return ""
