"""What fits, predicted without a trace: the graph at other sizes, its buffers and the allocator in the same orders."""

from __future__ import annotations

from dataclasses import replace

from graphmem import api
from graphmem.answers.resize import Resized, Unpredicted, same_ops
from graphmem.answers.search import Grid, largest, secant
from graphmem.collector import collection_paused
from graphmem.graph.model import StepGraph
from graphmem.runtime.allocations import make_allocator
from graphmem.runtime.effects import effects
from graphmem.runtime.liveness import lifetimes
from graphmem.runtime.replay import Allocation, replay
from graphmem.runtime.simulate import draw
from graphmem.settings import Settings
from graphmem.target.step import Options

FEW = 3
"""Orders that are replayed before all are."""

NEAR = 3
"""Values above the largest found that are looked at too: need does not always grow with the value."""


class Predictor:
    """Answers of the allocator at values that were not traced.

    Args:
        known: value -> graph, as `Resized` takes them.
        settings, options: of the analysis.
        strict: whether every order must fit, not most of them.
    """

    def __init__(self, known: dict[int, StepGraph], settings: Settings, options: Options, strict: bool) -> None:
        self.settings, self.strict = settings, strict
        self.resized = Resized(known)
        graph = known[max(known)]
        self.env = api.env_of(graph, settings)
        trips = dict(options.dims)
        self.drawn = draw(
            graph, order=settings.order, orders=settings.orders, env=self.env, trips=trips, warmup=settings.warmup
        )

    @property
    def loops(self) -> bool:
        """Whether the schedules unroll loops, whose number of iterations may depend on what is varied."""
        return bool(self.drawn[0].schedule.loops)

    def agrees(self, value: int, graph: StepGraph) -> bool:
        """Whether what is predicted at a value is what was traced there."""
        if not same_ops(self.resized.graph, graph):
            return False
        try:
            predicted = self.resized.at(value)
        except Unpredicted:
            return False
        return all(a.outputs == b.outputs for a, b in zip(predicted.ops, graph.ops, strict=True))

    def best(self, grid: Grid, low: int, high: int) -> int:
        """The largest index above `low` and below `high` that fits, as predicted; `low` if none does.

        Raises:
            Unpredicted: the sizes at a value cannot be told.
        """
        with collection_paused():
            top = self._bound(grid, low, high)
            index, above, stride = top, min(top + 1, high), 1
            while index > low and not self.fits(grid.value(index), FEW):
                index, above, stride = max(low, index - stride), index, 2 * stride
            index = largest(above, lambda at: self.fits(grid.value(at), FEW), _middle, low=index)
            for near in range(min(index + NEAR, high - 1), index, -1):
                if self.fits(grid.value(near), FEW) and self.fits(grid.value(near)):
                    return near
            while index > low and not self.fits(grid.value(index)):
                index -= 1
            return index

    def fits(self, value: int, orders: int | None = None, limit: int | None = None) -> bool:
        """Whether the allocator serves most of the orders, or all of them with `strict`.

        Args:
            value: of what is varied.
            orders: how many are replayed; `None`: all.
            limit: bytes, other than the budget.
        """
        graph = self.resized.at(value)
        effect_of = effects(graph, self.env)
        drawn = self.drawn[:orders]
        allowed = 0 if self.strict else len(drawn) // 2
        failing = 0
        for place, simulation in enumerate(drawn):
            lives = lifetimes(graph, simulation.schedule, effect_of)
            made = self._replay(replace(simulation, graph=graph, lifetimes=lives), limit or self.settings.limit)
            failing += made.fails is not None
            if failing > allowed or failing + len(drawn) - place - 1 <= allowed:
                break
        return failing <= allowed

    def need(self, value: int) -> int:
        """Bytes in use at the peak of one order, rounding and holes left out."""
        graph = self.resized.at(value)
        simulation = self.drawn[0]
        lives = lifetimes(graph, simulation.schedule, effects(graph, self.env))
        made = self._replay(replace(simulation, graph=graph, lifetimes=lives), None, "exact")
        return made.peak.bytes_in_use

    def _replay(self, simulation: object, limit: int | None, name: str = "") -> Allocation:
        allocator = make_allocator(name or self.settings.replayed or "exact", self.env.device, limit)
        return replay(simulation, allocator)  # type: ignore[arg-type]

    def _bound(self, grid: Grid, low: int, high: int) -> int:
        """The largest index at which the sum of the live bytes is within the budget."""
        budget, needs = self.settings.limit or 0, dict[int, int]()

        def within(index: int) -> bool:
            needs[index] = self.need(grid.value(index))
            return needs[index] <= budget

        return largest(high, within, lambda below, above: secant(needs, budget, below, above), low=low)


def _middle(low: int, high: int) -> int:
    return (low + high) // 2
