"""A Keras model, of Keras 3 or tf_keras, as one train, test or predict step."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from graphmem.errors import TargetError
from graphmem.target import live as live_models
from graphmem.target.backend import check_backend
from graphmem.target.jit import asked_of_model, jit_of_model
from graphmem.target.keras_compile import (
    build_optimizer,
    compile_for,
    compile_settings,
    facts_of,
    find_optimizers,
    fresh_copy,
    is_built,
    is_compiled,
)
from graphmem.target.keras_data import given_specs, step_data
from graphmem.target.keras_executions import several_steps
from graphmem.target.keras_inputs import batch_of, model_inputs, model_outputs, replaced, source_files
from graphmem.target.step import Options, Step
from graphmem.target.weightless import weightless

KINDS = ("train", "test", "predict")


def is_model(value: Any) -> bool:
    """Whether this is a model of Keras 3 or tf_keras (neither is imported for the answer)."""
    return framework_of(value) is not None


def framework_of(model: Any) -> str | None:
    """Either "keras" or "tf_keras", whichever the model is of; `None` if it is no Keras model."""
    for name in ("keras", "tf_keras"):
        base = getattr(sys.modules.get(name), "Model", None)
        if isinstance(base, type) and isinstance(model, base):
            return "tf_keras" if base.__module__.startswith("tf_keras") else name
    return None


def step_of_model(
    model: Any,
    options: Options,
    *,
    specs: tuple[Any, ...] | None = None,
    batch: int | None = None,
    target: str = "",
    live: bool = True,
) -> Step:
    """The step that `fit`, `evaluate` or `predict` would run on one batch.

    Args:
        specs: what a step reads: `(x,)`, `(x, y)` or `(x, y, sample_weight)`, each a nest of specs, tensors or arrays;
            `None`: from the model and the options. Labels left out are derived from the loss.
        batch: samples in a step where the specs leave it open; `options.batch` goes first.
        target: how the user named the model.
        live: the model is somebody's: whatever is made for the step (slots, a loss) is put on copies, and the model is
            as before whenever the step's function has returned. Otherwise the model is graphmem's to compile and build.

    Raises:
        TargetError: an open dimension, an unknown option, or an unbuilt model without the specs of its inputs.
        UserCodeError: the user's own layers raised.
    """
    framework = framework_of(model)
    if framework is None:
        raise TargetError(f"{target or type(model).__name__} is no Keras model.")
    kind = options.kind or "train"
    if kind not in KINDS:
        raise TargetError(f"There is no step {kind!r}; it is one of {', '.join(KINDS)}.")
    check_backend()
    keras: Any = sys.modules[framework]
    with weightless() as record:
        if live and not _built(model, keras):
            model, live = _copied(model, keras), False
        step = _make(model, keras, framework, kind, options, specs, options.batch or batch, live)
        step.notes.extend(note for note in record.notes if note not in step.notes)
    step.target = target or model.name
    return step


def _make(
    model: Any,
    keras: Any,
    framework: str,
    kind: str,
    options: Options,
    specs: tuple[Any, ...] | None,
    batch: int | None,
    live: bool,
) -> Step:
    notes: list[str] = []
    files = source_files(model)
    guard = live_models.untouched(model) if live else nullcontext()
    with guard:
        before = dict(vars(model))
        asked = asked_of_model(model)
        given = given_specs(model, specs, batch, options)
        x = replaced(given[0], model, options) if given else model_inputs(model, options, batch, notes)
        if not is_compiled(model) and kind != "predict" and type(model).compile is not keras.Model.compile:
            name = type(model).__name__
            raise TargetError(f"{name} has a compile() of its own and was not compiled; compile the model in its file.")
        outputs = None
        if not _built(model, keras) or (kind != "predict" and (getattr(model, "loss", None) or not is_compiled(model))):
            outputs = model_outputs(model, x, files)  # a model with a step of its own may have no call to ask
        if kind != "predict":
            compile_for(model, keras, options, outputs, x, notes)
        optimizers = _optimizers(model, keras, live) if kind == "train" else {}
        vars(model).update(optimizers)
        facts = facts_of(model, framework)
        notes += _setting_notes(model, framework)
        data = step_data(model, kind, options, x, given, outputs, batch, notes)
        overlay = live_models.changes(model, before) if live else None
    steps = int(compile_settings(model).get("steps_per_execution") or 1) if is_compiled(model) else 1
    function, compiled = _step_function(model, kind, framework, overlay), None
    if steps > 1:
        compiled = function, data
        function, data = several_steps(model, kind, framework, steps, data, overlay)
    return Step(
        function=function,
        args=data,
        kind=kind,
        models=[model],
        optimizers=list(optimizers.values()),
        framework=framework,
        batch=batch_of(x),
        notes=notes,
        user_files=files,
        facts=facts,
        jit=jit_of_model(model, framework, asked),
        compiled=compiled,
    )


def _built(model: Any, keras: Any) -> bool:
    """Whether running the model would make no weight: it and its layers, or its layers alone where it adds none."""
    layers = live_models.layers_of(model)
    if not all(getattr(layer, "built", True) for layer in layers):
        return False
    return bool(model.built) or (bool(layers) and type(model).build is keras.Model.build)


def _copied(model: Any, keras: Any) -> Any:
    """A copy of a model that has no weights yet, so that building it leaves the original unbuilt."""
    classes = {type(one).__name__: type(one) for one in (model, *live_models.layers_of(model))}
    try:
        with keras.utils.custom_object_scope({n: c for n, c in classes.items() if not _of_keras(c)}):
            return copy.deepcopy(model)
    except Exception as error:  # user classes that refuse to be copied
        raise TargetError(
            f"The model {model.name!r} has not been built and cannot be copied; build it, then analyse it."
        ) from error


def _of_keras(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in ("keras", "tf_keras")


def _optimizers(model: Any, keras: Any, live: bool) -> dict[str, Any]:
    """The model's optimizers by attribute; those without slots get them, on a copy if the model is somebody's."""
    # tf_keras makes slots in the step, which a step of the user's own may do for other weights
    whole = not keras.__name__.startswith("tf_keras") or type(model).train_step is keras.Model.train_step
    found = {}
    for name, optimizer in find_optimizers(model):
        if not is_built(optimizer):
            optimizer = fresh_copy(optimizer) if live else optimizer
            if name == "optimizer" and whole:
                build_optimizer(optimizer, model.trainable_variables)
        found[name] = optimizer
    return found


def _setting_notes(model: Any, framework: str) -> list[str]:
    notes: list[str] = []
    if not is_compiled(model):
        return notes
    settings = compile_settings(model)
    if getattr(model, "run_eagerly", False):
        notes.append("The model is compiled with run_eagerly=True; the figures are those of its traced step.")
    steps = settings.get("steps_per_execution") or 1
    if steps != 1:
        notes.append(f"steps_per_execution={steps}: the figures are those of {steps} steps in one call.")
    return notes


def _step_function(model: Any, kind: str, framework: str, overlay: dict[str, Any] | None) -> Callable[..., Any]:
    """`model.train_step` on `fit`'s form of the data; a live model is put back when the tracing is over."""
    import tensorflow as tf

    made: list[Any] = []

    def step(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        with live_models.untouched(model, overlay, made) if overlay is not None else nullcontext():
            return getattr(model, f"{kind}_step")(_packed(x, y, sample_weight, framework))

    step.__name__ = f"{kind}_step"
    # Keras 3 keeps its step from AutoGraph; tf_keras lets it convert the layers' call methods.
    return tf.autograph.experimental.do_not_convert(step) if framework == "keras" else step


def _packed(x: Any, y: Any, sample_weight: Any, framework: str) -> Any:
    """Data in the form that `fit` hands to `train_step`: a single x comes bare."""
    if y is None and sample_weight is None:
        nested = (list, tuple, dict) if framework == "tf_keras" else (list, tuple)
        return (x,) if isinstance(x, nested) else x
    return (x, y) if sample_weight is None else (x, y, sample_weight)
