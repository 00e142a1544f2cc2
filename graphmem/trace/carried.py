"""What loops carry round unchanged: nothing else has in every iteration the value with which the loop began."""

from __future__ import annotations

from typing import Any

_HANDED_ON = ("Identity", "Switch", "Enter", "Exit", "NextIteration")


def changing(graph: Any) -> set[str]:
    """Names of the loops' `Merge` nodes whose value may be another in each iteration."""
    nodes = {node.name: node for node in graph.node}
    forward: dict[str, str] = {}
    back: dict[str, str] = {}
    for node in graph.node:
        if node.op == "Merge":
            for source in (name.partition(":")[0] for name in node.input if name[0] != "^"):
                (back if nodes[source].op == "NextIteration" else forward)[node.name] = source
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
