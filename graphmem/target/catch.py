"""Stop a user's code at the call that would train, and take that call for the target.

While the user's code runs, the methods of Keras models that train, evaluate or predict, the call of a `tf.function`,
and the ways to train eagerly are replaced. Nothing of them runs: the first that is what the user asked about ends the
code with `Stop`. Functions that do not train (preprocessing, samplers) run as always.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Collection
from typing import Any, NoReturn

import tensorflow as tf

from graphmem.errors import GraphmemError, TargetError, UserCodeError
from graphmem.target import host_pipeline, training_graph
from graphmem.target.caught import Caught, Stop, backend_error, feed_of, other_backend, owner_of
from graphmem.target.data import Described, describe, describe_batch, inputs_only
from graphmem.target.leaves import argument_spec
from graphmem.target.patching import Patch
from graphmem.target.user_code import is_users

_KINDS = {
    "fit": "train", "train_on_batch": "train", "evaluate": "test", "test_on_batch": "test",
    "predict": "predict", "predict_on_batch": "predict",
}  # fmt: skip
_TRAINERS = {
    "keras": ("keras.src.backend.tensorflow.trainer", "TensorFlowTrainer"),
    "tf_keras": ("tf_keras.src.engine.training", "Model"),
}
_OTHER_TRAINERS = {
    "jax": ("keras.src.backend.jax.trainer", "JAXTrainer"),
    "torch": ("keras.src.backend.torch.trainer", "TorchTrainer"),
    "graph mode (TensorFlow 1)": ("tf_keras.src.engine.training_v1", "Model"),
}
_EAGER_UPDATES = (
    ("keras.src.optimizers.base_optimizer", "BaseOptimizer.apply"),
    ("keras.src.optimizers.base_optimizer", "BaseOptimizer.apply_gradients"),
    ("tf_keras.src.optimizers.optimizer", "_BaseOptimizer.apply_gradients"),
    ("tf_keras.src.optimizers.optimizer", "Optimizer.apply_gradients"),
    ("tf_keras.src.optimizers.legacy.optimizer_v2", "OptimizerV2.apply_gradients"),
    ("tensorflow.python.ops.resource_variable_ops", "ResourceVariable.assign"),
    ("tensorflow.python.ops.resource_variable_ops", "ResourceVariable.assign_add"),
    ("tensorflow.python.ops.resource_variable_ops", "ResourceVariable.assign_sub"),
)


class Catcher:
    """Decides which call ends the user's code, and remembers it.

    Attributes:
        caught: the call that the code was stopped at.
        error: why it was stopped without one.
        skipped: a call that only assigns weights and was not run; the target if no other call is met.
    """

    def __init__(self, kind: str | None, files: Collection[str]) -> None:
        self._kind = kind
        self._files = files
        self._harmless: dict[int, Any] = {}
        self._took_gradients = False
        self.caught: Caught | None = None
        self.error: GraphmemError | None = None
        self.skipped: Caught | None = None

    def patches(self) -> list[Patch]:
        """The functions to replace while the user's code runs."""
        found = []
        for framework, (module, owner) in _TRAINERS.items():
            for method in _KINDS:
                replace = functools.partial(self._model_call, framework, method)
                found.append(Patch(module, f"{owner}.{method}", replace))
        for backend, (module, owner) in _OTHER_TRAINERS.items():
            found += [Patch(module, f"{owner}.{name}", functools.partial(self._refuse, backend)) for name in _KINDS]
        functions = "tensorflow.python.eager.polymorphic_function"
        found.append(Patch(f"{functions}.polymorphic_function", "Function.__call__", self._function_call))
        found.append(Patch(f"{functions}.concrete_function", "ConcreteFunction.__call__", self._function_call))
        found.append(Patch("tensorflow.python.eager.backprop", "GradientTape.gradient", self._gradient))
        found += [Patch(module, name, self._update) for module, name in _EAGER_UPDATES]
        return found

    def _stop(self, reason: Caught | GraphmemError) -> NoReturn:
        """End the user's code; only the first reason counts, as `finally` blocks may call more."""
        if self.caught is None and self.error is None:
            if isinstance(reason, Caught):
                self.caught = reason
            else:
                self.error = reason
        raise Stop

    def _where(self) -> str:
        frame = sys._getframe(1)
        while frame is not None:
            file = frame.f_code.co_filename
            if is_users(file, self._files):
                return f"{os.path.basename(file)} line {frame.f_lineno}"
            frame = frame.f_back  # type: ignore[assignment]
        return "the user's code"

    # Methods of Keras models.

    def _model_call(self, framework: str, method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def call(model: Any, *args: Any, **kwargs: Any) -> NoReturn:
            given = signature.bind(model, *args, **kwargs)
            given.apply_defaults()
            self._met_method(framework, method, model, given.arguments)

        return call

    def _met_method(self, framework: str, method: str, model: Any, given: dict[str, Any]) -> NoReturn:
        kind, wanted, where = _KINDS[method], self._kind, self._where()
        if self.caught is not None or self.error is not None:
            raise Stop
        if framework == "keras" and (backend := other_backend()):
            self._stop(backend_error(backend))
        if (wanted, kind) in (("train", "test"), ("train", "predict"), ("test", "predict")):
            self._stop(TargetError(
                f"{where} calls {method}() before the {wanted} step that was asked for, and graphmem does not run it; "
                f"name the model itself, such as {where.split()[0]}:model."
            ))  # fmt: skip
        if kind != "predict":
            _require_compiled(model, method)
        try:
            data = self._data(framework, method, given)
            host_pipeline.meet(given["x"], given, framework, f"{method}() in {where}", _batch_bytes(data))
        except GraphmemError as error:
            self._stop(error)
        notes = [f"Stopped at {method}() in {where}; nothing was run."]
        if wanted is None and kind != "train":
            notes.append(f"{method}() is the first such call of the script; for a training step name the model itself.")
        self._stop(Caught(method, kind, where, framework, [model], data=data, notes=notes))

    def _data(self, framework: str, method: str, given: dict[str, Any]) -> Described:
        if method.endswith("_on_batch"):
            parts = (given.get(name) for name in ("x", "y", "sample_weight", "class_weight"))
            data = describe_batch(*parts, method=method, framework=framework)
        else:
            data = describe(feed_of(method, given, self._kind), framework=framework)
        return inputs_only(data) if self._kind == "predict" and not method.startswith("predict") else data

    def _refuse(self, backend: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*_: Any, **__: Any) -> NoReturn:
            self._stop(backend_error(backend))

        return call

    # Functions.

    def _function_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            if not _runs_now() or not self._is_training(function, args, kwargs):
                return original(function, *args, **kwargs)
            return None

        return call

    def _is_training(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether this call is a training step that only assigns; a step with gradients ends the user's code here."""
        if self.caught is not None or self.error is not None:
            raise Stop
        trace = getattr(function, "get_concrete_function", None)
        concrete = function if trace is None else trace(*args, **kwargs)
        if id(concrete) in self._harmless:
            return False
        gradients = training_graph.takes_gradients(concrete)
        if not gradients and not training_graph.assigns_weights(concrete):
            self._harmless[id(concrete)] = concrete
            return False
        call = self._caught_function(function, concrete, args, kwargs)
        if not gradients and not concrete.structured_outputs:
            self.skipped = self.skipped or call
            return True
        if self._kind in ("test", "predict"):
            self._stop(TargetError(
                f"{call.where} calls {call.name}(), which trains, before a {self._kind} step; name the function or the "
                f"model to analyse, such as {call.where.split()[0]}:{call.name}."
            ))  # fmt: skip
        self._stop(call)

    def _caught_function(self, function: Any, concrete: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Caught:
        where = self._where()
        name = getattr(getattr(function, "python_function", None), "__name__", None) or concrete.name
        framework, models, optimizers = training_graph.owners(concrete)
        args, kwargs = tf.nest.map_structure(argument_spec, (args, kwargs))
        notes = [f"Stopped at the first call of {name}() in {where}; nothing was run."]
        return Caught(name, "custom", where, framework, models, optimizers, function=function, owner=owner_of(function),
                      args=args, kwargs=kwargs, notes=notes)  # fmt: skip

    # Training without a graph.

    def _gradient(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def gradient(*args: Any, **kwargs: Any) -> Any:
            self._took_gradients |= _runs_now()
            return original(*args, **kwargs)

        return gradient

    def _update(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def update(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if self._took_gradients and _runs_now() and getattr(owner, "trainable", True):
                self._stop(UserCodeError(
                    f"{self._where()} trains eagerly, outside any tf.function, and graphmem analyses graphs: put "
                    "@tf.function on the function that makes one training step."
                ))  # fmt: skip
            return original(owner, *args, **kwargs)

        return update


def _batch_bytes(data: Described) -> int | None:
    """Bytes of one batch; `None` if a shape is open."""
    total = 0
    for spec in tf.nest.flatten(data.data):
        if spec is None:
            continue
        if not isinstance(spec, tf.TensorSpec) or not spec.shape.is_fully_defined() or spec.dtype == tf.string:
            return None
        total += spec.shape.num_elements() * spec.dtype.size
    return total


def _require_compiled(model: Any, method: str) -> None:
    """Raise as Keras does if `compile()` was not called."""
    if hasattr(model, "_assert_compile_called"):
        model._assert_compile_called(method)
    elif hasattr(model, "_assert_compile_was_called"):
        model._assert_compile_was_called()


def _runs_now() -> bool:
    """Whether TensorFlow would execute what is called now, rather than trace it."""
    return tf.executing_eagerly() and not tf.compat.v1.get_default_graph().building_function
