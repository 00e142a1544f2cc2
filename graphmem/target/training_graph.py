"""Whether a traced function is a training step, and whose variables it trains."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

_ASSIGNS = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "ResourceApply", "ResourceSparseApply",
            "ResourceScatter")  # fmt: skip

_MODELS = {"keras": ("keras.src.models.model", "Model"), "tf_keras": ("tf_keras.src.engine.training", "Model")}
_OPTIMIZERS = (
    ("keras.src.optimizers.base_optimizer", "BaseOptimizer"),
    ("tf_keras.src.optimizers.optimizer", "_BaseOptimizer"),
    ("tf_keras.src.optimizers.legacy.optimizer_v2", "OptimizerV2"),
)


def takes_gradients(concrete: Any) -> bool:
    """Whether the function or one that it calls computes gradients with a `GradientTape` or `tf.gradients`."""
    for graph in _graphs(concrete.graph):
        for op in graph.get_operations():
            if "gradient_tape/" in op.name or op.name.startswith("gradients/") or "/gradients/" in op.name:
                return True
    return False


def assigns_weights(concrete: Any) -> bool:
    """Whether the function or one that it calls assigns a trainable variable."""
    trainable = {id(variable.handle) for variable in concrete.graph.trainable_variables}
    outer: dict[int, Any] = {}
    for graph in _graphs(concrete.graph):
        outer.update({id(inside): outside for outside, inside in getattr(graph, "captures", ())})
    for graph in _graphs(concrete.graph):
        for op in graph.get_operations():
            if op.type.startswith(_ASSIGNS):
                handle = op.inputs[0]
                while id(handle) in outer:
                    handle = outer[id(handle)]
                if id(handle) in trainable:
                    return True
    return False


def owners(concrete: Any) -> tuple[str, list[Any], list[Any]]:
    """The Keras objects whose variables the function captures.

    Returns:
        (framework, models, optimizers): framework is "keras", "tf_keras" or "tf"; a model inside another is left out.
    """
    captured = {id(tensor) for tensor in concrete.captured_inputs}
    frameworks = {name: found for name, place in _MODELS.items() if (found := _class(*place)) is not None}
    optimizer_classes = tuple(found for place in _OPTIMIZERS if (found := _class(*place)) is not None)
    models: list[Any] = []
    optimizers: list[Any] = []
    for thing in gc.get_objects():
        kind = type(thing)
        if issubclass(kind, tuple(frameworks.values())) and _holds(thing, captured):
            models.append(thing)
        elif issubclass(kind, optimizer_classes) and _holds(thing, captured):
            optimizers.append(thing)
    framework = next((name for name, kind in frameworks.items() if any(isinstance(m, kind) for m in models)), "tf")
    inner = {id(layer) for model in models for layer in _inside(model)}
    return framework, [model for model in models if id(model) not in inner], optimizers


def _graphs(graph: Any) -> Iterator[Any]:
    """The graph, and those of the functions that it calls, each once."""
    waiting, seen = [graph], {id(graph)}
    while waiting:
        current = waiting.pop(0)
        yield current
        for function in current._functions.values():
            inner = getattr(function, "graph", None)
            if inner is not None and id(inner) not in seen:
                seen.add(id(inner))
                waiting.append(inner)


def _class(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, None)


def _holds(thing: Any, captured: set[int]) -> bool:
    """Whether one of the object's variables is among the captured handles; half-made objects hold none."""
    try:
        variables = thing.variables
        variables = variables() if callable(variables) else variables
        plain = [getattr(variable, "_value", variable) for variable in variables]
        return any(id(variable.handle) in captured for variable in plain if isinstance(variable, tf.Variable))
    except Exception:
        return False


def _inside(model: Any) -> list[Any]:
    """The layers of a model, nested ones too, and the Functional model that Keras 3 makes of a Sequential one."""
    flatten = getattr(model, "_flatten_layers", None)
    layers = list(flatten(include_self=False, recursive=True)) if flatten is not None else []
    return [*layers, *(own for item in (model, *layers) if (own := getattr(item, "_functional", None)) is not None)]
