"""Which nodes of a GraphDef lie inside a loop or a branch: they run more than once, or maybe never."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_Around = tuple[str, ...]
"""The frames and predicates that a node is inside of, from the outermost in."""


def at_top(graph: Any) -> set[str]:
    """Names of the nodes that run exactly once whenever the graph runs."""
    around: dict[str, _Around] = {}
    frames = {node.attr["frame_name"].s.decode() for node in graph.node if node.op == "Enter"}
    for node in _in_order(graph):
        sources = [source.lstrip("^").partition(":")[0] for source in node.input]
        inside = max((around[source] for source in sources if source in around), key=len, default=())
        if node.op == "Enter":
            inside = (*inside, node.attr["frame_name"].s.decode())
        elif node.op in ("Switch", "_SwitchN"):
            inside = (*inside, node.input[1])
        elif node.op == "Exit":
            inside = inside[: max(place for place, name in enumerate(inside) if name in frames)]
        elif node.op == "Merge" and all(source in around for source in sources):  # of a branch: a loop goes round
            inside = inside[:-1]
        around[node.name] = inside
    return {name for name, inside in around.items() if not inside}


def _in_order(graph: Any) -> Iterator[Any]:
    """The nodes, each after all that it reads; a loop's `Merge` does not wait for what goes round."""
    nodes = {node.name: node for node in graph.node}
    readers: dict[str, list[str]] = {}
    waiting: dict[str, int] = {}
    for node in graph.node:
        sources = [source.lstrip("^").partition(":")[0] for source in node.input]
        if node.op == "Merge":
            sources = [source for source in sources if nodes[source].op != "NextIteration"]
        waiting[node.name] = len(sources)
        for source in sources:
            readers.setdefault(source, []).append(node.name)
    ready = [name for name, count in waiting.items() if not count]
    while ready:
        name = ready.pop()
        yield nodes[name]
        for reader in readers.get(name, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
