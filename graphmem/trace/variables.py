"""What a step is given: its arguments, and the variables that it captures, each with what it is to the model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphmem.errors import TargetError
from graphmem.graph.model import Argument, Made, Variable, tensor_bytes
from graphmem.target.step import Step
from graphmem.target.weightless import making
from graphmem.trace.scopes import Scopes


def arguments(concrete: Any) -> list[Argument]:
    """The inputs of a concrete function, captures apart, in the order of their `_Arg` index.

    Raises:
        TargetError: one has an open dimension.
    """
    found = []
    for tensor in concrete.inputs[: len(concrete.inputs) - len(concrete.captured_inputs)]:
        name, dtype, shape = tensor.op.name, tensor.dtype.base_dtype.name, _shape(tensor.shape)
        if dtype not in ("resource", "variant") and (shape is None or None in shape):
            where = "its shape" if shape is None else f"dimension {shape.index(None)}"
            raise TargetError(f"input {name!r} of the step leaves {where} open; give it with --input or --batch.")
        found.append(Argument(name, dtype, shape, tensor_bytes(dtype, shape)))
    return found


def captured(concrete: Any, step: Step, scopes: Scopes) -> list[Variable]:
    """What each capture of a concrete function is, in capture order: variables, and tensors that it holds on to.

    Args:
        concrete: the `ConcreteFunction`.
        step: its models and optimizers tell weights from optimizer state.
        scopes: the layers that were met while tracing.
    """
    by_handle = {id(variable.handle): variable for variable in concrete.graph.variables}
    owned = _owned(step, scopes)
    found = []
    for external, internal in zip(concrete.captured_inputs, concrete.graph.internal_captures, strict=True):
        variable = by_handle.get(id(external))
        if variable is None:
            dtype, shape = external.dtype.base_dtype.name, _shape(external.shape)
            size = None if dtype == "string" else tensor_bytes(dtype, shape)
            found.append(Variable(internal.op.name, dtype, shape, size, "constant", False))
            continue
        dtype, shape = variable.dtype.base_dtype.name, _shape(variable.shape)
        named = variable.name.partition(":")[0]
        role, name, scope = owned.get(id(variable), (_guess(variable), named, ""))
        size, trainable = tensor_bytes(dtype, shape), bool(variable.trainable)
        found.append(Variable(name, dtype, shape, size, role, trainable, scope=scope))
    _find_slots(found)
    return found


def made(concrete: Any) -> list[Made]:
    """How the variables among the captures of a concrete function were made, in `captured`'s numbers."""
    by_handle = {id(variable.handle): variable for variable in concrete.graph.variables}
    return making().of([by_handle.get(id(external)) for external in concrete.captured_inputs])


def _owned(step: Step, scopes: Scopes) -> dict[int, tuple[str, str, str]]:
    """id of a tf.Variable -> (role, name, scope) for what models, layers and optimizers own."""
    owned: dict[int, tuple[str, str, str]] = {}
    for optimizer in step.optimizers:
        for variable in _list(optimizer, "variables"):
            scalar = len(variable.shape) == 0
            owned[id(_raw(variable))] = ("other state" if scalar else "optimizer state", _path(variable), "")
    for model in step.models:
        weights = {id(_raw(variable)) for variable in _list(model, "weights")}
        for variable in _list(model, "variables"):
            raw = _raw(variable)
            if id(raw) not in owned:
                owned[id(raw)] = ("weight" if id(raw) in weights else "other state", _path(variable), "")
        for metric in _list(model, "metrics"):
            for variable in _list(metric, "variables"):
                owned[id(_raw(variable))] = ("other state", _path(variable), "")
    for layer in scopes.seen():
        for variable in (*_list(layer, "_trainable_variables"), *_list(layer, "_non_trainable_variables")):
            raw = _raw(variable)
            role, name, _ = owned.get(id(raw), ("weight", _path(variable), ""))
            owned[id(raw)] = (role, name, scopes.layers[id(layer)])
    for model in step.models:
        for layer in _sublayers(model):
            for variable in _own_variables(layer):
                known = owned.get(id(_raw(variable)))
                if known and not known[2]:
                    owned[id(_raw(variable))] = (known[0], known[1], layer.name)
    return owned


def _guess(variable: Any) -> str:
    """The role of a variable that no model or optimizer owns."""
    if variable.trainable and variable.dtype.is_floating:
        return "weight"
    return "optimizer state" if variable.dtype.is_floating and variable.shape.rank else "other state"


def _find_slots(variables: list[Variable]) -> None:
    """Match optimizer state to weights: same shape, and the weight's path in the slot's name."""
    weights = {weight.name.replace("/", "_"): weight for weight in variables if weight.role == "weight"}
    longest_first = sorted(weights, key=len, reverse=True)
    for variable in variables:
        if variable.role == "optimizer state":
            flat = variable.name.replace("/", "_")
            match = next((name for name in longest_first if name in flat), None)
            if match is not None:
                variable.slot_of, variable.scope = weights[match].name, weights[match].scope


def _raw(variable: Any) -> Any:
    """The tf.Variable inside a Keras 3 variable."""
    return getattr(variable, "_value", variable) if hasattr(variable, "_value") else variable


def _path(variable: Any) -> str:
    return str(getattr(variable, "path", None) or variable.name).partition(":")[0]


def _list(owner: Any, name: str) -> list[Any]:
    found = getattr(owner, name, None)
    if callable(found):  # legacy optimizers
        found = found()
    return list(found) if isinstance(found, Iterable) else []


def _sublayers(model: Any) -> list[Any]:
    flatten = getattr(model, "_flatten_layers", None)
    return list(flatten(include_self=False)) if flatten else []


def _own_variables(layer: Any) -> list[Any]:
    return [*_list(layer, "_trainable_weights"), *_list(layer, "_non_trainable_weights"), *_list(layer, "weights")]


def _shape(shape: Any) -> tuple[int | None, ...] | None:
    return None if shape.rank is None else tuple(shape)
