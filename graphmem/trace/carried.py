"""What loops carry round: unchanged, so that it has in every iteration the value with which the loop began, or not."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from graphmem.trace.noted import Shape

_HANDED_ON = ("Identity", "Switch", "Enter", "Exit", "NextIteration")


def changing(graph: Any) -> set[str]:
    """Names of the loops' `Merge` nodes whose value may be another in each iteration."""
    nodes = {node.name: node for node in graph.node}
    forward, back = _sources(graph, nodes)
    found: set[str] = set()

    def comes_round(merge: str) -> bool:
        name = back[merge]
        while name != merge:
            if nodes[name].op in _HANDED_ON:
                name = nodes[name].input[0].partition(":")[0]
            elif name in back and name not in found:  # a loop inside
                name = forward[name]
            else:
                return False
        return True

    while more := {merge for merge in back if merge not in found and not comes_round(merge)}:
        found |= more
    return found


def _sources(graph: Any, nodes: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Name of a `Merge` -> what it reads when the loop begins, and what comes round; of a branch's only the first."""
    forward: dict[str, str] = {}
    back: dict[str, str] = {}
    for node in graph.node:
        if node.op == "Merge":
            for source in (name.partition(":")[0] for name in node.input if name[0] != "^"):
                (back if nodes[source].op == "NextIteration" else forward)[node.name] = source
    return forward, back


def rounds(graph: Any) -> dict[str, str]:
    """Names of the loops' `Merge` nodes -> those of the nodes whose output comes round to them."""
    return _sources(graph, {node.name: node for node in graph.node})[1]


def open_up(graph: Any, found: dict[str, list[tuple[str, Shape]]], coming: dict[str, str]) -> bool:
    """Take dimensions as open that are not in the next iteration what they were at the loop's beginning.

    Args:
        graph: changed in place: such a `Merge` becomes an op of an open shape.
        found: (dtype, shape) of each output, by node.
        coming: see `rounds`.

    Returns:
        Whether any is new.
    """
    new = False
    for node in graph.node if coming else ():
        if node.name not in coming:
            continue
        here, there = found[node.name][0][1], found[coming[node.name]][0][1]
        if here is None or there is None:
            continue
        shape: Shape = None
        if len(here) == len(there):
            pairs = list(zip(here, there, strict=True))
            shape = tuple(None if None not in (one, other) and one != other else one for one, other in pairs)
        if shape != here:
            kind = node.attr["dtype" if "dtype" in node.attr else "T"].type
            node.op = "PlaceholderWithDefault"
            node.attr.clear()
            node.attr["dtype"].type = kind
            node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
            new = True
    return new
