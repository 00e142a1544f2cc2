"""The graph that TensorFlow would execute on the CPU, handed over by TensorFlow without running it.

Calling a concrete function makes TensorFlow instantiate it: inline, place, rewrite with Grappler, partition. Under a
cancellation manager that is already cancelled the call stops right after that, before any kernel runs; graph collection
keeps what instantiation made, and the next call that succeeds exports it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.eager import cancellation, context

from graphmem.errors import InternalError, UserCodeError


class Handed(NamedTuple):
    """What TensorFlow makes of a function.

    Attributes:
        executed: the GraphDef that the executor would get: inlined, lowered, placed, rewritten.
        before: the GraphDef that the rewrites began with, and the library of functions.
    """

    executed: Any
    before: Any


def executed_graph(concrete: Any, tensors: list[Any]) -> Any:
    """The GraphDef that TensorFlow's executor would get: see `handed_over`."""
    return handed_over(concrete, tensors).executed


def handed_over(concrete: Any, tensors: list[Any]) -> Handed:
    """What TensorFlow would execute of a function.

    Args:
        concrete: a `ConcreteFunction`.
        tensors: one tensor per flat input (not the captures); they are not read.

    Raises:
        UserCodeError: TensorFlow cannot instantiate the function.
        InternalError: TensorFlow handed nothing over, as it does for a function that it has instantiated before.
    """
    call = concrete._inference_function.call_flat
    return hand_over(lambda: call(*tensors, *concrete.captured_inputs), len(concrete.inputs))


def hand_over(call: Callable[[], Any], inputs: int) -> Handed:
    """What TensorFlow would execute of the function of so many inputs that `call` calls: see `handed_over`."""
    ctx = context.context()
    ctx.ensure_initialized()
    cancelled = cancellation.CancellationManager()
    cancelled.start_cancel()
    ctx.enable_graph_collection()
    try:
        with cancellation.CancellationManagerContext(cancelled), tf.device("/device:CPU:0"):
            call()
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
    made = max(metadata.function_graphs, key=lambda graphs: len(graphs.pre_optimization_graph.node), default=None)
    if made is None or not made.partition_graphs or _size(made.pre_optimization_graph)[0] < inputs:
        raise InternalError("TensorFlow handed over no executed graph")
    executed = max(made.partition_graphs, key=_size)
    if any(node.op.startswith("_Mkl") for node in executed.node):
        executed = _without_onednn(made)
    return Handed(executed, made.pre_optimization_graph)


@contextlib.contextmanager
def rewrites(on: bool, only: Sequence[str] = ()) -> Iterator[None]:
    """Turn TensorFlow's rewrites off for the functions that are called in the block, save those named.

    Not by `tf.config.optimizer`: that makes TensorFlow instantiate all functions of the process anew, and the random
    ops in them start again.
    """
    if on:
        yield
        return
    ctx = context.context()
    config = ctx.config
    config.graph_options.rewrite_options.disable_meta_optimizer = not only
    config.graph_options.rewrite_options.optimizers.extend(only)
    config.allow_soft_placement = True
    before = ctx.function_call_options
    ctx.function_call_options = context.FunctionCallOptions(config_proto=config)
    try:
        yield
    finally:
        ctx.function_call_options = before


def _size(graph: Any) -> tuple[int, int]:
    """How many inputs a graph has, and how many nodes; the trivial call's has no input."""
    return sum(node.op == "_Arg" for node in graph.node), len(graph.node)


def _without_onednn(made: Any) -> Any:
    """The graph before oneDNN's own rewrites, which come last; TensorFlow appends the trivial call's nodes to it."""
    graph = type(made.post_optimization_graph)()
    graph.CopyFrom(made.post_optimization_graph)
    extra = sum(len(partition.node) for partition in made.partition_graphs) - max(
        len(partition.node) for partition in made.partition_graphs
    )
    if extra:
        del graph.node[-extra:]
    return graph


def _run_something() -> None:
    """One trivial call: run metadata is exported when a function has run."""
    if _run_something.trivial is None:  # type: ignore[attr-defined]
        _run_something.trivial = tf.function(lambda: tf.constant(0))  # type: ignore[attr-defined]
    _run_something.trivial()  # type: ignore[attr-defined]


_run_something.trivial = None  # type: ignore[attr-defined]
