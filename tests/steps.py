"""Reports of simulated steps, made in milliseconds without TensorFlow."""

from __future__ import annotations

from typing import Any

from graphmem.ops.registry import Env
from graphmem.report.build import build_report
from graphmem.report.report import Report
from graphmem.runtime.allocations import replay_all
from graphmem.runtime.simulate import Simulation, simulate
from tests import graphs
from tests.graphs import Builder, StepGraph

KIB, MIB = 1 << 10, 1 << 20


def simulated(graph: StepGraph, device: str = "cpu") -> Simulation:
    """The step in the order of its graph."""
    return simulate(graph, order="graph", env=Env(threads=1, device=device))


def report_of(graph: StepGraph, device: str = "cpu", allocator: str = "", limit: int | None = None) -> Report:
    """The report of a step, under an allocator if one is named."""
    graph.info.update(target="model.py", step="train", batch=8, versions={"graphmem": "0.1.0", "tensorflow": "2.21.0"})
    simulation = simulated(graph, device)
    allocations = replay_all([simulation], allocator, limit) if allocator else None
    return build_report(simulation, allocations)


def two_layers(**changes: Any) -> Report:
    """The report of `graphs.two_weights`."""
    return report_of(graphs.two_weights(), **changes)


def tower(layers: int = 12, nbytes: int = MIB) -> StepGraph:
    """A tower of layers `block{i}_conv`, forward and back: one activation each is kept until its gradient."""
    b = Builder()
    b.argument("x", nbytes)
    last = "x"
    for i in range(layers):
        last = b.op(f"h{i}", "MatMul", [last, last], nbytes, scope=f"tower/block{i // 4}_{i}/conv")
    for i in reversed(range(layers)):
        before = f"h{i - 1}" if i else "x"
        last = b.op(f"d{i}", "MatMul", [last, before], nbytes, scope=f"tower/block{i // 4}_{i}/conv", phase="backward",
                    role="gradient")  # fmt: skip
    return b.returns(last)
