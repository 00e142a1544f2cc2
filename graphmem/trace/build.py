"""From the GraphDef that would be executed to a `StepGraph`: indices, sizes, the attributes that memory rules read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import dtypes, tensor_util

from graphmem.graph.model import Op, StepGraph, Tensor, tensor_bytes
from graphmem.trace.merge import SIGNATURE, signature
from graphmem.trace.shapes import Shape
from graphmem.trace.splice import RAN_AS

#: A constant of at most this many elements keeps its value: axes, permutations, loop bounds.
SMALL_CONSTANT = 64

#: Attributes that no rule reads; those that start with "_" are TensorFlow's own marks.
_IGNORED = frozenset({"T", "dtype", "Tidx", "Tshape", "value", "container", "shared_name"})

MemoryTypes = Callable[[Any], "tuple[tuple[bool, ...], tuple[bool, ...]]"]


def build(graph_def: Any, shapes: dict[str, list[tuple[str, Shape]]], host: MemoryTypes | None = None) -> StepGraph:
    """Build the ops of a step; `_Arg` ops keep their index in attrs["index"], roles and names come later.

    Args:
        graph_def: the executed graph, in the order that TensorFlow made it.
        shapes: (dtype, shape) of each output, by node name (`graphmem.trace.shapes.infer`).
        host: on a GPU, (inputs, outputs) of a node that live in host memory; `None`: everything is on the host.

    Returns:
        A graph whose ops are in the order of `graph_def`.
    """
    nodes = list(graph_def.node)
    index = {node.name: position for position, node in enumerate(nodes)}
    sizes: dict[tuple[str, Shape], int | None] = {}
    values: dict[int, Any] = {}
    ops: list[Op] = []
    for position, node in enumerate(nodes):
        inputs: list[tuple[int, int]] = []
        controls: list[int] = []
        for name in node.input:
            if name[0] == "^":
                controls.append(index[name[1:]])
                continue
            producer, _, slot = name.partition(":")
            inputs.append((index[producer], int(slot) if slot else 0))
        on_host = host(node)[1] if host else ()
        outputs = []
        for slot_index, key in enumerate(shapes[node.name]):
            if key in sizes:
                nbytes = sizes[key]
            else:
                nbytes = sizes[key] = tensor_bytes(*key)
            is_host = on_host[slot_index] if slot_index < len(on_host) else False
            outputs.append(Tensor(key[0], key[1], nbytes, is_host))
        attrs = _plain_attrs(node)
        if node.op == "Const":
            value = _small_value(node, outputs[0])
            if value is not None:
                values[position] = attrs["_value"] = value
        if (found := signature(node)) is not None:
            attrs[SIGNATURE] = found
        if RAN_AS in node.attr:
            attrs[RAN_AS] = node.attr[RAN_AS].s.decode()
        device = "gpu" if "GPU" in node.device else "cpu"
        ops.append(
            Op(
                node.name,
                node.op,
                tuple(inputs),
                tuple(controls),
                tuple(outputs),
                attrs,
                phase="forward",
                device=device,
            )
        )
    _attach_constants(ops, values)
    return StepGraph(ops)


def _attach_constants(ops: list[Op], values: dict[int, Any]) -> None:
    """Give each op the values of its small constant inputs, as formulas need axes, begins and permutations."""
    for op in ops:
        known = {position: values[source] for position, (source, _) in enumerate(op.inputs) if source in values}
        if known:
            op.attrs["_const_inputs"] = {str(position): value for position, value in known.items()}


def _small_value(node: Any, tensor: Tensor) -> Any:
    """A small integer, boolean or scalar constant as nested lists, else `None`."""
    proto = node.attr["value"].tensor
    count = 1
    for dim in proto.tensor_shape.dim:
        count *= dim.size
    integral = tensor.dtype.startswith(("int", "uint", "bool"))
    if count > (SMALL_CONSTANT if integral else 1) or not (integral or tensor.dtype.startswith("float")):
        return None
    return tensor_util.MakeNdarray(proto).tolist()


def _plain_attrs(node: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, value in node.attr.items():
        if key[0] == "_" or key in _IGNORED:
            continue
        kind = value.WhichOneof("value")
        if kind in ("i", "f", "b"):
            plain[key] = getattr(value, kind)
        elif kind == "s":
            plain[key] = value.s.decode("utf-8", "replace")
        elif kind == "type":
            plain[key] = _dtype_name(value.type)
        elif kind == "list":
            plain[key] = _plain_list(value.list)
        elif kind == "shape":
            plain[key] = _plain_shape(value.shape)
        elif kind == "func":
            plain[key] = value.func.name
    return plain


def _plain_list(items: Any) -> list[Any]:
    if items.i:
        return list(items.i)
    if items.s:
        return [text.decode("utf-8", "replace") for text in items.s]
    if items.type:
        return [_dtype_name(item) for item in items.type]
    if items.shape:
        return [_plain_shape(item) for item in items.shape]
    return list(items.f) or list(items.b)


def _plain_shape(shape: Any) -> list[int | None] | None:
    if shape.unknown_rank:
        return None
    return [None if dim.size < 0 else dim.size for dim in shape.dim]


def _dtype_name(number: int) -> str:
    return dtypes.as_dtype(number).base_dtype.name if number != types_pb2.DT_INVALID else "invalid"
