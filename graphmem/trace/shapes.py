"""Static shapes of an executed graph, inferred by TensorFlow's own shape functions in C++.

A graph handed over after optimisation carries no shapes. It is imported once more, slightly changed so that every
shape function has what it needs:

* an `_Arg` that holds a variable's handle becomes a `VarHandleOp` of the shape noted on the `_Arg`;
* any other `_Arg` becomes a `Placeholder` of the argument's shape;
* the loop's `Merge` reads its `Enter` side alone, which cuts the cycle: TensorFlow's while loops keep the shape of what
  they carry, save where shape invariants say otherwise: dimensions that are seen to change are open. It becomes an
  `Identity`, unless the loop changes the value: the first iteration's must not be taken for that of all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import graph_pb2, types_pb2
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.framework import c_api_util
from tensorflow.python.framework.ops import Operation
from tensorflow.python.util import _pywrap_util_port

from graphmem.errors import InternalError, TargetError
from graphmem.trace import carried, clamps, crosses, elements
from graphmem.trace.noted import Shape, note
from graphmem.trace.placement import COPY
from graphmem.trace.splice import CALL, RETURN

#: They say of what shape is what they refer to, which a `Merge` forgets.
_HANDLES = (types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT)

#: So often what an object holds is looked up again, as what one holds may come out of another.
_ROUNDS = 4


def infer(
    graph_def: Any,
    argument_shapes: list[Shape],
    traced: Any = None,
    told: Mapping[str, Sequence[tuple[int | None, ...]]] | None = None,
) -> dict[str, list[tuple[str, Shape]]]:
    """(dtype, shape) of each output of each node of a GraphDef.

    Args:
        graph_def: the executed graph.
        argument_shapes: shapes of the step's inputs and captures, by the `index` of their `_Arg` node.
        traced: the FuncGraph that was traced: it knows the shapes of calls that TensorFlow does not inline.
        told: node name -> shapes of its outputs, where they are known from elsewhere.

    Returns:
        node name -> one (TensorFlow dtype name, shape) per output; unknown dimensions are `None`.
    """
    changed = _with_known_sources(graph_def, argument_shapes)
    if traced is not None:
        _take_traced([node for node in changed.node if node.op in _TOLD or _is_call(node.op)], traced)
    for node in changed.node:
        if told and node.name in told:
            note(node, told[node.name])
    found = _inferred(changed)
    if traced is not None and _take_traced([node for node in changed.node if _of_no_rank(found[node.name])], traced):
        found = _inferred(changed)
    coming = carried.rounds(graph_def)
    for _ in range(_ROUNDS):
        if not elements.tell(changed, found) | crosses.tell(changed, found) | carried.open_up(changed, found, coming):
            break
        found = _inferred(changed)
    return found


def _inferred(graph_def: Any) -> dict[str, list[tuple[str, Shape]]]:
    graph = tf.Graph()
    _import(graph, graph_def)
    names: dict[Any, str] = {}
    found: dict[str, list[tuple[str, Shape]]] = {}
    for c_op in graph.new_operations():  # not all that `tf.Graph` makes of an op is needed here
        op = Operation._from_c_op(c_op=c_op, g=graph)
        outputs: list[tuple[str, Shape]] = []
        for tensor in op.outputs:
            dtype = tensor.dtype
            name = names.get(dtype)
            if name is None:
                name = names[dtype] = dtype.base_dtype.name
            shape = tensor.shape
            outputs.append((name, None if shape.rank is None else tuple(shape)))
        found[op.name] = outputs
    return found


def _import(graph: Any, graph_def: Any) -> None:
    """Import through the C API: `tf.import_graph_def` does per-node work in Python that nothing here needs."""
    with c_api_util.tf_buffer(graph_def.SerializeToString()) as serialized:
        options = c_api.TF_NewImportGraphDefOptions()
        try:
            c_api.TF_ImportGraphDefOptionsSetValidateColocationConstraints(options, False)
            with graph._c_graph.get() as c_graph:
                results = c_api.TF_GraphImportGraphDefWithResults(c_graph, serialized, options)
            c_api.TF_DeleteImportGraphDefResults(results)
        except tf.errors.InvalidArgumentError as error:
            if not _pywrap_util_port.IsMklEnabled():
                raise InternalError(f"TensorFlow does not take its own graph back: {error.message[:300]}") from error
            raise TargetError(
                "with oneDNN on, TensorFlow fuses ops of this step in a way that graphmem cannot read; set "
                "TF_ENABLE_ONEDNN_OPTS=0 before TensorFlow is imported."
            ) from error
        finally:
            c_api.TF_DeleteImportGraphDefOptions(options)


def _with_known_sources(graph_def: Any, argument_shapes: list[Shape]) -> Any:
    changed = graph_pb2.GraphDef()
    changed.CopyFrom(graph_def)
    _read_at_source(changed)
    _skip_branches(changed)
    clamps.settle(changed)
    next_iterations = {node.name for node in changed.node if node.op == "NextIteration"}
    numbers = carried.changing(changed) if next_iterations else ()
    for node in changed.node:
        if node.op == "_Arg":
            position = node.attr["index"].i
            _replace_argument(node, argument_shapes[position] if position < len(argument_shapes) else None)
        elif node.op == "Merge" and next_iterations:
            data = [name for name in node.input if not name.startswith("^")]
            forward = [name for name in data if name.partition(":")[0] not in next_iterations]
            if len(forward) < len(data):
                del node.input[:]
                node.input.append(forward[0])
                if node.name in numbers and node.attr["T"].type not in _HANDLES:
                    node.attr["N"].i = 1
                else:
                    node.op = "Identity"
                    del node.attr["N"]
        elif node.op in ("Enter", "Exit"):
            node.op = "Identity"
        elif node.op == COPY:
            node.op = "Identity"
            del node.attr["to"]
        elif node.op in (CALL, RETURN):
            data = [name for name in node.input if name[0] != "^"][: len(node.attr["T"].list.type)]
            controls = [name for name in node.input if name[0] == "^"]
            node.op = "IdentityN" if data else "NoOp"
            del node.input[:]
            node.input.extend([*data, *controls])
            if not data:
                del node.attr["T"]
    return changed


def _read_at_source(graph_def: Any) -> None:
    """Have what calls and switches hand on read where it comes from: handles keep shapes, and constants values."""
    switches = [node for node in graph_def.node if node.op == "Switch"]
    handed = {f"{node.name}{slot}": node.input[0] for node in switches for slot in ("", ":1")}
    handed |= {
        f"{node.name}:{slot}" if slot else node.name: source
        for node in graph_def.node
        if node.op in (CALL, RETURN)
        for slot, source in enumerate([name for name in node.input if name[0] != "^"][: len(node.attr["T"].list.type)])
    }
    for node in graph_def.node if handed else ():
        for place, source in enumerate(node.input):
            while source in handed:
                source = handed[source]
            node.input[place] = source


def _skip_branches(graph_def: Any) -> None:
    """Have what is handed into branches read where it comes from: a `Switch` hides that it is a constant."""
    loops = {node.name for node in graph_def.node if node.op == "LoopCond"}
    handed: dict[str, str] = {}
    for node in graph_def.node:
        if node.op in ("Switch", "_SwitchN") and node.input[1].partition(":")[0] not in loops:
            sides = node.attr["num_outs"].i if node.op == "_SwitchN" else 2
            handed |= {f"{node.name}:{side}" if side else node.name: node.input[0] for side in range(sides)}
    for node in graph_def.node if handed else ():
        for place, source in enumerate(node.input):
            while source in handed:
                source = handed[source]
            node.input[place] = source


def _of_no_rank(outputs: list[tuple[str, Shape]]) -> bool:
    """Whether nothing is known of an op's outputs. What has a rank may be in another order than when it was traced."""
    return bool(outputs) and all(shape is None for _, shape in outputs)


