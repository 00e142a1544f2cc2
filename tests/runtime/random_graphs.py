"""Random step graphs and orders for property tests: every graph is legal and uses ops that `brute_force` knows."""

from __future__ import annotations

from hypothesis import strategies as st

from graphmem.graph.model import StepGraph
from tests.graphs import Builder

SIZES = (0, 4, 8, 8, 16, 16, 32, 64)


@st.composite
def step_graphs(draw: st.DrawFn, max_ops: int = 12, updates: bool = True) -> StepGraph:
    """A few arguments, variables and constants; ops that make, share, take over and update buffers; some results.

    `updates`: whether variables are written as well as read.
    """
    b = Builder()
    b.argument("x", draw(st.sampled_from((4, 16))))
    for number in range(draw(st.integers(0, 2))):
        b.variable(f"w{number}", draw(st.sampled_from((8, 16))))
    if draw(st.booleans()):
        b.op("constant", "Const", [], draw(st.sampled_from((8, 16))), role="constant")
    for number in range(draw(st.integers(1, max_ops))):
        _add_op(draw, b, f"op{number}", updates)
    tensors = _tensors(b.graph)
    results = draw(st.lists(st.sampled_from(tensors), max_size=2))
    for number, source in enumerate(results):
        b.op(f"result{number}", "_Retval", [source], role="output")
    return b.graph


def _add_op(draw: st.DrawFn, b: Builder, name: str, updates: bool) -> None:
    graph = b.graph
    tensors = _tensors(graph)
    recent = tensors[-4:]
    after = draw(st.lists(st.sampled_from([op.name for op in graph.ops]), max_size=1))
    one = st.sampled_from(recent) | st.sampled_from(tensors)
    kinds = [
        "MatMul",
        "MatMul",
        "TopKV2",
        "Relu",
        "Relu",
        "Identity",
        "Mul",
        "AddN",
        "NobodyKnowsThisOp",
        "NoOp",
        "Where",
    ]
    if graph.variables:
        kinds += ["ReadVariableOp", "ReadVariableOp"] + ["AssignSubVariableOp", "AssignVariableOp"] * updates
    kind = draw(st.sampled_from(kinds))
    if kind == "NoOp":
        b.op(name, kind, after=after)
    elif kind in ("Relu", "Identity"):
        source = draw(one)
        b.op(name, kind, [source], _bytes(graph, source), after=after)
    elif kind in ("Mul", "AddN"):
        sources = draw(st.lists(one, min_size=2 if kind == "Mul" else 1, max_size=2 if kind == "Mul" else 3))
        same = _bytes(graph, sources[0]) if kind == "AddN" else _bytes(graph, draw(st.sampled_from(sources)))
        b.op(name, kind, sources, same, after=after)
    elif kind == "TopKV2":
        b.op(name, kind, [draw(one)], draw(st.lists(st.sampled_from(SIZES), min_size=2, max_size=2)), after=after)
    elif kind == "Where":
        b.op(name, kind, [draw(one)], None, after=after)
    elif kind == "MatMul":
        b.op(name, kind, [draw(one), draw(one)], draw(st.sampled_from(SIZES)), after=after)
    elif kind == "NobodyKnowsThisOp":
        b.op(name, kind, draw(st.lists(one, max_size=3)), draw(st.sampled_from(SIZES)), after=after)
    else:
        number = draw(st.integers(0, len(graph.variables) - 1))
        nbytes = graph.variables[number].nbytes
        assert nbytes is not None
        if kind == "ReadVariableOp":
            b.read(name, f"w{number}", nbytes, after=after)
        elif kind == "AssignSubVariableOp":
            b.op(name, kind, [f"w{number}", draw(one)], after=after, phase="update", role="update")
        else:
            same = [source for source in tensors if _bytes(graph, source) == nbytes]
            value = draw(st.sampled_from(same)) if same else b.op(f"{name}_value", "MatMul", ["x", "x"], nbytes)
            b.op(name, kind, [f"w{number}", value], after=after, phase="update", role="update")


def _tensors(graph: StepGraph) -> list[tuple[str, int]]:
    """Everything that an op may read, as (op name, slot)."""
    return [(graph.ops[op].name, slot) for op, slot, tensor in graph.tensors() if tensor.dtype != "resource"]


def _bytes(graph: StepGraph, source: tuple[str, int]) -> int | None:
    op = next(op for op in graph.ops if op.name == source[0])
    return op.outputs[source[1]].nbytes


@st.composite
def orders(draw: st.DrawFn, graph: StepGraph) -> list[int]:
    """Any topological order: of the ready ops, the first in a random ranking."""
    rank = draw(st.permutations(range(len(graph.ops))))
    done: dict[int, None] = {}
    while len(done) < len(rank):
        ready = (index for index in rank if index not in done and _ready(graph, index, done))
        done[next(ready)] = None
    return list(done)


def _ready(graph: StepGraph, index: int, done: dict[int, None]) -> bool:
    op = graph.ops[index]
    return all(producer in done for producer in (*op.controls, *(producer for producer, _ in op.inputs)))
