"""Schedules, lifetimes, timeline: one step simulated in the runtime's typical order, and the range over legal ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmem.collector import collection_paused
from graphmem.errors import InternalError
from graphmem.graph.model import StepGraph
from graphmem.ops.registry import Env
from graphmem.runtime.branches import Branches
from graphmem.runtime.effects import effects
from graphmem.runtime.executor import Schedule, schedule
from graphmem.runtime.liveness import Lifetimes, lifetimes
from graphmem.runtime.plan import make_plan
from graphmem.runtime.queues import QUEUES
from graphmem.runtime.typical import typical
from graphmem.runtime.warmup import warmed

#: Orders drawn when the user does not say how many: as many as execute this many ops, within these bounds. The
#: iterations of a loop overlap in many ways, so that few orders of a loop say little.
OPS_BUDGET, OPS_BUDGET_WITH_LOOPS = 120_000, 500_000
FEWEST_ORDERS, FEWEST_WITH_LOOPS, MOST_ORDERS = 3, 5, 100

#: Orders that do not depend on memory addresses: one schedule each.
_SETTLED = ("graph",)


@dataclass(slots=True)
class Simulation:
    """A step replayed.

    Attributes:
        graph: the step.
        schedule: the order reported: the typical one of those drawn.
        lifetimes: its buffers.
        total: bytes alive at each position, residents and host memory left out.
        peak: the most that is alive at one position (bytes).
        position: the first position where that is so.
        peaks: the peak of each order drawn (bytes).
        order: which order was asked for.
        env: threads and device.
    """

    graph: StepGraph
    schedule: Schedule
    lifetimes: Lifetimes
    total: np.ndarray
    peak: int
    position: int
    peaks: list[int]
    order: str
    env: Env


def simulate(
    graph: StepGraph,
    *,
    order: str = "default",
    orders: int | None = None,
    env: Env | None = None,
    trips: dict[str, int] | None = None,
    warmup: int = 0,
) -> Simulation:
    """Replay a step.

    Args:
        graph: the step.
        order: a key of `graphmem.runtime.queues.QUEUES`; on a GPU, whose kernels all run inline, "default" is
            "breadth-first".
        orders: how many legal orders to draw; `None`: 100, fewer for long schedules, 3 at least, 5 with loops; 1 where
            the order is settled.
        env: threads and device.
        trips: iterations of loops whose condition cannot be told, by name.
        warmup: calls of the step before this one, in which a CPU's executor times the ops.

    Returns:
        The simulation of the typical order, see `graphmem.runtime.typical`.
    """
    drawn = draw(graph, order=order, orders=orders, env=env, trips=trips, warmup=warmup)
    return drawn[typical([simulation.peak for simulation in drawn])]


def draw(
    graph: StepGraph,
    *,
    order: str = "default",
    orders: int | None = None,
    env: Env | None = None,
    trips: dict[str, int] | None = None,
    warmup: int = 0,
) -> list[Simulation]:
    """Replay a step in each of the orders that `simulate` chooses from; the arguments are the same."""
    with collection_paused():
        return _draw(graph, order, orders, env or Env(), trips, warmup)


def _draw(
    graph: StepGraph, order: str, orders: int | None, env: Env, trips: dict[str, int] | None, warmup: int
) -> list[Simulation]:
    plan = make_plan(graph)
    policy = "breadth-first" if order == "default" and env.device == "gpu" else order
    if policy not in QUEUES:
        raise InternalError(f"there is no order {order!r}")
    branches = Branches(plan, trips)
    effect_of = effects(graph, env)
    once = schedule(plan, branches, policy=policy) if warmup and env.device == "cpu" else None

    def run(number: int) -> Simulation:
        planned = warmed(plan, once, warmup, number) if once else plan
        made = schedule(planned, branches, policy=policy, draw=number)
        lives = lifetimes(graph, made, effect_of)
        total = timeline(lives, len(made.ops))
        position = int(total.argmax()) if len(total) else 0
        return Simulation(
            graph, made, lives, total, int(total[position]) if len(total) else 0, position, [], order, env
        )

    first = run(0)
    if policy in _SETTLED:
        count = 1
    else:
        loops = first.schedule.loops
        fewest, budget = (FEWEST_WITH_LOOPS, OPS_BUDGET_WITH_LOOPS) if loops else (FEWEST_ORDERS, OPS_BUDGET)
        count = orders or max(fewest, min(MOST_ORDERS, budget // max(1, len(first.schedule.ops))))
    drawn = [first, *(run(number) for number in range(1, count))]
    peaks = [simulation.peak for simulation in drawn]
    for simulation in drawn:
        simulation.peaks = peaks
    return drawn


def counted(lives: Lifetimes) -> list[int]:
    """Indices of the buffers that are part of the step's own memory on the device, of known size."""
    return [
        buffer
        for buffer, nbytes in enumerate(lives.nbytes)
        if nbytes and not lives.resident[buffer] and not lives.host[buffer]
    ]


def timeline(lives: Lifetimes, positions: int, buffers: list[int] | None = None) -> np.ndarray:
    """Bytes alive at each schedule position (int64, shape [positions]), of all counted buffers or of those given."""
    if buffers is None:
        buffers = counted(lives)
    change: np.ndarray = np.zeros(positions + 1, np.int64)
    sizes = np.fromiter((lives.nbytes[buffer] for buffer in buffers), np.int64, len(buffers))
    born = np.fromiter((lives.born[buffer] for buffer in buffers), np.int64, len(buffers))
    freed = np.fromiter((lives.freed[buffer] for buffer in buffers), np.int64, len(buffers))
    np.add.at(change, born, sizes)
    np.subtract.at(change, freed, sizes)
    return np.cumsum(change[:-1])
