"""Hand-made measurements of `tests.graphs.chain`: x -> a -> b -> c of 8, 16 and 32 bytes, whose peak is b with c."""

from __future__ import annotations

from collections.abc import Sequence

from graphmem.graph.model import StepGraph
from graphmem.measure.compare import compare
from graphmem.measure.events import Event, replay
from graphmem.measure.result import Verification
from graphmem.measure.run import Run
from graphmem.report.build import build_report
from graphmem.runtime.simulate import draw, simulate
from tests import graphs

BEFORE = 1000
"""Bytes that the allocator of these examples has in use before the step."""


def events(*steps: tuple[str, int] | str) -> list[Event]:
    """Events of ("op", bytes), allocated under that name, and of "op", released; the allocator rounds up to 256."""
    made: list[Event] = []
    alive: dict[str, Event] = {}
    in_use = BEFORE
    for number, step in enumerate(steps):
        if isinstance(step, tuple):
            op, nbytes = step
            granted = -(-nbytes // 256) * 256
            in_use += granted
            event = Event(True, number, nbytes, granted, in_use, op)
            alive[op] = event
        else:
            old = alive.pop(step)
            in_use -= old.granted
            event = Event(False, old.address, old.requested, old.granted, in_use)
        made.append(event)
    return made


AS_PREDICTED = events(("a", 8), ("b", 16), "a", ("c", 32), "b", "c")


def run_of(made: Sequence[Event], graph: StepGraph | None = None, *, inputs: int = 4) -> Run:
    """What the child would have sent of these events."""
    return Run(replay(made), graph or graphs.chain(), 0, inputs, 0.25, {"tensorflow": "2.21.0"})


def verification(runs: Sequence[Run], tolerance: float = 0.03, notes: Sequence[str] = ()) -> Verification:
    """The comparison of the chain's prediction with these runs."""
    graph = graphs.chain()
    graph.info |= {"target": "model.py", "step": "train", "batch": 8, "versions": {"tensorflow": "2.21.0"}}
    return compare(build_report(simulate(graph, orders=2)), runs, draw(graph, orders=2), 0, tolerance, list(notes))
