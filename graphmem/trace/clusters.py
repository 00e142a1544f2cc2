"""What the functions that XLA compiles inside a step of the executor ask for while they run.

TensorFlow runs such a call, a `PartitionedCall` marked `_XlaMustCompile`, by the kernel of `XlaLaunch`: it asks for all
blocks of the compiled function at once, keeps those of its results, and frees the others when it is done. Where XLA
says what those are, the op becomes an `XlaLaunch` that knows; where it does not, the op stays as it is, unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from graphmem.errors import GraphmemError
from graphmem.graph.model import Op, StepGraph, Variable
from graphmem.ops.functions import BLOCKS
from graphmem.trace.calls import CALLS
from graphmem.trace.xla_clusters import Allocations, Cluster, allocations_of_clusters

_HANDS_ON = frozenset({"Enter", "Identity", "Merge", "Switch"})
_HANDS_ALL_ON = frozenset({"_Call", "IdentityN"})


def launch_clusters(
    graph: StepGraph, executed: Any, library: Any, progress: Callable[[str], None] = lambda text: None
) -> list[str]:
    """Make `XlaLaunch` ops of the calls that XLA compiles, as far as it says what they need.

    Costs a process in which XLA compiles them, if there are any.

    Args:
        graph: the step, its arguments and variables included; changed in place.
        executed: the GraphDef that it was built from.
        library: the `FunctionDefLibrary` of the functions that are called.
        progress: told what goes on, a few words each.

    Returns:
        Why calls were left as they are, a sentence each.
    """
    marked = {function.signature.name for function in library.function if "_XlaMustCompile" in function.attr}
    functions = {
        node.name: node.attr["f"].func.name
        for node in executed.node
        if node.op in CALLS and ("_XlaMustCompile" in node.attr or node.attr["f"].func.name in marked)
    }
    calls = [op for op in graph.ops if op.name in functions]
    if not calls:
        return []
    described = [_cluster(op, functions[op.name], graph) for op in calls]
    clusters = [cluster for cluster in described if cluster is not None]
    progress("compiling parts of the step with XLA")
    try:
        found = iter(allocations_of_clusters(clusters, library, progress=progress))
    except GraphmemError as error:
        return [f"what functions that XLA compiles take while they run is not counted: {str(error).rstrip('.')}"]
    unknown = 0
    for op, cluster in zip(calls, described, strict=True):
        known = None if cluster is None else next(found)
        if known is None:
            unknown += 1
        else:
            op.type, op.attrs[BLOCKS] = "XlaLaunch", _besides_outputs(op, known)
    if not unknown:
        return []
    count = f"{unknown} of the step's {len(calls)} calls"
    return [f"XLA, on its own, cannot compile {count} of functions with jit_compile=True: their values decide shapes"]


def _cluster(op: Op, function: str, graph: StepGraph) -> Cluster | None:
    """The call as XLA is told of it; `None` if a shape or the variable behind a handle is not known."""
    inputs = []
    for source, slot in op.inputs:
        tensor: Any = graph.ops[source].outputs[slot]
        handle = tensor.dtype == "resource"
        if handle:
            tensor = _variable(graph, source, slot)
        if tensor is None or tensor.shape is None or None in tensor.shape or tensor.dtype in ("variant", "string"):
            return None
        inputs.append((tensor.dtype, tuple(tensor.shape), handle))
    return Cluster(function, tuple(inputs))


def _variable(graph: StepGraph, source: int, slot: int) -> Variable | None:
    """The variable that an output is the handle of, through the ops that hand it into loops, branches and calls."""
    while True:
        op = graph.ops[source]
        kind, number = op.attrs.get("_arg", ("", -1))
        if kind == "variable":
            return graph.variables[number]
        if op.type in _HANDS_ON:
            source, slot = op.inputs[0]
        elif op.type in _HANDS_ALL_ON:
            source, slot = op.inputs[slot]
        else:
            return None


def _besides_outputs(op: Op, asked: Allocations) -> list[int]:
    """The blocks that are gone when the call is over: all but those that its outputs are in (bytes)."""
    results = Counter(asked.outputs)
    results.subtract(tensor.nbytes for tensor in op.outputs if tensor.nbytes)
    return [*asked.temp, *(+results).elements()]
