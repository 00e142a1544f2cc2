"""A traced function, packed for another process, and that process: it has TensorFlow's own XLA compile it for the CPU.

TensorFlow finds a function by its name among the functions that it knows. So the definition and those of all functions
that it calls are all that travels; variables that own no memory stand in for those that it captures.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from graphmem.errors import GraphmemError, UserCodeError
from graphmem.xla.child import FAILURE

PROGRAM = "program"
"""The file that the child finds in its folder: a line of JSON, then a serialized `FunctionDefLibrary`."""

_SMALL_BYTES = 1 << 16  # captured tensors up to this size travel with their values, as these may decide shapes


def program_of(concrete: Any) -> bytes:
    """A concrete function, traced with `jit_compile=True`, as `graphmem.xla.compiler.compile_cpu` takes it."""
    from graphmem.trace import variables

    library = concrete.graph.as_graph_def().library
    library.function.add().CopyFrom(concrete.function_def)
    head = {
        "function": concrete.name.decode() if isinstance(concrete.name, bytes) else concrete.name,
        "arguments": [[argument.dtype, argument.shape] for argument in variables.arguments(concrete)],
        "captures": [_described(tensor, concrete) for tensor in concrete.captured_inputs],
    }
    return json.dumps(head).encode() + b"\n" + library.SerializeToString()


def _described(tensor: Any, concrete: Any) -> dict[str, Any]:
    """What the child makes again: a variable by dtype and shape, a tensor by dtype, shape and, if small, value."""
    import tensorflow as tf

    variable = next((v for v in concrete.graph.variables if v.handle is tensor), None)
    if variable is not None:
        return {"variable": True, "dtype": variable.dtype.base_dtype.name, "shape": list(variable.shape)}
    if tensor.dtype in (tf.resource, tf.variant):
        raise UserCodeError("XLA cannot compile the step: it uses a resource that is no variable.")
    made = {"variable": False, "dtype": tensor.dtype.name, "shape": list(tensor.shape)}
    if tensor.shape.num_elements() * tensor.dtype.size <= _SMALL_BYTES:
        made["value"] = base64.b64encode(tf.make_tensor_proto(tensor).SerializeToString()).decode()
    return made


def main(folder: str) -> None:
    """Have TensorFlow compile what lies in the folder; a failure is told there."""
    files = Path(folder)
    try:
        head, _, library = (files / PROGRAM).read_bytes().partition(b"\n")
        _compile(json.loads(head), library)
    except GraphmemError as error:
        kind = "UserCodeError" if isinstance(error, UserCodeError) else "CompilerError"
        (files / FAILURE).write_text(json.dumps({"error": kind, "message": str(error)}))


def _compile(head: dict[str, Any], library: bytes) -> None:
    import tensorflow as tf
    from tensorflow.core.framework import function_pb2
    from tensorflow.python.eager import context

    from graphmem.trace.xla_export import export

    context.ensure_initialized()
    for definition in function_pb2.FunctionDefLibrary.FromString(library).function:
        context.context().add_function_def(definition)
    arguments = [tf.TensorSpec(shape, dtype) for dtype, shape in head["arguments"]]
    captures = [_made(described) for described in head["captures"]]
    export(head["function"], arguments, captures, "optimized_hlo_proto_serialized", ())


def _made(described: dict[str, Any]) -> Any:
    import tensorflow as tf
    from tensorflow.core.framework import tensor_pb2

    from graphmem.trace.xla_export import stand_in, stand_in_variable

    if "value" in described:
        return tf.constant(tf.make_ndarray(tensor_pb2.TensorProto.FromString(base64.b64decode(described["value"]))))
    return (stand_in_variable if described["variable"] else stand_in)(described["shape"], described["dtype"])
