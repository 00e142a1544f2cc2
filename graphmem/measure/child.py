"""The process that runs the step for real: it builds the target with weights, warms up, and records one step.

The request and the result are files in a folder that the parent made and removes. The step is run as graphmem traces
it: the very function whose executed graph is handed over, so that the names of its ops are those of the prediction; or
the one that XLA is given to compile.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

from graphmem.errors import CheckFailed, UserCodeError
from graphmem.measure.children import answer

TRACE = "step.graphmem"
"""The file in the folder that the step is traced to."""


def main(folder: str, parent: int) -> None:
    """Do what the folder's request says and leave the result there: figures, or the one sentence of a failure."""
    answer(folder, parent, partial(_measured, Path(folder)))


def _measured(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    import tensorflow as tf

    from graphmem.measure.recorder import record
    from graphmem.target.resolve import resolve
    from graphmem.target.step import Options
    from graphmem.target.weightless import ordinary

    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(request["threads"])
    said = request["options"]
    options = Options(**{**said, "inputs": tuple(said["inputs"]), "script_args": tuple(said["script_args"])})
    with ordinary():
        step = resolve(request["target"], options)
        specs = _specs(step)
        inputs = _made_up(specs, specs)  # before it is traced, as a program does: what tracing keeps comes after them
        if request["runtime"] == "xla":
            step = step.for_xla()
            concrete = _for_xla(step)
        else:
            concrete = _op_by_op(step)
    wanted = concrete.inputs[: len(concrete.inputs) - len(concrete.captured_inputs)]
    if [_kind(tensor) for tensor in inputs] != [_kind(tensor) for tensor in wanted]:
        inputs = _made_up(wanted, specs)

    def run() -> None:
        with tf.device("/device:CPU:0"):
            concrete._inference_function.call_flat(*inputs, *concrete.captured_inputs)

    try:
        for _ in range(request["warmup"]):
            run()
        began = time.monotonic()
        events = record(run)
        seconds = round(time.monotonic() - began, 3)
    except tf.errors.ResourceExhaustedError as error:
        raise CheckFailed(f"the step ran out of memory: {_sentence(error)}") from error
    except tf.errors.OpError as error:
        raise UserCodeError(f"the step failed when it ran on made-up data: {_sentence(error)}") from error
    if request["runtime"] != "xla":
        _save_trace(step, folder)
    return {
        "events": events,
        "seconds": seconds,
        "variables_bytes": sum(_nbytes(variable) for variable in concrete.graph.variables),
        "argument_bytes": sum(_nbytes(tensor) for tensor in inputs),
        "versions": {"tensorflow": tf.__version__},
    }


def _op_by_op(step: Any) -> Any:
    """The function for TensorFlow's executor."""
    import tensorflow as tf
    from tensorflow.python.eager.polymorphic_function import polymorphic_function

    function: Any = step.function
    if not isinstance(function, tf.types.experimental.PolymorphicFunction):
        function = step.function = tf.function(function)
    if isinstance(function, polymorphic_function.Function) and function._jit_compile:
        function = step.function = function._clone(None)
        function._jit_compile = None
    return function.get_concrete_function(*step.args, **step.kwargs)


def _save_trace(step: Any, folder: Path) -> None:
    """What graphmem makes of the step; after the step has run, as tracing leaves holes in the allocator's pool."""
    from graphmem.graph.store import save_trace
    from graphmem.runtime.element_shapes import element_shapes
    from graphmem.target.weightless import ordinary
    from graphmem.trace.tracer import trace

    with ordinary():
        save_trace(trace(step, elements=element_shapes), str(folder / TRACE))


def _for_xla(step: Any) -> Any:
    from graphmem.trace.hlo import traced_for_xla

    return traced_for_xla(step)[0]


def _specs(step: Any) -> list[Any]:
    """The tensors among the step's arguments, or what they are like."""
    import tensorflow as tf

    given = tf.nest.flatten((step.args, step.kwargs), expand_composites=True)
    return [item for item in given if isinstance(item, (tf.Tensor, tf.TensorSpec))]


def _made_up(wanted: list[Any], given: list[Any]) -> list[Any]:
    """Real tensors: random floats, zeros, empty texts; the user's own handles as they are.

    TensorFlow makes them, as a tensor made of a NumPy array may keep the array's memory.

    Args:
        wanted: what each is like; nothing is made if a shape is open or a handle is missing.
        given: the step's arguments, with its handles.
    """
    import tensorflow as tf

    handles = [item for item in given if isinstance(item, tf.Tensor) and _is_handle(item)]
    if len(handles) < sum(map(_is_handle, wanted)):
        return []
    if not all(tensor.shape.is_fully_defined() for tensor in wanted if not _is_handle(tensor)):
        return []
    made = []
    for number, tensor in enumerate(wanted):
        shape, dtype = tuple(tensor.shape), tensor.dtype.base_dtype
        if _is_handle(tensor):
            made.append(handles.pop(0))
        elif dtype.is_floating:
            made.append(tf.cast(tf.random.stateless_uniform(shape, seed=(0, number)), dtype))
        else:
            made.append(tf.zeros(shape, dtype))
    return made


def _is_handle(tensor: Any) -> bool:
    return tensor.dtype.base_dtype.name in ("resource", "variant")


def _kind(tensor: Any) -> tuple[Any, Any]:
    return tensor.shape, tensor.dtype.base_dtype


def _nbytes(thing: Any) -> int:
    """Bytes that a tensor or variable holds; handles and texts count nothing, as in the prediction."""
    from graphmem.graph.model import tensor_bytes

    return tensor_bytes(thing.dtype.base_dtype.name, tuple(thing.shape)) or 0


def _sentence(error: Any) -> str:
    """What a TensorFlow error says, ended with a full stop: its last paragraph, where the traceback is over."""
    said = error.message.rpartition("\n\n")[2].partition("[[{{node")[0].strip()
    said = said.partition("\n")[0] or type(error).__name__
    return said if said.endswith(".") else f"{said}."
