"""Ops that only GPUs run (cuDNN's recurrent layers), in a function that TensorFlow instantiates on the CPU.

TensorFlow refuses to instantiate a function with an op that no device of the machine can run. Such ops go through
instantiation in disguise: as a `PyFunc` of the same tensors, which a CPU could run and no rewrite touches, whose token
says what it stands for.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from tensorflow.core.framework import function_pb2, node_def_pb2
from tensorflow.python.eager import context
from tensorflow.python.framework import op_def_registry

from graphmem.trace.handover import Handed, hand_over, handed_over
from graphmem.trace.kernels import signature

_TOKEN = "graphmem:"
_DISGUISES = {True: "PyFunc", False: "PyFuncStateless"}
_numbers = itertools.count()


def handed_over_for_gpu(concrete: Any, tensors: list[Any]) -> Handed:
    """What TensorFlow would execute of a function, whichever of its ops only a GPU can run.

    The arguments and errors are those of `graphmem.trace.handover.handed_over`; Grappler must be off.
    """
    names = functions_of(concrete)
    if not any(_needs_gpu(node) for function in names.values() for node in function.node_def):
        return handed_over(concrete, tensors)
    suffix = f"_graphmem_{next(_numbers)}"
    disguised = [_disguised(function, names, suffix) for function in names.values()]
    ctx = context.context()
    added: list[str] = []
    try:
        for function in disguised:
            ctx.add_function_def(function)
            added.append(function.signature.name)
        main = concrete.function_def.signature.name + suffix
        inputs = [*tensors, *concrete.captured_inputs]
        results = len(concrete.function_def.signature.output_arg)
        handed = hand_over(lambda: ctx.call_function(main.encode(), inputs, results), len(inputs))
    finally:
        for name in added:
            ctx.remove_function(name)
    for graph in handed:
        reveal(graph.node)
    return handed


def functions_of(concrete: Any) -> dict[str, Any]:
    """Name -> FunctionDef of a concrete function and all that it calls."""
    definition = concrete.function_def
    found = {definition.signature.name: definition}
    for function in concrete.graph.as_graph_def().library.function:
        found.setdefault(function.signature.name, function)
    return found


def reveal(nodes: Iterable[Any]) -> None:
    """Make disguised nodes what they stand for, in place."""
    for node in nodes:
        token = node.attr["token"].s.decode() if node.op in _DISGUISES.values() else ""
        if token.startswith(_TOKEN):
            original = node_def_pb2.NodeDef.FromString(base64.b64decode(token.removeprefix(_TOKEN)))
            for name in ("token", "Tin", "Tout"):
                del node.attr[name]
            node.op = original.op
            for name in original.attr:
                node.attr[name].CopyFrom(original.attr[name])


def _needs_gpu(node: Any) -> bool:
    found = signature(node)
    return found is not None and found.on_gpu and not found.on_cpu


def _disguised(function: Any, names: Mapping[str, Any], suffix: str) -> function_pb2.FunctionDef:
    """A copy of a function under another name, which calls the others by theirs, without ops that only a GPU runs."""
    changed = function_pb2.FunctionDef()
    changed.CopyFrom(function)
    changed.signature.name += suffix
    slots: dict[str, str] = {}
    for node in changed.node_def:
        for value in node.attr.values():
            for called in (value.func, *value.list.func):
                if called.name in names:
                    called.name += suffix
        if _needs_gpu(node):
            _disguise(node, slots)
    for node in changed.node_def:
        for place, source in enumerate(node.input):
            node.input[place] = slots.get(source, source)
    for name in list(changed.ret):
        changed.ret[name] = slots.get(changed.ret[name], changed.ret[name])
    return changed


def _disguise(node: Any, slots: dict[str, str]) -> None:
    """Turn a node into a `PyFunc`, and note what its outputs are called from now on."""
    found = signature(node)
    assert found is not None
    definition = op_def_registry.get(node.op)
    plain = node_def_pb2.NodeDef(op=node.op)
    for name in node.attr:
        if not name.startswith("_"):
            plain.attr[name].CopyFrom(node.attr[name])
    for name in plain.attr:
        del node.attr[name]
    flat = 0
    for argument in definition.output_arg:
        count = plain.attr[argument.number_attr].i if argument.number_attr else 1
        count = len(plain.attr[argument.type_list_attr].list.type) if argument.type_list_attr else count
        for index in range(count):
            slots[f"{node.name}:{argument.name}:{index}"] = f"{node.name}:output:{flat}"
            flat += 1
    node.op = _DISGUISES[definition.is_stateful]
    node.attr["token"].s = _TOKEN.encode() + base64.b64encode(plain.SerializeToString(deterministic=True))
    node.attr["Tin"].list.type.extend(found.input_types)
    node.attr["Tout"].list.type.extend(found.output_types)
