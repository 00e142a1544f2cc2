"""Nodes that never run: TensorFlow drops them from a function's body before it makes the executor.

What stays is what an effect, a result or control flow depends on (`PruneFunctionGraph`, function.cc): ops that are
stateful, `_Retval` among them, control flow ops, and the function's control outputs, with all that they need. Inputs
that nobody needs go too, though they are stateful.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework import op_def_registry

_CONTROL_FLOW = frozenset(
    f"{prefix}{name}"
    for name in ("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond")
    for prefix in ("", "Ref")
) | {"_SwitchN", "ControlTrigger"}


def without_dead(graph: Any, control_outputs: Iterable[str]) -> Any:
    """The GraphDef without the nodes that never run; `_Arg` nodes all stay, as they tell what the step is given.

    Args:
        graph: the executed graph.
        control_outputs: names of nodes that run for their effect.
    """
    nodes = {node.name: node for node in graph.node}
    wanted = set(control_outputs)
    stack = [name for name, node in nodes.items() if name in wanted or _has_effect(node)]
    alive = set(stack)
    while stack:
        for source in nodes[stack.pop()].input:
            name = source.lstrip("^").partition(":")[0]
            if name in nodes and name not in alive:
                alive.add(name)
                stack.append(name)
    kept = [node for node in graph.node if node.name in alive or node.op == "_Arg"]
    if len(kept) == len(nodes):
        return graph
    pruned = graph_pb2.GraphDef(versions=graph.versions, library=graph.library)
    pruned.node.extend(kept)
    return pruned


def _has_effect(node: Any) -> bool:
    """Whether a node runs for its own sake; one of no known op does."""
    if node.op in _CONTROL_FLOW:
        return True
    definition = op_def_registry.get(node.op)
    return definition is None or (definition.is_stateful and node.op != "_Arg")
