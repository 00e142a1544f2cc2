"""Trace a step: concrete function → the graph TensorFlow would execute → `StepGraph` with variables and arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function

from graphmem.errors import InternalError, TargetError
from graphmem.graph.model import Argument, StepGraph, Variable, tensor_bytes
from graphmem.target.step import Step
from graphmem.trace import build, handover, shapes


def trace(step: Step, *, rewrite: bool = True, progress: Callable[[str], None] = lambda text: None) -> StepGraph:
    """Trace a step for the CPU executor.

    Args:
        step: what to trace; its arguments may be specs, so that no data is needed.
        rewrite: whether TensorFlow's graph rewrites (Grappler) are applied, as they are by default.
        progress: told what goes on, a few words each.

    Raises:
        TargetError: an argument has an open dimension.
        UserCodeError: the user's function raised while it was traced, or TensorFlow refuses it.
    """
    progress("tracing")
    function = step.function
    if not isinstance(function, polymorphic_function.Function):
        function = tf.function(function)
    concrete = function.get_concrete_function(*step.args, **step.kwargs)
    progress("rewriting")
    with _grappler(rewrite):
        try:
            _, executed = handover.executed_graphs(concrete, _stand_ins(concrete, step))
        except InternalError:  # instantiated before, by whoever owns the function: trace it anew
            concrete = function._clone(None).get_concrete_function(*step.args, **step.kwargs)
            _, executed = handover.executed_graphs(concrete, _stand_ins(concrete, step))
    progress("building the graph")
    arguments = _arguments(concrete)
    variables = _variables(concrete)
    graph = build.build(executed, shapes.infer(executed, [item.shape for item in (*arguments, *variables)]))
    graph.arguments, graph.variables = arguments, variables
    _refer(graph)
    return graph


def _arguments(concrete: Any) -> list[Argument]:
    """The inputs of the function in the order of their `_Arg` index."""
    count = len(concrete.inputs) - len(concrete.captured_inputs)
    found = []
    for tensor in concrete.inputs[:count]:
        name, dtype = tensor.op.name, tensor.dtype.base_dtype.name
        shape = None if tensor.shape.rank is None else tuple(tensor.shape)
        if dtype not in ("resource", "variant") and (shape is None or None in shape):
            where = "its shape" if shape is None else f"dimension {shape.index(None)}"
            raise TargetError(f"input {name!r} of the step leaves {where} open; give it with --input or --batch.")
        found.append(Argument(name, dtype, shape, tensor_bytes(dtype, shape)))
    return found


def _stand_ins(concrete: Any, step: Step) -> list[Any]:
    """A tensor per input for a call that reads none: empty ones, and the user's own handles."""
    given = [item for item in tf.nest.flatten((step.args, step.kwargs)) if isinstance(item, tf.Tensor)]
    handles = [item for item in given if item.dtype in (tf.resource, tf.variant)]
    count = len(concrete.inputs) - len(concrete.captured_inputs)
    made = []
    for tensor in concrete.inputs[:count]:
        if tensor.dtype in (tf.resource, tf.variant):
            if not handles:
                raise TargetError(f"input {tensor.op.name!r} is a {tensor.dtype.name} handle; pass the object itself.")
            made.append(handles.pop(0))
        else:
            made.append(tf.zeros([0], tensor.dtype) if tensor.dtype != tf.string else tf.constant([], tf.string))
    return made


def _variables(concrete: Any) -> list[Variable]:
    """What each capture is, in capture order: variables, and tensors that the function holds on to."""
    by_handle = {id(variable.handle): variable for variable in concrete.graph.variables}
    found = []
    for external, internal in zip(concrete.captured_inputs, concrete.graph.internal_captures, strict=True):
        variable = by_handle.get(id(external))
        if variable is not None:
            dtype, shape = variable.dtype.base_dtype.name, tuple(variable.shape) if variable.shape.rank is not None else None
            name = variable.name.partition(":")[0]
            found.append(Variable(name, dtype, shape, tensor_bytes(dtype, shape), trainable=bool(variable.trainable)))
        else:
            dtype = external.dtype.base_dtype.name
            shape = None if external.shape.rank is None else tuple(external.shape)
            found.append(Variable(internal.op.name, dtype, shape, tensor_bytes(dtype, shape), "constant", False))
    return found


def _refer(graph: StepGraph) -> None:
    """Say on each `_Arg` op which variable or argument it holds."""
    for op in graph.ops:
        if op.type == "_Arg":
            index = op.attrs["index"]
            inputs = len(graph.arguments)
            op.attrs["_arg"] = ["argument", index] if index < inputs else ["variable", index - inputs]


@contextlib.contextmanager
def _grappler(on: bool) -> Iterator[None]:
    """Turn TensorFlow's rewrites off for a while."""
    if on:
        yield
        return
    before = tf.config.optimizer.get_experimental_options()
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": before.get("disable_meta_optimizer", False)})
