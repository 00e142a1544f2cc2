"""Loops over a dataset inside a step: the functions that run for each element, in the place of the op that asks for it.

`for x in dataset` in a `tf.function` becomes a `ReduceDataset`; its work is the function of a `ScanDataset` below it,
and a `TakeWhileDataset` asks whether to `break`. Each kernel holds what it hands to its function until that has
returned, the state that it carries among it (reduce_dataset_op.cc, scan_dataset_op.cc). A dataset's graph is rewritten
before it runs, with constants in the place of the tensors given to it. What comes before these in the dataset is the
pipeline's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorflow.core.framework import node_def_pb2, types_pb2

from graphmem.trace import splice

ELEMENTS = 2
"""Elements that are put into the graph: with the state that the loop starts with, and with one that it carries."""

REWRITES = ("pruning", "function", "shape", "arithmetic", "dependency")
"""What Grappler does to the functions of a dataset (grappler/optimizers/data/meta_optimizer.cc), not to a reduce's."""

Functions = Callable[[Any, str], "tuple[Any, Any] | None"]
"""(op, attribute) -> the function that the op runs, and what TensorFlow executes of it; `None`: not at hand."""


def unrolled(reduce: Any, nodes: dict[str, Any], functions: Functions) -> list[Any] | None:
    """Nodes for a `ReduceDataset`; `None` if a function is not at hand, or the state holds lists, which may grow.

    Args:
        nodes: those around it, by name.
        functions: finds functions.
    """
    if types_pb2.DT_VARIANT in reduce.attr["Tstate"].list.type:
        return None
    try:
        return _Loop(reduce, nodes, functions).nodes()
    except _NotAtHand:
        return None


class _NotAtHand(Exception):
    """A function that the loop runs cannot be looked into."""


class _Loop:
    """A loop over a dataset, element after element.

    Attributes:
        made: nodes, in the order in which they run.
        states: name of an op that carries a state -> the state.
        given: name of an op -> what it was given besides its dataset.
        before: control inputs for what runs next.
    """

    def __init__(self, reduce: Any, around: dict[str, Any], functions: Functions) -> None:
        self.reduce, self.around, self.functions = reduce, around, functions
        self.found: dict[str, tuple[Any, Any]] = {}
        self.made: list[Any] = []
        self.states: dict[str, list[str]] = {}
        self.given: dict[str, list[str]] = {reduce.name: _data(reduce)[1:]}
        self.before = [source for source in reduce.input if source[0] == "^"]

    def nodes(self) -> list[Any]:
        """All nodes; the last has the op's name and outputs, and holds what the op does until it is done."""
        for number in range(ELEMENTS):
            self._carried(self.reduce, f"{self.reduce.name}/{number}")
        state = self.states.pop(self.reduce.name)
        held = [source for given in (*self.given.values(), *self.states.values()) for source in given]
        end = splice.returned(self.reduce, [*state, *held, *self.before], self.reduce.attr["Tstate"].list.type)
        return [*self.made, end]

    def _carried(self, node: Any, name: str) -> list[str]:
        """Run the function of an op that carries a state on the next element; what it returns besides the state."""
        count = len(node.attr["Tstate"].list.type)
        given = self._given(node)
        results = self._called(node, name, self.states.get(node.name, given[:count]), given[count:])[0]
        self.states[node.name] = results[:count]
        return results[count:]

    def _called(self, node: Any, name: str, state: list[str], captures: list[str]) -> tuple[list[str], list[str]]:
        """Call an op's function with its state, the next element and its captures: what it returns, and the element."""
        function, graph = self._function(node)
        arguments, results = function.signature.input_arg, function.signature.output_arg
        element = self._element(node.input[0], name, function, range(len(state), len(arguments) - len(captures)))
        call = node_def_pb2.NodeDef(name=name, op="PartitionedCall", device=node.device)
        call.input.extend([*state, *element, *captures, *self.before])
        call.attr["Tin"].list.type.extend(argument.type for argument in arguments)
        call.attr["Tout"].list.type.extend(result.type for result in results)
        self.made += splice.called(call, graph)
        self.before = [f"^{name}"]
        return splice.outputs(name, len(results)), element

    def _element(self, dataset: str, prefix: str, function: Any, places: range) -> list[str]:
        """The next element of a dataset, which a function takes at these places."""
        node = self.around[dataset.partition(":")[0]]
        if node.op == "ScanDataset":
            return self._carried(node, f"{prefix}/{node.name}")
        if node.op == "TakeWhileDataset":
            return self._called(node, f"{prefix}/{node.name}", [], self._given(node))[1]
        fetched = node_def_pb2.NodeDef(name=f"{prefix}/next", op="DatasetToSingleElement", device=self.reduce.device)
        fetched.input.extend([dataset, *self.before])
        for place in places:
            fetched.attr["output_types"].list.type.append(function.signature.input_arg[place].type)
            shape = fetched.attr["output_shapes"].list.shape.add()
            known = function.arg_attr[place].attr["_output_shapes"].list.shape
            if known:
                shape.CopyFrom(known[0])
            else:
                shape.unknown_rank = True
        self.made.append(fetched)
        return splice.outputs(fetched.name, len(places))

    def _given(self, node: Any) -> list[str]:
        """What an op was given; a dataset's are copies, save handles, which stay until the loop is over."""
        if node.name not in self.given:
            given = []
            kinds = [*node.attr["Tstate"].list.type, *node.attr["Targuments"].list.type]
            for number, (source, kind) in enumerate(zip(_data(node)[1:], kinds, strict=True)):
                if kind in (types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT):
                    given.append(source)
                    continue
                copy = node_def_pb2.NodeDef(name=f"{self.reduce.name}/{node.name}/given_{number}", op="DeepCopy")
                copy.device = node.device
                copy.input.append(source)
                copy.attr["T"].type = kind
                self.made.append(copy)
                given.append(copy.name)
            self.given[node.name] = given
        return self.given[node.name]

    def _function(self, node: Any) -> tuple[Any, Any]:
        """The function of an op and its graph."""
        if node.name not in self.found:
            found = self.functions(node, "predicate" if node.op == "TakeWhileDataset" else "f")
            if found is None:
                raise _NotAtHand
            self.found[node.name] = found
        return self.found[node.name]


def _data(node: Any) -> list[str]:
    return [source for source in node.input if source[0] != "^"]
