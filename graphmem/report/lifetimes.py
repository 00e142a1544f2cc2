"""The buffers of a step as plain rows."""

from __future__ import annotations

from graphmem.graph.lifetimes_csv import Row
from graphmem.graph.model import StepGraph
from graphmem.runtime.compiled import with_lifetimes
from graphmem.runtime.simulate import Simulation, counted


def lifetimes_of(simulation: Simulation) -> list[Row]:
    """The buffers that the step itself holds on its device, in the order they were made; times are schedule positions.

    Buffers of unknown size are left out, as they are out of every figure. An id is the buffer's number in `Lifetimes`.
    """
    lives = simulation.lifetimes
    return [
        Row(str(buffer), lives.born[buffer], lives.freed[buffer], int(lives.nbytes[buffer] or 0))
        for buffer in counted(lives)
        if lives.born[buffer] < lives.freed[buffer]
    ]


def graph_to_save(simulation: Simulation) -> StepGraph:
    """What a trace file is to hold of a step: its graph, from which all else follows unless a compiler laid it out."""
    return with_lifetimes(simulation) if simulation.graph.info.get("runtime") == "xla" else simulation.graph