def _take_traced(nodes: Iterable[Any], traced: Any) -> bool:
    """Note what the traced graph knows of nodes; the importer takes that as shapes. Returns whether it knows any.

    Shape functions cannot tell what a call returns, how long a list is, or what a list or a table holds; the Python
    code that made it often said so (`set_shape`).
    """
    wanted = {_as_traced(node.name): node for node in nodes}
    new = False
    for name, op in _ops_below(traced, "") if wanted else ():
        node = wanted.get(name)
        if node is not None and node.op == op.type and _same_call(node, op):
            note(node, [tensor.shape for tensor in op.outputs])
            new |= any(tensor.shape.rank is not None for tensor in op.outputs)
    return new


#: Ops whose shape functions often know less than the code that made them.
_TOLD = frozenset(
    {"TensorListStack", "TensorListPopBack", "TensorListGetItem", "TensorListConcatV2", "TensorListGather"}
)
#: Functions that an op runs when TensorFlow lowers it: attribute -> what the names of their ops then begin with.
_LOWERED = {"body": "body", "cond": "cond", "then_branch": "then", "else_branch": "else"}
_NUMBER = re.compile(r"(/(?:body|cond|then|else|branch\d+))/_\d+(?=/)")


def _as_traced(name: str) -> str:
    """A node's name without the numbers that lowering puts into it."""
    return _NUMBER.sub(r"\1", name)


def _is_call(op_type: str) -> bool:
    return op_type in ("PartitionedCall", "StatefulPartitionedCall")


def _same_call(node: Any, op: Any) -> bool:
    """Whether a call is still that of the traced graph: the gradient's forward function may have taken its name."""
    return not _is_call(node.op) or [str(t.dtype.as_datatype_enum) for t in op.outputs] == [
        str(kind) for kind in node.attr["Tout"].list.type
    ]


def _ops_below(graph: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """The ops of a graph and of the functions that it calls, under the names they have once those are inlined."""
    for op in graph.get_operations():
        yield prefix + op.name, op
        for label, function in _functions(op):
            inner = getattr(graph._functions.get(function), "graph", None)
            if inner is not None:
                yield from _ops_below(inner, f"{prefix}{op.name}/{label}")


def _functions(op: Any) -> Iterator[tuple[str, str]]:
    """(what the names of its ops begin with once inlined, name) of each function that an op runs."""
    if _is_call(op.type):
        yield "", op.get_attr("f").name
    elif op.type in ("While", "StatelessWhile", "If", "StatelessIf"):
        for attribute, label in _LOWERED.items():
            if attribute in op.node_def.attr:
                yield f"{label}/", op.get_attr(attribute).name
    elif op.type in ("Case", "StatelessCase"):
        for number, branch in enumerate(op.get_attr("branches")):
            yield f"branch{number}/", branch.name


def _replace_argument(node: Any, shape: Shape) -> None:
    attrs = node.attr
    dtype = attrs["T"].type
    if dtype == types_pb2.DT_RESOURCE and attrs["_handle_shapes"].list.shape and attrs["_handle_dtypes"].list.type:
        node.op = "VarHandleOp"
        attrs["shape"].shape.CopyFrom(attrs["_handle_shapes"].list.shape[0])
        attrs["dtype"].type = attrs["_handle_dtypes"].list.type[0]
    else:
        node.op = "Placeholder"
        attrs["dtype"].type = dtype
        attrs["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
    for name in [key for key in attrs if key.startswith("_") or key in ("T", "index")]:
        del attrs[name]
