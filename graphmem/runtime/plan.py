"""What an executor knows of a graph before it starts: edges in TensorFlow's order, what waits, what is expensive."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from graphmem.graph.model import StepGraph
from graphmem.ops.registry import Rule, lookup
from graphmem.runtime.edges import INLINE_EDGES, SINK_EDGES

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
        edge_count: edges of the graph, those of its source and sink included.
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
    edge_count: int
    node_ids: list[int]
    values: Values


def make_plan(graph: StepGraph) -> Plan:
    """Precompute what every order of one graph shares."""
    by_type = {op_type: lookup(op_type) for op_type in {op.type for op in graph.ops}}
    rules = [by_type[op.type] for op in graph.ops]
    kinds = [rule.control if rule else "" for rule in rules]
    order = _constructor_order(graph, kinds)
    folded = [index for index in order if "_folded" in graph.ops[index].attrs]
    late = sorted(folded, key=lambda index: graph.ops[index].name)  # nodes that constant folding adds, by name
    found = _edges(graph, order, late, kinds)
    node_ids = [0] * len(order)
    for place, index in enumerate([*order, *late]):
        node_ids[index] = place
    pending = [
        (1 if kind == "merge" else len(op.inputs)) + len(op.controls) for op, kind in zip(graph.ops, kinds, strict=True)
    ]
    expensive = [rule is None or not rule.inline for rule in rules]
    return Plan(
        graph, rules, kinds, found.edges, found.numbers, pending, expensive, found.roots, found.root_numbers,
        found.count, node_ids, _values(graph),
    )  # fmt: skip


def _edges(graph: StepGraph, order: list[int], late: list[int], kinds: list[str]) -> _Edges:
    """Number the edges as TensorFlow adds them.

    GraphConstructor adds those that close loops (`NextIteration` to `Merge`) when all nodes are there, then come those
    from the source and to the sink. Constant folding adds the edges of its constants after that, and last come those of
    ops that replace equal ones.
    """
    ops = graph.ops
    found = _Edges([[] for _ in order], [[] for _ in order])
    closing: list[tuple[int, Edge]] = []
    replaced: list[tuple[int, int, Edge]] = []
    from_folded: dict[int, list[Edge]] = {index: [] for index in late}
    built = [index for index in order if index not in from_folded]
    for index in built:
        op = ops[index]
        before = op.attrs.get("_from_replaced", {})
        for position, (producer, slot) in enumerate(op.inputs):
            edge = (index, position, slot)
            if producer in from_folded:
                from_folded[producer].append(edge)
            elif before and str(position) in before:
                replaced.append((before[str(position)], producer, edge))
            elif kinds[producer] == "next" and kinds[index] == "merge":
                closing.append((producer, edge))
            else:
                found.add(producer, edge)
        for producer in op.controls:
            found.add(producer, (index, -1, -1))
    for producer, edge in closing:
        found.add(producer, edge)
    for index in built:
        if not ops[index].inputs and not ops[index].controls:
            found.add_root(index)
        if not found.edges[index]:
            found.count += 1  # the edge to the sink
    for index, row in from_folded.items():
        for edge in row:
            found.add(index, edge)
        for producer in ops[index].controls:
            found.add(producer, (index, -1, -1))
        if not ops[index].controls:
            found.add_root(index)
    for _, producer, edge in sorted(replaced, key=lambda item: item[0]):
        found.add(producer, edge)
    found.edges = [data_first(row) if len(row) <= INLINE_EDGES else row for row in found.edges]
    return found


@dataclass(slots=True)
class _Edges:
    """Out edges of each op and the ops that the source starts, with the edges' numbers; `count`: how many there are."""

    edges: list[list[Edge]]
    numbers: list[list[int]]
    roots: list[int] = field(default_factory=list)
    root_numbers: list[int] = field(default_factory=list)
    count: int = SINK_EDGES - 1  # the first of all is not counted, as it lies elsewhere

    def add(self, producer: int, edge: Edge) -> None:
        self.edges[producer].append(edge)
        self.numbers[producer].append(self.count)
        self.count += 1

    def add_root(self, index: int) -> None:
        self.roots.append(index)
        self.root_numbers.append(self.count)
        self.count += 1


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

    The body of a function lists its arguments first and its return values last, both by their index. A loop's `Merge`
    does not wait for its `NextIteration` inputs, which come later, and nothing for folded constants, which come last.
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
    for group in (groups["_Arg"], groups["_Retval"]):
        group.sort(key=lambda index: graph.ops[index].attrs.get("index", index))
    return [*groups["_Arg"], *groups[""], *groups["_Retval"]]
