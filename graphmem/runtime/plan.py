"""What an executor knows of a graph before it starts: edges in TensorFlow's order, what waits, what is expensive."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from graphmem.graph.model import Op, StepGraph
from graphmem.ops.registry import Rule, lookup

Edge = tuple[int, int, int]  # (reading op, its input position or -1 for a control edge, output slot)


@dataclass(slots=True)
class Values:
    """Numbers of the tensors of a graph whose ops all run exactly once.

    Attributes:
        bases: op -> number of its first output.
        inputs: op -> numbers of the tensors it reads.
        readers: number -> how many inputs read it.
        count: how many there are.
    """

    bases: list[int]
    inputs: list[list[int]]
    readers: list[int]
    count: int


@dataclass(slots=True)
class Plan:
    """The executor's static view; all lists are indexed by op.

    Attributes:
        rules: the op's row in the table, or `None`.
        kinds: control kind ("switch", "merge", "enter", "exit", "next", "cond") or "".
        edges: out edges in the order in which TensorFlow's graph constructor adds them.
        numbers: the same edges' places in the order of all edges.
        pending: inputs and control inputs to wait for; for a `Merge` only its control inputs plus one.
        expensive: whether the CPU executor hands the op to its thread pool.
        roots: ops without any input, in node order.
        root_numbers: places of the edges from the source node to them.
        node_ids: the op's place in TensorFlow's own numbering.
        values: numbers of the tensors, as every order of a graph without control flow has them.
    """

    graph: StepGraph
    rules: list[Rule | None]
    kinds: list[str]
    edges: list[list[Edge]]
    numbers: list[list[int]]
    pending: list[int]
    expensive: list[bool]
    roots: list[int]
    root_numbers: list[int]
    node_ids: list[int]
    values: Values


def make_plan(graph: StepGraph) -> Plan:
    """Precompute what every order of one graph shares."""
    by_type: dict[str, Rule | None] = {}
    rules: list[Rule | None] = []
    for op in graph.ops:
        if op.type not in by_type:
            by_type[op.type] = lookup(op.type)
        rules.append(by_type[op.type])
    kinds = [rule.control if rule else "" for rule in rules]
    order = _constructor_order(graph, kinds)
    node_ids = [0] * len(order)
    edges: list[list[Edge]] = [[] for _ in graph.ops]
    numbers: list[list[int]] = [[] for _ in graph.ops]
    count = 0
    for place, index in enumerate(order):
        node_ids[index] = place
        op = graph.ops[index]
        for position, (producer, slot) in enumerate(op.inputs):
            edges[producer].append((index, position, slot))
            numbers[producer].append(count)
            count += 1
        for producer in op.controls:
            edges[producer].append((index, -1, -1))
            numbers[producer].append(count)
            count += 1
    roots, root_numbers = [], []
    for index in order:  # as FixupSourceAndSinkEdges adds them
        if not graph.ops[index].inputs and not graph.ops[index].controls:
            roots.append(index)
            root_numbers.append(count)
            count += 1
        if not edges[index]:
            count += 1
    pending = [
        (1 if kind == "merge" else len(op.inputs)) + len(op.controls) for op, kind in zip(graph.ops, kinds, strict=True)
    ]
    expensive = [rule is None or not rule.inline for rule in rules]
    return Plan(graph, rules, kinds, edges, numbers, pending, expensive, roots, root_numbers, node_ids, _values(graph))


def _values(graph: StepGraph) -> Values:
    bases, count = [], 0
    for op in graph.ops:
        bases.append(count)
        count += len(op.outputs)
    inputs = [[bases[producer] + slot for producer, slot in op.inputs] for op in graph.ops]
    readers = [0] * count
    for row in inputs:
        for value in row:
            readers[value] += 1
    return Values(bases, inputs, readers, count)


def _constructor_order(graph: StepGraph, kinds: list[str]) -> list[int]:
    """The order in which TensorFlow's GraphConstructor adds nodes: of those ready, the first of the function body.

    The body of a function lists its arguments first, by their index, and its return values last. A loop's `Merge` does
    not wait for its `NextIteration` inputs, which come later.
    """
    body = sorted(range(len(graph.ops)), key=lambda index: _place_in_body(graph.ops[index], index))
    place = [0] * len(body)
    for position, index in enumerate(body):
        place[index] = position
    waiting = [0] * len(graph.ops)
    readers: list[list[int]] = [[] for _ in graph.ops]
    for index, op in enumerate(graph.ops):
        sources = [producer for producer, _ in op.inputs]
        if kinds[index] == "merge":
            sources = [producer for producer in sources if kinds[producer] != "next"]
        for producer in (*sources, *op.controls):
            waiting[index] += 1
            readers[producer].append(index)
    ready = [place[index] for index, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        index = body[heapq.heappop(ready)]
        order.append(index)
        for reader in readers[index]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, place[reader])
    return order


def _place_in_body(op: Op, index: int) -> tuple[int, int]:
    if op.type == "_Arg":
        return 0, op.attrs.get("index", index)
    return (2 if op.type == "_Retval" else 1), index
