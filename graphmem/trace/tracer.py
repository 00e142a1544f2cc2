"""Trace a step: concrete function → the graph TensorFlow would execute → `StepGraph` with variables and arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function

from graphmem.errors import TargetError
from graphmem.graph.model import StepGraph
from graphmem.target.gpu_seen import gpu_seen
from graphmem.target.layers import describe_layers
from graphmem.target.step import Step
from graphmem.target.user_code import step_errors
from graphmem.trace import (
    build,
    calls,
    clusters,
    examine,
    fold,
    gpu_only,
    handover,
    legacy_rnn,
    merge,
    placement,
    prune,
    roles,
    scopes,
    shapes,
    sources,
    variables,
)
from graphmem.trace.kept_constants import kept_constants
from graphmem.version import __version__

#: The GPU whose rewrites are made unless another is named: compute capability of an A100, and memory enough that
#: Grappler does not start to have tensors wait in the host's.
ARCHITECTURE, GPU_MEMORY = "8.0", 1 << 40

#: So often shapes are inferred at most: what comes out of one list may be in another.
_ROUNDS = 4


def trace(
    step: Step,
    *,
    device: str = "cpu",
    rewrite: bool = True,
    architecture: str = ARCHITECTURE,
    gpu_memory: int = GPU_MEMORY,
    progress: Callable[[str], None] = lambda text: None,
    elements: Callable[[StepGraph], dict[str, list[tuple[int | None, ...]]]] = lambda graph: {},
) -> StepGraph:
    """Trace a step as the executor of a device would run it. Nothing of the step is executed.

    Args:
        step: what to trace; its arguments may be specs, so that no data is needed.
        device: "cpu" or "gpu".
        rewrite: whether TensorFlow's graph rewrites (Grappler) are applied, as they are by default.
        architecture: the GPU's compute capability, such as "8.6": it decides layouts.
        gpu_memory: bytes that TensorFlow may take of the GPU's memory (virtual_cluster.cc): where Grappler thinks that
            the step needs more, it has tensors wait in host memory.
        progress: told what goes on, a few words each.
        elements: tells shapes of what comes out of lists that the graph so far lacks, by the op's name
            (`graphmem.runtime.element_shapes`).

    Returns:
        The graph; its `info` says what was traced: target, step, batch, facts, notes, versions, device, rewrites.

    Raises:
        TargetError: an argument has an open dimension.
        UserCodeError: the user's function raised while it was traced, or TensorFlow refuses it.
    """
    progress("tracing")
    function = step.function
    if isinstance(function, polymorphic_function.Function):
        function = function._clone(None)  # the user's own keeps its traces, and TensorFlow hands over only new ones
        function._jit_compile = None
    else:
        function = tf.function(function)
    inlined = legacy_rnn.inlined(step.notes) if device == "gpu" else contextlib.nullcontext()
    with scopes.watched(step.models) as seen, inlined, gpu_seen(device == "gpu"), step_errors(step.user_files):
        concrete = function.get_concrete_function(*step.args, **step.kwargs)
    progress("rewriting")
    executed, library = _executed(concrete, step, rewrite, (architecture, gpu_memory) if device == "gpu" else None)
    executed = prune.without_dead(executed, [op.name for op in concrete.graph.control_outputs])
    said = examine.examine(executed, device)
    progress("building the graph")
    arguments = variables.arguments(concrete)
    captured = variables.captured(concrete, step, seen)
    given = [argument.shape for argument in arguments] + [variable.shape for variable in captured]
    host = placement.memory_types if device == "gpu" else None
    told: dict[str, list[tuple[int | None, ...]]] = {}
    for _ in range(_ROUNDS):
        built = build.build(executed, shapes.infer(executed, given, concrete.graph, told), host)
        graph = merge.merge_equal(fold.fold_constants(built))
        if not (more := elements(graph)):
            break
        told |= more
    graph.arguments, graph.variables, graph.made = arguments, captured, variables.made(concrete)
    graph.kept_constants = kept_constants(concrete.graph.as_graph_def())
    _refer(graph)
    left = clusters.launch_clusters(graph, executed, library, progress) if device == "cpu" else []
    seen.ops = {op.name for op in concrete.graph.get_operations()}
    roles.assign(graph, seen, [getattr(optimizer, "name", "") for optimizer in step.optimizers])
    sources.assign(graph, concrete, step.user_files)
    graph.info = info_of(step, device, rewrite) | said
    graph.info["notes"] += left
    if device == "gpu":
        graph.info["architecture"] = architecture
    return graph


def _executed(concrete: Any, step: Step, rewrite: bool, gpu: tuple[str, int] | None) -> tuple[Any, Any]:
    """The GraphDef that the executor would get: of the CPU, or of a GPU of this architecture and memory; and the
    library of the functions that it calls."""
    inputs = _stand_ins(concrete, step)
    if gpu is None:
        with handover.rewrites(rewrite):
            handed = handover.handed_over(concrete, inputs)
            return calls.with_calls(handed, concrete.graph), handed.before.library
    from graphmem.trace.grappler import gpu_graph

    with handover.rewrites(False):
        handed = gpu_only.handed_over_for_gpu(concrete, inputs)
    controls = [op.name for op in concrete.graph.control_outputs]
    graph = gpu_graph(
        handed.executed, controls, architecture=gpu[0], memory_bytes=gpu[1], rewrite=rewrite, notes=step.notes
    )
    return graph, handed.before.library


def _stand_ins(concrete: Any, step: Step) -> list[Any]:
    """A tensor per input for a call that reads none: empty ones, and the user's own handles."""
    given = tf.nest.flatten((step.args, step.kwargs), expand_composites=True)
    handles = [item for item in given if isinstance(item, tf.Tensor) and item.dtype in (tf.resource, tf.variant)]
    count = len(concrete.inputs) - len(concrete.captured_inputs)
    made = []
    for tensor in concrete.inputs[:count]:
        if tensor.dtype in (tf.resource, tf.variant):
            if not handles:
                raise TargetError(f"input {tensor.op.name!r} is a {tensor.dtype.name} handle; pass the object itself.")
            made.append(handles.pop(0))
        elif tensor.dtype == tf.string:
            made.append(tf.constant([], tf.string))
        else:
            made.append(tf.zeros([0], tensor.dtype))
    return made


def _refer(graph: StepGraph) -> None:
    """Say on each `_Arg` op which variable or argument it holds."""
    inputs = len(graph.arguments)
    for op in graph.ops:
        if op.type == "_Arg":
            index = op.attrs["index"]
            op.attrs["_arg"] = ["argument", index] if index < inputs else ["variable", index - inputs]


def info_of(step: Step, device: str, rewrite: bool) -> dict[str, Any]:
    """What `StepGraph.info` says of a step: target, kind, batch, facts, notes, versions, device and rewrites."""
    from tensorflow.python.util import _pywrap_util_port

    on = bool(_pywrap_util_port.IsMklEnabled())
    versions = {"graphmem": __version__, "tensorflow": tf.__version__}
    if step.framework in ("keras", "tf_keras"):
        import importlib

        versions[step.framework] = importlib.import_module(step.framework).__version__
    return {
        "target": step.target,
        "step": step.kind,
        "batch": step.batch,
        "facts": dict(step.facts),
        "notes": list(step.notes),
        "versions": versions,
        "device": device,
        "rewrite": rewrite,
        "onednn": on,
        "lower_bound": legacy_rnn.NOTE in step.notes,
        "models": describe_layers(step.models).to_plain(),
    }
