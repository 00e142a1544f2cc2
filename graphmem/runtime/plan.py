"""What an executor knows of a graph before it starts: edges in TensorFlow's order, what waits, what is expensive."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from graphmem.graph.model import StepGraph
from graphmem.ops.registry import Rule, lookup
from graphmem.runtime.edges import INLINE_EDGES

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
        edges: out edges as TensorFlow's graph constructor adds them; data edges first where there are at most eight.
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
    by_type = {op_type: lookup(op_type) for op_type in {op.type for op in graph.ops}}
    rules = [by_type[op.type] for op in graph.ops]
    kinds = [rule.control if rule else "" for rule in rules]
    order = _constructor_order(graph, kinds)
    late = [index for index in order if "_folded" in graph.ops[index].attrs]  # nodes that constant folding adds
    edges, numbers, count = _edges(graph, order, set(late))
    roots, root_numbers = _roots(graph, order, late, edges, count)
    node_ids = [0] * len(order)
    for place, index in enumerate([*order, *late]):
        node_ids[index] = place
    pending = [
        (1 if kind == "merge" else len(op.inputs)) + len(op.controls) for op, kind in zip(graph.ops, kinds, strict=True)
    ]
    expensive = [rule is None or not rule.inline for rule in rules]
    return Plan(graph, rules, kinds, edges, numbers, pending, expensive, roots, root_numbers, node_ids, _values(graph))


def _edges(graph: StepGraph, order: list[int], late: set[int]) -> tuple[list[list[Edge]], list[list[int]], int]:
    """Out edges of each op, their numbers, and how many there are; those of folded constants are added last."""
    edges: list[list[Edge]] = [[] for _ in order]
    numbers: list[list[int]] = [[] for _ in order]
    postponed: list[tuple[int, Edge]] = []
    mixed: set[int] = set()
    count = 0
    for index in order:
        op = graph.ops[index]
        position = 0
        for producer, slot in op.inputs:
            if producer in late:
                postponed.append((producer, (index, position, slot)))
            else:
                edges[producer].append((index, position, slot))
                numbers[producer].append(count)
                count += 1
            position += 1
        for producer in op.controls:
            edges[producer].append((index, -1, -1))
            numbers[producer].append(count)
            count += 1
            mixed.add(producer)
    for producer, edge in postponed:
        edges[producer].append(edge)
        numbers[producer].append(count)
        count += 1
    for producer in mixed:
        if len(edges[producer]) <= INLINE_EDGES:
            edges[producer] = data_first(edges[producer])
    return edges, numbers, count


def _roots(
    graph: StepGraph, order: list[int], late: list[int], edges: list[list[Edge]], count: int
) -> tuple[list[int], list[int]]:
    """Ops without any input and the numbers of the edges to them, as FixupSourceAndSinkEdges adds them."""
    roots, numbers = [], []
    is_late = set(late)
    for index in [*(index for index in order if index not in is_late), *late]:
        op = graph.ops[index]
        if not op.inputs and not op.controls:
            roots.append(index)
            numbers.append(count)
            count += 1
        if not edges[index]:
            count += 1  # the edge to the sink
    return roots, numbers


def data_first(edges: list[Edge]) -> list[Edge]:
    """The executor walks the data edges of an op before its control edges (graph_view.cc)."""
    if all(position >= 0 for _, position, _ in edges):
        return edges
    return [edge for edge in edges if edge[1] >= 0] + [edge for edge in edges if edge[1] < 0]


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
    not wait for its `NextIteration` inputs, which come later, and nothing for folded constants, which come last.
    """
    body = _function_body(graph)
    place = [0] * len(body)
    for position, index in enumerate(body):
        place[index] = position
    readers: list[list[int]] = [[] for _ in body]
    waiting = [0] * len(body)
    for index, op in enumerate(graph.ops):
        mine, wait = place[index], len(op.inputs) + len(op.controls)
        for producer, _ in op.inputs:
            if (kinds[producer] == "next" and kinds[index] == "merge") or "_folded" in graph.ops[producer].attrs:
                wait -= 1
            else:
                readers[producer].append(mine)
        for producer in op.controls:
            readers[producer].append(mine)
        waiting[mine] = wait
    ready = [position for position, count in enumerate(waiting) if not count]
    order = []
    push, pop = heapq.heappush, heapq.heappop
    while ready:  # sorted, so a heap
        index = body[pop(ready)]
        order.append(index)
        for reader in readers[index]:
            left = waiting[reader] = waiting[reader] - 1
            if not left:
                push(ready, reader)
    return order


def _function_body(graph: StepGraph) -> list[int]:
    """The ops as a function's body lists them."""
    groups: dict[str, list[int]] = {"_Arg": [], "": [], "_Retval": []}
    for index, op in enumerate(graph.ops):
        groups[op.type if op.type in groups else ""].append(index)
    groups["_Arg"].sort(key=lambda index: graph.ops[index].attrs.get("index", index))
    return [*groups["_Arg"], *groups[""], *groups["_Retval"]]
