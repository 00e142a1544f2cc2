"""The nodes that take the place of an op that runs functions: a call, a loop or a branch that TensorFlow left as it is.

A `_Call` hands the arguments of a call in, and `_Return`, which takes the op's place, the results out. It reads the
arguments as well: the op holds them until the function has returned. `While`, `If` and `Case` become the ops that
TensorFlow lowers others of their kind to; the kernel of `While` runs one iteration at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tensorflow.core.framework import node_def_pb2, types_pb2

from graphmem.trace import nesting

CALL, RETURN = "_Call", "_Return"
CASES = frozenset({"Case", "StatelessCase"})
RAN_AS = "_ran_as"
"""Attribute of a node that is moved: the name under which TensorFlow runs it."""


class _Body:
    """A function's executed graph, moved under a prefix.

    Attributes:
        nodes: its nodes, without arguments and results.
        results: what it returns, by the names in the graph around it.
        ends: control inputs for what is to wait until all of it has run.
    """

    def __init__(self, graph: Any, prefix: str, arguments: Sequence[str], pivot: str) -> None:
        renamed = {
            node.name: arguments[node.attr["index"].i] if node.op == "_Arg" else prefix + node.name
            for node in graph.node
        }
        reads = {source.lstrip("^").partition(":")[0] for node in graph.node for source in node.input}
        once = nesting.at_top(graph)
        results: dict[int, str] = {}
        self.nodes: list[Any] = []
        self.ends: list[str] = []
        for node in graph.node:
            if node.op == "_Arg":
                continue
            if node.op == "_Retval":
                results[node.attr["index"].i] = _moved(node.input[0], renamed)
                continue
            inner = node_def_pb2.NodeDef()
            inner.CopyFrom(node)
            inner.name = prefix + node.name
            if RAN_AS not in inner.attr:  # else it is in a function that this one calls
                inner.attr[RAN_AS].s = node.name.encode()
            if "frame_name" in inner.attr:  # the function may be called again
                inner.attr["frame_name"].s = prefix.encode() + inner.attr["frame_name"].s
            del inner.input[:]
            inner.input.extend(_moved(source, renamed) for source in node.input)
            if not inner.input:
                inner.input.append(f"^{pivot}")
            if node.name not in reads and node.name in once:
                self.ends.append(f"^{inner.name}")
            self.nodes.append(inner)
        self.results = [results[index] for index in sorted(results)]


def called(call: Any, body: Any) -> Iterator[Any]:
    """Nodes for a call of a function whose executed graph is `body`."""
    entry = _node(f"{call.name}/call", CALL, call.input, call)
    entry.attr["T"].list.type.extend(call.attr["Tin"].list.type)
    yield entry
    arguments = outputs(entry.name, len(entry.attr["T"].list.type))
    inside = _Body(body, f"{call.name}/", arguments, entry.name)
    yield from inside.nodes
    ends = inside.ends or [f"^{entry.name}"]
    yield returned(call, [*inside.results, *arguments, *ends], call.attr["Tout"].list.type)


def returned(replaced: Any, inputs: Sequence[str], kinds: Iterable[int]) -> Any:
    """The node that takes the place of an op: hands on as many of its inputs as there are kinds, and holds the rest."""
    made = _node(replaced.name, RETURN, inputs, replaced)
    made.attr["T"].list.type.extend(kinds)
    return made


def repeated(loop: Any, condition: Any, body: Any) -> Iterator[Any]:
    """Nodes for a `While` of these executed graphs."""
    name, kinds = loop.name, list(loop.attr["T"].list.type)
    given, controls = _inputs(loop)
    merges, switches = [], []
    for number, (source, kind) in enumerate(zip(given, kinds, strict=True)):
        enter = _node(f"{name}/enter_{number}", "Enter", [source, *controls], loop, kind)
        enter.attr["frame_name"].s = name.encode()
        enter.attr["is_constant"].b = False
        enter.attr["parallel_iterations"].i = 1
        yield enter
        merge = _node(f"{name}/merge_{number}", "Merge", [enter.name, f"{name}/next_{number}"], loop, kind)
        merge.attr["N"].i = 2
        merges.append(merge)
    yield from merges
    names = [merge.name for merge in merges]
    test = _Body(condition, f"{name}/cond/", names, names[0])
    yield from test.nodes
    cond = _node(f"{name}/LoopCond", "LoopCond", [test.results[0], *test.ends], loop)
    yield cond
    for number, (merged, kind) in enumerate(zip(names, kinds, strict=True)):
        switches.append(_node(f"{name}/switch_{number}", "Switch", [merged, cond.name], loop, kind))
    yield from switches
    pivot = _node(f"{name}/pivot", "Identity", [f"{switches[0].name}:1"], loop, kinds[0])
    yield pivot
    inside = _Body(body, f"{name}/body/", [f"{switch.name}:1" for switch in switches], pivot.name)
    yield from inside.nodes
    exits = []
    for number, (result, kind) in enumerate(zip(inside.results, kinds, strict=True)):
        waits = [f"^{pivot.name}", *inside.ends] if number == 0 else [f"^{pivot.name}"]
        yield _node(f"{name}/next_{number}", "NextIteration", [result, *waits], loop, kind)
        exits.append(_node(f"{name}/exit_{number}", "Exit", [switches[number].name], loop, kind))
    yield from exits
    yield returned(loop, [*(exit.name for exit in exits), *given], kinds)


def branched(branch: Any, *sides: Any) -> Iterator[Any]:
    """Nodes for an `If` of these executed graphs, then and else, or for a `Case` of any number."""
    name, kinds = branch.name, list(branch.attr["Tout"].list.type)
    (predicate, *given), controls = _inputs(branch)
    by_number = branch.op in CASES
    graphs = sides if by_number else sides[::-1]  # the first output of a `Switch` is that of false
    labels = [f"branch{number}" for number in range(len(graphs))] if by_number else ["else", "then"]

    def switch(label: str, source: str, kind: int) -> Any:
        op = "_SwitchN" if by_number else "Switch"
        made = _node(f"{name}/{label}", op, [source, predicate, *controls], branch, kind)
        if by_number:
            made.attr["num_outs"].i = len(graphs)
        return made

    choose = switch("switch_pred", predicate, types_pb2.DT_INT32 if by_number else types_pb2.DT_BOOL)
    switches = [
        switch(f"switch_{number}", source, kind)
        for number, (source, kind) in enumerate(zip(given, branch.attr["Tin"].list.type, strict=True))
    ]
    yield choose
    yield from switches
    results = []
    for side, (label, graph) in enumerate(zip(labels, graphs, strict=True)):
        chosen = outputs(choose.name, len(graphs))[side]
        pivot = _node(f"{name}/pivot_{label}", "Identity", [chosen], branch, choose.attr["T"].type)
        yield pivot
        arguments = [outputs(made.name, len(graphs))[side] for made in switches]
        inside = _Body(graph, f"{name}/{label}/", arguments, pivot.name)
        yield from inside.nodes
        end = _node(f"{name}/end_{label}", "Identity", [pivot.name, *inside.ends], branch, choose.attr["T"].type)
        yield end
        results.append([*inside.results, end.name])
    merges = []
    for number, kind in enumerate([*kinds, choose.attr["T"].type]):
        merge = _node(f"{name}/merge_{number}", "Merge", [result[number] for result in results], branch, kind)
        merge.attr["N"].i = len(graphs)
        merges.append(merge)
    yield from merges
    yield returned(branch, [*(merge.name for merge in merges), predicate, *given], kinds)  # the last: all has run


def _node(name: str, op: str, inputs: Sequence[str], like: Any, kind: int | None = None) -> Any:
    made = node_def_pb2.NodeDef(name=name, op=op, device=like.device)
    made.input.extend(inputs)
    if kind is not None:
        made.attr["T"].type = kind
    return made


def _inputs(node: Any) -> tuple[list[str], list[str]]:
    """Data inputs and control inputs."""
    return [name for name in node.input if name[0] != "^"], [name for name in node.input if name[0] == "^"]


def outputs(name: str, count: int) -> list[str]:
    """The outputs of a node, as inputs of others name them."""
    return [f"{name}:{slot}" if slot else name for slot in range(count)]


def _moved(source: str, renamed: dict[str, str]) -> str:
    """An input of a body's node by the names in the graph around it."""
    control, plain = source[0] == "^", source.lstrip("^")
    name, _, slot = plain.partition(":")
    moved = renamed[name]
    if control:
        return "^" + moved.partition(":")[0]
    return moved if not slot or ":" in moved else f"{moved}:{slot}"
