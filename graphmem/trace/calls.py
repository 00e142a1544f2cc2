"""Functions that TensorFlow calls rather than inlines, put in the place of their calls.

A `PartitionedCall` that is left in an executed graph runs a function with an executor of its own: what TensorFlow would
execute there is had as for the step itself. In the graph `_Call` hands the arguments in, and `_Return`, which takes the
call's place, the results out. It reads the arguments as well: the call holds them until the function has returned.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import function_pb2, graph_pb2, node_def_pb2
from tensorflow.python.eager import context

from graphmem.trace.handover import Handed, hand_over

CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
CALL, RETURN = "_Call", "_Return"

_numbers = itertools.count()


def with_calls(handed: Handed, traced: Any = None) -> graph_pb2.GraphDef:
    """The executed graph with the bodies of the functions that it calls, as far as TensorFlow has them at hand.

    A call that XLA compiles stays as it is, and so does one whose function cannot be found.

    Args:
        handed: what TensorFlow made of a function.
        traced: the graph of that function as it was traced: it knows values of arguments that TensorFlow folds.
    """
    graph = handed.executed
    if not any(node.op in CALLS for node in graph.node):
        return graph
    library = {function.signature.name: function for function in handed.before.library.function}
    before = {node.name: node for node in handed.before.node}
    reads = _slots_read(handed.before)
    made = graph_pb2.GraphDef()
    made.versions.CopyFrom(graph.versions)
    for node in graph.node:
        function = library.get(_plain_name(node.attr["f"].func.name)) if node.op in CALLS else None
        if function is None or "_XlaMustCompile" in node.attr or "_XlaMustCompile" in function.attr:
            made.node.add().CopyFrom(node)
            continue
        body = _fitted(function, node, before, reads.get(node.name, ()), traced)
        if body is None:
            made.node.add().CopyFrom(node)
        else:
            made.node.extend(_spliced(node, with_calls(_instantiated(body, library))))
    return made


def _plain_name(name: str) -> str:
    """The name of the function that Grappler specialised, for this call, under another name."""
    return re.sub(r"_specialized_for_.*$", "", name)


def _fitted(
    function: Any, node: Any, before: dict[str, Any], read: Collection[int], traced: Any
) -> function_pb2.FunctionDef | None:
    """A function with just the results and arguments that a call has; `None` if they do not fit.

    Grappler specialises a function for its call: results that nobody reads are gone, arguments that are constants are
    constants of the function's own.

    Args:
        before: the nodes before that.
        read: the results that are read.
        traced: the graph of the function around it.
    """
    body = function_pb2.FunctionDef()
    body.CopyFrom(function)
    body.signature.name = f"{function.signature.name}_graphmem_{next(_numbers)}"
    results = list(body.signature.output_arg)
    if len(node.attr["Tout"].list.type) != len(results):
        results = [result for slot, result in enumerate(results) if slot in read]
        names = {result.name for result in results}
        del body.signature.output_arg[:]
        body.signature.output_arg.extend(results)
        for name in set(body.ret) - names:
            del body.ret[name]
    missing = len(body.signature.input_arg) - len(node.attr["Tin"].list.type)
    if missing and node.name in before:
        sources = [source for source in before[node.name].input if source[0] != "^"]
        constants = {place: _constant(before, source, traced) for place, source in enumerate(sources)}
        known = {place: constant for place, constant in constants.items() if constant is not None}
        if len(known) != missing:
            return None
        _make_constant(body, known)
    fits = len(body.signature.output_arg) == len(node.attr["Tout"].list.type)
    return body if fits and len(body.signature.input_arg) == len(node.attr["Tin"].list.type) else None


def _constant(before: dict[str, Any], source: str, traced: Any) -> Any:
    """The `Const` node that an argument is before or after folding; `None` if it is none."""
    node = before[source.partition(":")[0]]
    if node.op == "Const":
        return node
    try:
        tensor = traced.get_tensor_by_name(source if ":" in source else f"{source}:0")
    except (AttributeError, KeyError):
        return None  # of a function that was inlined
    value = tf.get_static_value(tensor)
    if value is None:
        return None
    made = node_def_pb2.NodeDef(op="Const")
    made.attr["dtype"].type = tensor.dtype.as_datatype_enum
    made.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value, tensor.dtype))
    return made


def _make_constant(body: Any, constants: dict[int, Any]) -> None:
    """Turn arguments of a function into constants inside it."""
    arguments = list(body.signature.input_arg)
    attributes = {place: body.arg_attr[place] for place in list(body.arg_attr)}
    kept = [place for place in range(len(arguments)) if place not in constants]
    del body.signature.input_arg[:]
    body.signature.input_arg.extend(arguments[place] for place in kept)
    body.arg_attr.clear()
    for number, place in enumerate(kept):
        if place in attributes:
            body.arg_attr[number].CopyFrom(attributes[place])
    renamed = {}
    for place, constant in constants.items():
        name = arguments[place].name
        made = body.node_def.add()
        made.CopyFrom(constant)
        made.name = f"{name}_constant"
        del made.input[:]
        renamed[name] = f"{made.name}:output:0"
    for inner in body.node_def:
        for place, source in enumerate(inner.input):
            inner.input[place] = renamed.get(source, source)
    for name in body.ret:
        body.ret[name] = renamed.get(body.ret[name], body.ret[name])


def _slots_read(graph: Any) -> dict[str, set[int]]:
    """Node name -> which of its outputs some node reads."""
    found: dict[str, set[int]] = {}
    for node in graph.node:
        for source in node.input:
            if source[0] != "^":
                name, _, slot = source.partition(":")
                found.setdefault(name, set()).add(int(slot or 0))
    return found


def _instantiated(body: Any, library: dict[str, Any]) -> Handed:
    """What TensorFlow would execute of a function."""
    ctx = context.context()
    for name, function in library.items():
        if not ctx.has_function(name):
            ctx.add_function_def(function)
    ctx.add_function_def(body)
    name = body.signature.name
    try:
        inputs = [_stand_in(argument.type) for argument in body.signature.input_arg]
        results = len(body.signature.output_arg)
        return hand_over(lambda: ctx.call_function(name.encode(), inputs, results), len(inputs))
    finally:
        ctx.remove_function(name)


def _stand_in(dtype: int) -> Any:
    kind = tf.as_dtype(dtype)
    if kind == tf.resource:
        return tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="graphmem_stand_in")
    if kind == tf.variant:
        return tf.raw_ops.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=tf.float32)
    return tf.constant([], tf.string) if kind == tf.string else tf.zeros([0], kind)


def _spliced(call: Any, body: Any) -> Iterator[Any]:
    """The nodes that take the place of a call."""
    prefix = f"{call.name}/"
    given = [name for name in call.input if name[0] != "^"]
    entry = node_def_pb2.NodeDef(name=f"{prefix}call", op=CALL, device=call.device)
    entry.input.extend(call.input)
    entry.attr["T"].list.type.extend(call.attr["Tin"].list.type)
    yield entry
    renamed: dict[str, str] = {}
    results: dict[int, str] = {}
    for node in body.node:
        if node.op == "_Arg":
            number = node.attr["index"].i
            renamed[node.name] = f"{entry.name}:{number}" if number else entry.name
        else:
            renamed[node.name] = prefix + node.name
    reads = {source.lstrip("^").partition(":")[0] for node in body.node for source in node.input}
    waits = []
    for node in body.node:
        if node.op == "_Arg":
            continue
        if node.op == "_Retval":
            results[node.attr["index"].i] = _moved(node.input[0], renamed)
            continue
        inner = node_def_pb2.NodeDef()
        inner.CopyFrom(node)
        inner.name = prefix + node.name
        del inner.input[:]
        inner.input.extend(_moved(source, renamed) for source in node.input)
        if not inner.input:
            inner.input.append(f"^{entry.name}")
        if node.name not in reads:
            waits.append(f"^{inner.name}")
        yield inner
    end = node_def_pb2.NodeDef(name=call.name, op=RETURN, device=call.device)
    end.input.extend(results[index] for index in sorted(results))
    end.input.extend(f"{entry.name}:{number}" for number in range(len(given)))
    end.input.extend(waits or [f"^{entry.name}"])
    end.attr["T"].list.type.extend(call.attr["Tout"].list.type)
    yield end


def _moved(source: str, renamed: dict[str, str]) -> str:
    """An input of a body's node by the names in the graph around it."""
    control, plain = source[0] == "^", source.lstrip("^")
    name, _, slot = plain.partition(":")
    moved = renamed[name]
    if control:
        return "^" + moved.partition(":")[0]
    return moved if not slot or ":" in moved else f"{moved}:{slot}"
