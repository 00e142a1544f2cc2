"""What TensorFlow makes of a function for XLA, without running it; what XLA refuses is told in one sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.ops.resource_variable_ops import default_variable_creator_v2

from graphmem.errors import CompilerError, GraphmemError, UserCodeError
from graphmem.target.user_code import is_users
from graphmem.target.weightless import zero_tensor
from graphmem.trace.placement import DEVICE_NAMES

#: What TensorFlow says (tf2xla: xla_compiler.cc, xla_op_kernel.cc, const_analysis.cc; jit: get_compiler_ir.cc).
_NO_KERNEL = re.compile(r"(?:\(No registered '|Op type not registered ')(\w+)'")
_NOT_CONSTANT = re.compile(r"Input (\d+) to node `?([^`\s]+)`? with op (\w+) must be a compile-time constant")
_NO_VARIABLE = "variable.var()->is_initialized"
_LINE = re.compile(r'File "([^"]+)", line (\d+)')

_ELSE = "use --runtime graph, or compile the model with jit_compile=False"
_MOST_REAL_BYTES = 1 << 30


def export(
    function: str, arguments: Sequence[Any], captures: Sequence[Any], stage: str, files: Collection[str]
) -> bytes:
    """What TensorFlow makes of a function that it knows.

    Args:
        function: the name of the function.
        arguments: a `tf.TensorSpec` for each argument.
        captures: the tensors that it captures: handles of variables, and others.
        stage: "hlo_serialized", or a stage that runs XLA's compiler for the CPU in this process.
        files: absolute paths of the user's files.

    Raises:
        UserCodeError: XLA cannot compile the function.
    """
    try:
        return _export(function, arguments, captures, stage)
    except ValueError as error:
        told = refused(str(error), files)
        if not _NOT_CONSTANT.search(str(error)) or all(tensor.dtype == tf.resource for tensor in captures):
            raise told from error
    # A captured tensor may decide a shape. TensorFlow looks at its value only if all inputs are tensors.
    try:
        return _export(function, [stand_in(spec.shape, spec.dtype) for spec in arguments], captures, stage)
    except ValueError as error:
        raise told from error


def _export(function: str, given: Sequence[Any], captures: Sequence[Any], stage: str) -> bytes:
    made: bytes = context.context().get_compiler_ir(
        device_name=DEVICE_NAMES["cpu"],
        platform_name=None,
        function_name=function,
        flat_args=list(given),
        captured_inputs=list(captures),
        stage=stage,
    )
    return made


def stand_in(shape: Any, dtype: Any) -> Any:
    """A tensor of zeros for one whose value does not matter; it owns no memory where that can be had.

    Raises:
        CompilerError: it cannot, and would be too large.
    """
    shape, dtype = tuple(shape), tf.as_dtype(dtype)
    zeros = zero_tensor(shape, dtype)
    if zeros is not None:
        return zeros
    count = tf.TensorShape(shape).num_elements()
    if count * dtype.size > _MOST_REAL_BYTES:
        raise CompilerError(
            f"XLA needs a value for a variable of {dtype.name} {list(shape)}, which would take memory; {_ELSE}."
        )
    return tf.cast(tf.zeros(shape, tf.float32 if dtype.is_floating else tf.int8), dtype)


def stand_in_variable(shape: Any, dtype: Any) -> Any:
    """The handle of a variable that holds `stand_in`; variable creators that are in force are passed by."""
    variable = default_variable_creator_v2(None, initial_value=stand_in(shape, dtype), dtype=dtype, trainable=False)
    return variable.handle


def refused(message: str, files: Collection[str]) -> GraphmemError:
    """One sentence for what TensorFlow says when XLA cannot compile a function.

    >>> print(refused("Input 1 to node `Reshape` with op Reshape must be a compile-time constant.", ()))
    XLA cannot compile the step: input 1 of op Reshape (node 'Reshape'), which decides a shape, depends on data; use \
--runtime graph, or compile the model with jit_compile=False.
    """
    where = _line_of(message, files)
    kernels = list(dict.fromkeys(_NO_KERNEL.findall(message)))
    if kernels:
        ops, plural = ", ".join(kernels), "s" * (len(kernels) > 1)
        return UserCodeError(f"XLA cannot compile the step: it has no kernel for the op{plural} {ops}{where}; {_ELSE}.")
    constant = _NOT_CONSTANT.search(message)
    if constant:
        number, node, op = constant.groups()
        return UserCodeError(
            f"XLA cannot compile the step: input {number} of op {op} (node {node!r}{where}), which decides a shape, "
            f"depends on data; {_ELSE}."
        )
    if _NO_VARIABLE in message:
        return UserCodeError(
            f"XLA cannot compile the step: it uses a resource that is no variable, such as a lookup table; {_ELSE}."
        )
    said = message.removeprefix("Failed getting HLO text: '").strip().partition("\n")[0].rstrip(".'")
    return UserCodeError(f"XLA cannot compile the step: {said[:300]}{where}; {_ELSE}.")


def _line_of(message: str, files: Collection[str]) -> str:
    """Where the op was made: the last of the user's lines that TensorFlow lists, such as ", net.py line 7"."""
    found = [(os.sep + path.lstrip(os.sep), line) for path, line in _LINE.findall(message)]  # the root is left out
    users = [(path, line) for path, line in found if is_users(path, files)]
    return f", {os.path.basename(users[-1][0])} line {users[-1][1]}" if users else ""
