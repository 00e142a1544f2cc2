"""A step that a compiler has laid out: its one order, and how a trace file holds it, lifetimes in `StepGraph.info`."""

from __future__ import annotations

import dataclasses
from typing import Any

from graphmem.errors import TargetError
from graphmem.graph.model import StepGraph
from graphmem.ops.registry import Env
from graphmem.runtime.buffers import Lifetimes
from graphmem.runtime.executor import Schedule
from graphmem.runtime.simulate import Simulation, timeline

ORDER = "compiled"
"""Name of the only order there is."""

_KEY = "lifetimes"
_COLUMNS = ("nbytes", "born", "freed", "op", "slot", "last", "resident", "host")


def in_order(graph: StepGraph) -> Schedule:
    """Ops run in the order of the graph; every value is made once."""
    values, count = [], 0
    for op in graph.ops:
        values.append(count)
        count += len(op.outputs)
    inputs = [[values[position] + slot for position, slot in op.inputs] for op in graph.ops]
    return Schedule(list(range(len(graph.ops))), inputs, values, count)


def with_lifetimes(simulation: Simulation) -> StepGraph:
    """The graph with the lifetimes of its buffers in its `info`."""
    lives, graph = simulation.lifetimes, simulation.graph
    held: dict[str, Any] = {name: getattr(lives, name) for name in (*_COLUMNS, "value_buffer")}
    held |= {name: sorted(getattr(lives, name).items()) for name in ("before", "after")}
    return dataclasses.replace(graph, info={**graph.info, _KEY: held})


def from_lifetimes(graph: StepGraph) -> Simulation:
    """The simulation that `with_lifetimes` was made of.

    Raises:
        TargetError: the lifetimes are not those of the graph.
    """
    held = graph.info.pop(_KEY, None)
    schedule = in_order(graph)
    try:
        lives = Lifetimes()
        for name in (*_COLUMNS, "value_buffer"):
            getattr(lives, name).extend(held[name])
        lives.before, lives.after = dict(held["before"]), dict(held["after"])
        _check(graph, lives, schedule.count)
    except (TypeError, KeyError, ValueError, IndexError) as error:
        raise TargetError(f"the trace of a step that XLA compiled is damaged: {error!s:.200}.") from error
    total = timeline(lives, len(graph.ops))
    position = int(total.argmax()) if len(total) else 0
    peak = int(total[position]) if len(total) else 0
    env = Env(device=graph.info.get("device", "cpu"))
    return Simulation(graph, schedule, lives, total, peak, position, [peak], ORDER, env)


def _check(graph: StepGraph, lives: Lifetimes, values: int) -> None:
    """Every buffer is of an op and lives within the step; every value is in a buffer or none."""
    end, count = len(graph.ops), len(lives.nbytes)
    if any(len(getattr(lives, name)) != count for name in _COLUMNS) or len(lives.value_buffer) != values:
        raise ValueError("its columns differ in length")
    for place in range(count):
        size = lives.nbytes[place]
        if not (0 <= lives.born[place] <= lives.freed[place] <= end and 0 <= lives.op[place] < end):
            raise ValueError(f"buffer {place} lies outside of the step")
        if not (size is None or (isinstance(size, int) and size >= 0)):
            raise ValueError(f"buffer {place} has no size")
    if any(not -1 <= buffer < count for buffer in lives.value_buffer):
        raise ValueError("a value is in no buffer")
