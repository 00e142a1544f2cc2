"""The graph that TensorFlow would execute on the CPU, handed over by TensorFlow without running it.

Calling a concrete function makes TensorFlow instantiate it: inline, place, rewrite with Grappler, partition. Under a
cancellation manager that is already cancelled the call stops right after that, before any kernel runs; graph collection
keeps what instantiation made, and the next call that succeeds exports it.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.eager import cancellation, context

from graphmem.errors import InternalError, UserCodeError


def executed_graphs(concrete: Any, tensors: list[Any]) -> tuple[Any, Any]:
    """The function's graph before and after TensorFlow's rewrites, as GraphDefs.

    Args:
        concrete: a `ConcreteFunction`.
        tensors: one tensor per flat input (not the captures); they are not read.

    Returns:
        (before Grappler: inlined and placed, what runs: the partition for the CPU).

    Raises:
        UserCodeError: TensorFlow cannot instantiate the function.
        InternalError: TensorFlow handed nothing over, as it does for a function that it has instantiated before.
    """
    ctx = context.context()
    ctx.ensure_initialized()
    cancelled = cancellation.CancellationManager()
    cancelled.start_cancel()
    ctx.enable_graph_collection()
    try:
        with cancellation.CancellationManagerContext(cancelled), tf.device("/device:CPU:0"):
            concrete._inference_function.call_flat(*tensors, *concrete.captured_inputs)
    except tf.errors.CancelledError:
        pass
    except tf.errors.OpError as error:
        raise UserCodeError(f"TensorFlow cannot build the step: {error.message.splitlines()[0]}") from error
    finally:
        try:
            _run_something()
            metadata = ctx.export_run_metadata()
        finally:
            ctx.disable_graph_collection()
    candidates = [made for made in metadata.function_graphs if made.partition_graphs]
    if not candidates:
        raise InternalError("TensorFlow handed over no executed graph: the function has been instantiated before")
    made = max(candidates, key=lambda graphs: len(graphs.pre_optimization_graph.node))
    return made.pre_optimization_graph, max(made.partition_graphs, key=lambda graph: len(graph.node))


def _run_something() -> None:
    """One trivial call: run metadata is exported when a function has run."""
    if _run_something.trivial is None:  # type: ignore[attr-defined]
        _run_something.trivial = tf.function(lambda: tf.constant(0))  # type: ignore[attr-defined]
    _run_something.trivial()  # type: ignore[attr-defined]


_run_something.trivial = None  # type: ignore[attr-defined]
