"""A step as XLA gets it: the HLO module that TensorFlow makes of it, with the names of its parameters.

TensorFlow lowers a function traced with `jit_compile=True` without running it. No compiler has seen the module yet, so
that it serves for any device. What XLA cannot compile is found here, and told in a sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.compiler.xla import xla_data_pb2
from tensorflow.python.eager.polymorphic_function import polymorphic_function

from graphmem.errors import InternalError, TargetError, UserCodeError
from graphmem.graph.model import Argument, Made, Variable
from graphmem.target.step import Step
from graphmem.target.user_code import step_errors
from graphmem.trace import legacy_rnn, scopes, variables
from graphmem.trace.scopes import Scopes
from graphmem.trace.xla_export import export, stand_in_variable
from graphmem.xla.wire import fields

_HOST_PROGRAM_SHAPE = 4  # field of HloModuleProto (xla/service/hlo.proto)


@dataclass
class Lowered:
    """A step lowered to HLO.

    Attributes:
        hlo: a serialized `HloModuleProto`. A parameter that the step updates is marked as one whose memory the new
            value may take over (`input_output_alias`).
        arguments: the inputs of the step, in order.
        variables: what the step captures, in order.
        made: how they were made, as far as it is known.
        parameters: what each parameter of the module's entry is: ("argument", index) or ("variable", index). A
            captured tensor that decides a shape is none.
        outputs: names of the ops whose results the step returns, in order; in the module the new values of variables
            come after them.
        scopes: the layers that were met while tracing.
        concrete: the `ConcreteFunction`; `graphmem.trace.xla_cpu.program_of` packs it for TensorFlow's own compiler.
    """

    hlo: bytes
    arguments: list[Argument]
    variables: list[Variable]
    made: list[Made]
    parameters: list[tuple[str, int]]
    outputs: list[str]
    scopes: Scopes
    concrete: Any


def hlo_of(step: Step, *, progress: Callable[[str], None] = lambda text: None) -> Lowered:
    """Trace a step as `jit_compile=True` has it traced, and lower it to HLO. Nothing of the step is executed.

    Args:
        step: what to trace; its variables may own no memory.
        progress: told what goes on, a few words each.

    Raises:
        TargetError: an argument has an open dimension, or is a handle.
        UserCodeError: the user's function raised while it was traced, or XLA cannot compile it: an op that it has no
            kernel for, a shape that depends on data, a resource that is no variable.
    """
    progress("tracing for XLA")
    concrete, seen = traced_for_xla(step)
    seen.ops = {op.name for op in concrete.graph.get_operations()}
    arguments, captured = variables.arguments(concrete), variables.captured(concrete, step, seen)
    progress("lowering to HLO")
    hlo = export(concrete.name, specs_of(arguments), initialised(concrete), "hlo_serialized", step.user_files)
    return Lowered(
        hlo=hlo,
        arguments=arguments,
        variables=captured,
        made=variables.made(concrete),
        parameters=_parameters(hlo, arguments, captured),
        outputs=[tensor.op.name for tensor in concrete.outputs],
        scopes=seen,
        concrete=concrete,
    )


def traced_for_xla(step: Step) -> tuple[Any, Scopes]:
    """The `ConcreteFunction` that XLA would compile of a step, and the layers that were met while tracing.

    Raises:
        UserCodeError: the user's function raised.
    """
    function = _compiled(step.function)
    with scopes.watched(step.models) as seen, legacy_rnn.inlined([]), step_errors(step.user_files):
        return function.get_concrete_function(*step.args, **step.kwargs), seen


def specs_of(arguments: list[Argument]) -> list[Any]:
    """A `tf.TensorSpec` for each argument.

    Raises:
        TargetError: one is a handle, which XLA takes only if it is captured.
    """
    for argument in arguments:
        if argument.dtype in ("resource", "variant"):
            raise TargetError(
                f"input {argument.name!r} of the step is a {argument.dtype} handle, which XLA does not take; have the "
                "step use the variable from outside, or use --runtime graph."
            )
    return [tf.TensorSpec(argument.shape, argument.dtype) for argument in arguments]


def initialised(concrete: Any) -> list[Any]:
    """What a function captures, with a stand-in for each variable that has no value: XLA wants them to have one."""
    tensors = list(concrete.captured_inputs)
    places = {id(tensor): place for place, tensor in enumerate(tensors)}
    for variable in concrete.graph.variables:
        place = places.get(id(variable.handle))
        if place is not None and not tf.raw_ops.VarIsInitializedOp(resource=variable.handle):
            tensors[place] = stand_in_variable(variable.shape, variable.dtype)
    return tensors


def _compiled(function: Any) -> Any:
    """The function, to be traced anew for XLA; the user's own keeps its traces."""
    if not isinstance(function, polymorphic_function.Function):
        return tf.function(function, jit_compile=True)
    clone = function._clone(None)
    clone._jit_compile = True
    return clone


def _parameters(hlo: bytes, arguments: list[Argument], captured: list[Variable]) -> list[tuple[str, int]]:
    """What each parameter of the module's entry is: the inputs of the function in order, without those taken as
    constants since they decide a shape.

    Raises:
        UserCodeError: one of those is an argument of the step.
        InternalError: the parameters are not those of the function.
    """
    shapes = [tuple(shape.dimensions) for shape in _program_shape(hlo).parameters]
    given = [("argument", i) for i in range(len(arguments))] + [("variable", i) for i in range(len(captured))]
    missing = len(given) - len(shapes)
    found: list[tuple[str, int]] = []
    for kind, index in given:
        item = arguments[index] if kind == "argument" else captured[index]
        if len(found) < len(shapes) and shapes[len(found)] == item.shape:
            found.append((kind, index))
        elif kind == "argument":
            raise UserCodeError(
                f"XLA compiles the step anew for each value of its input {item.name!r}, which decides a shape; "
                "use --runtime graph."
            )
        else:
            missing -= 1
    if missing:
        raise InternalError(f"the HLO module has {len(shapes)} parameters, the function {len(given)} inputs")
    return found


def _program_shape(hlo: bytes) -> Any:
    """The `ProgramShapeProto` of a serialized module, of which nothing else is read."""
    begin, end = next((begin, end) for number, begin, end in fields(hlo) if number == _HOST_PROGRAM_SHAPE)
    return xla_data_pb2.ProgramShapeProto.FromString(hlo[begin:end])
