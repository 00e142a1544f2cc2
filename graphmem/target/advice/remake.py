"""The step of a Keras model after a change that is written as Python, and the model as before afterwards."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from graphmem.errors import GraphmemError, TargetError
from graphmem.target import live as live_models
from graphmem.target.keras_compile import is_compiled
from graphmem.target.keras_models import step_of_model
from graphmem.target.step import Options, Step


@contextmanager
def changed(step: Step, code: str, options: Options, *, batch: int | None = None, live: bool) -> Iterator[Step]:
    """Within the block the model of a step has been changed; its new step, to be traced there.

    Args:
        step: of one Keras model.
        code: Python that changes `model`; `keras` (the model's own) and `tf` are there as well.
        options: those that the step was made with.
        batch: samples of the new step; `None`: as before.
        live: whether the model is somebody's.

    Raises:
        TargetError: the model does not take the change; why is said.
    """
    model = step.models[0]
    data = step.compiled[1] if step.compiled is not None else step.args
    again = Options(kind=step.kind, batch=batch, dims=dict(options.dims))
    with _trainable_kept(model), live_models.untouched(model):
        try:
            if live and not is_compiled(model):
                compiles = replace(again, dims=dict(options.dims), loss=options.loss, optimizer=options.optimizer)
                step_of_model(model, compiles, specs=data, live=False)
                live = False
            _run(code, model, step.framework)
            made = step_of_model(model, again, specs=data, batch=batch or step.batch, live=live)
        except GraphmemError:
            raise
        except Exception as error:
            said = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
            raise TargetError(f"the model does not take it ({type(error).__name__}: {said.rstrip('.')}).") from error
        yield replace(made, target=step.target, jit=step.jit, user_files=step.user_files)


def _run(code: str, model: Any, framework: str) -> None:
    import tensorflow as tf

    exec(compile(code, "<change>", "exec"), {"model": model, "keras": sys.modules[framework], "tf": tf})


@contextmanager
def _trainable_kept(model: Any) -> Iterator[None]:
    """Put back which weights train: Keras 3 tells them when a layer is frozen."""
    flags = [(weight, weight.trainable) for weight in model.weights]
    try:
        yield
    finally:
        for weight, trainable in flags:
            if weight.trainable != trainable:
                weight.trainable = trainable
