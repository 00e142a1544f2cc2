"""Numbers that bounds alone decide: `min(c, max(b, x))` is c, whatever x is, if b is no less.

`tf.math.bincount` with equal `minlength` and `maxlength` says so how long its result is, as Keras's layers for
categories do; shape inference reads constants only.
"""

from __future__ import annotations

from typing import Any

from tensorflow.python.framework import tensor_util

_BOUNDS = {"Minimum": "Maximum", "Maximum": "Minimum"}


def settle(graph_def: Any) -> None:
    """Turn such nodes into constants, in place."""
    nodes = {node.name: node for node in graph_def.node}
    for node in graph_def.node:
        if node.op not in _BOUNDS:
            continue
        outer, inner = _bound(node, nodes)
        if outer is None or inner is None or inner.op != _BOUNDS[node.op]:
            continue
        other, _ = _bound(inner, nodes)
        if other is None:
            continue
        limit, beyond = (tensor_util.MakeNdarray(one.attr["value"].tensor) for one in (outer, other))
        if limit.shape == beyond.shape == () and (beyond >= limit if node.op == "Minimum" else beyond <= limit):
            node.op = "Const"
            del node.input[:]
            node.attr["dtype"].type = node.attr["T"].type
            del node.attr["T"]
            node.attr["value"].tensor.CopyFrom(outer.attr["value"].tensor)


def _bound(node: Any, nodes: dict[str, Any]) -> tuple[Any, Any]:
    """The constant among a node's two inputs and the other; `None` for what is not there."""
    inputs = [nodes.get(name.partition(":")[0]) for name in node.input if not name.startswith("^")]
    constants = [one for one in inputs if one is not None and one.op == "Const"]
    others = [one for one in inputs if one is not None and one.op != "Const"]
    return (constants or [None])[0], (others or [None])[0]
