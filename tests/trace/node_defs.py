"""GraphDefs from a few lines: `graph(node("x", "_Arg", T=FLOAT), node("y", "Relu", "x", T=FLOAT))`."""

from __future__ import annotations

from typing import Any

BOOL, FLOAT, HALF, INT32, INT64, RESOURCE, STRING, UINT64 = 10, 1, 19, 3, 9, 20, 7, 23
"""TensorFlow's numbers of element types."""


def node(name: str, op: str, *inputs: str, device: str = "", **attrs: Any) -> Any:
    """A NodeDef; an attribute is an int for a type, a list for a list of types, bytes, or `{"i": 3}` for the rest."""
    from tensorflow.core.framework import node_def_pb2

    made = node_def_pb2.NodeDef(name=name, op=op, input=inputs, device=device and f"/device:{device.upper()}:0")
    for key, value in attrs.items():
        attr = made.attr[key]
        if isinstance(value, bytes):
            attr.s = value
        elif isinstance(value, list):
            attr.list.type.extend(value)
        elif isinstance(value, dict):
            ((kind, plain),) = value.items()
            setattr(attr, kind, plain)
        else:
            attr.type = value
    return made


def graph(*nodes: Any) -> Any:
    """A GraphDef of these nodes."""
    from tensorflow.core.framework import graph_pb2

    return graph_pb2.GraphDef(node=nodes)


def variable(name: str, dtype: int) -> Any:
    """The argument that holds a variable's handle."""
    made = node(name, "_Arg", T=RESOURCE)
    made.attr["_handle_dtypes"].list.type.append(dtype)
    return made


def lines(graph_def: Any) -> list[str]:
    """A graph as text: `y = Relu(x) @gpu`, in its order."""
    return [f"{n.name} = {n.op}({', '.join(n.input)}) @{n.device[-5:-2].lower()}" for n in graph_def.node]
