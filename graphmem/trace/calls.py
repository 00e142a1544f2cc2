"""Functions that TensorFlow calls rather than inlines, put in the place of their calls.

A `PartitionedCall`, `While`, `If`, `Case` or `ReduceDataset` that is left in an executed graph runs functions with
executors of their own: what TensorFlow would execute there is had as for the step itself.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import function_pb2, graph_pb2, node_def_pb2, types_pb2
from tensorflow.python.eager import context

from graphmem.trace import datasets, splice
from graphmem.trace.handover import Handed, hand_over, rewrites

CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
LOOPS = frozenset({"While", "StatelessWhile"})
BRANCHES = frozenset({"If", "StatelessIf"}) | splice.CASES
DATASETS = frozenset({"ReduceDataset"})

_numbers = itertools.count()


def with_calls(handed: Handed, traced: Any = None) -> graph_pb2.GraphDef:
    """The executed graph with the bodies of the functions that it calls, as far as TensorFlow has them at hand.

    A call that XLA compiles stays as it is, and so does one whose function cannot be found.

    Args:
        handed: what TensorFlow made of a function.
        traced: the graph of that function as it was traced: it knows values of arguments that TensorFlow folds.
    """
    graph = handed.executed
    if not any(node.op in CALLS | LOOPS | BRANCHES | DATASETS for node in graph.node):
        return graph
    library = {function.signature.name: function for function in handed.before.library.function}
    before = {node.name: node for node in handed.before.node}
    around = {node.name: node for node in graph.node}
    reads = _slots_read(handed.before)
    made = graph_pb2.GraphDef()
    made.versions.CopyFrom(graph.versions)
    for node in graph.node:
        if node.op in CALLS:
            function = _found(node, node.attr["f"].func, library)
            body = function and _fitted(function, node, before, reads.get(node.name, ()), traced)
            nodes = body and splice.called(node, _instantiated(body, library))
        elif node.op in LOOPS:
            nodes = _with_functions(splice.repeated, node, [node.attr["cond"].func, node.attr["body"].func], library)
        elif node.op in splice.CASES:
            nodes = _with_functions(splice.branched, node, list(node.attr["branches"].list.func), library)
        elif node.op in BRANCHES and _is_bool(node):
            either = [node.attr["then_branch"].func, node.attr["else_branch"].func]
            nodes = _with_functions(splice.branched, node, either, library)
        elif node.op in DATASETS:
            nodes = datasets.unrolled(node, around, functools.partial(_run_by, library))
        else:
            nodes = None
        made.node.extend([node] if nodes is None else nodes)
    return made


def _run_by(library: dict[str, Any], node: Any, attribute: str) -> tuple[Any, Any] | None:
    """The function that a dataset's kernel runs, and what TensorFlow executes of it; `None` if it cannot be found."""
    function = _found(node, node.attr[attribute].func, library)
    if function is None:
        return None
    with rewrites(False, () if node.op in DATASETS else datasets.REWRITES):
        return function, _instantiated(_renamed(function), library)


def _with_functions(
    place: Callable[..., Iterator[Any]], node: Any, run: list[Any], library: dict[str, Any]
) -> Iterator[Any] | None:
    """The nodes for an op that runs several functions; `None` if one cannot be found."""
    functions = [_found(node, function, library) for function in run]
    if None in functions or not node.input:
        return None
    with rewrites(False):  # the kernels of these ops do without
        graphs = [_instantiated(_renamed(function), library) for function in functions]
    return place(node, *graphs)


def _is_bool(node: Any) -> bool:
    return bool(node.attr["Tcond"].type == types_pb2.DT_BOOL)


def _found(node: Any, run: Any, library: dict[str, Any]) -> Any:
    """A function that an op runs, named in an attribute; `None` if it is not at hand, or XLA compiles it."""
    function = library.get(_plain_name(run.name))
    compiled = function is not None and ("_XlaMustCompile" in node.attr or "_XlaMustCompile" in function.attr)
    return None if compiled else function


def _renamed(function: Any) -> Any:
    """A copy of a function under a name that TensorFlow has not met: it hands a graph over only then."""
    body = function_pb2.FunctionDef()
    body.CopyFrom(function)
    body.signature.name = f"{function.signature.name}_graphmem_{next(_numbers)}"
    return body


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
    body = _renamed(function)
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


def _instantiated(body: Any, library: dict[str, Any]) -> graph_pb2.GraphDef:
    """What TensorFlow would execute of a function, and of those that it calls."""
    ctx = context.context()
    for name, function in library.items():
        if not ctx.has_function(name):
            ctx.add_function_def(function)
    ctx.add_function_def(body)
    name = body.signature.name
    try:
        inputs = [_stand_in(argument.type) for argument in body.signature.input_arg]
        results = len(body.signature.output_arg)
        return with_calls(hand_over(lambda: ctx.call_function(name.encode(), inputs, results), len(inputs)))
    finally:
        ctx.remove_function(name)


def _stand_in(dtype: int) -> Any:
    kind = tf.as_dtype(dtype)
    if kind == tf.resource:
        return tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="graphmem_stand_in")
    if kind == tf.variant:
        return tf.raw_ops.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=tf.float32)
    return tf.constant([], tf.string) if kind == tf.string else tf.zeros([0], kind)
