"""The buffers of a step as plain rows."""

from __future__ import annotations

from graphmem.graph.lifetimes_csv import Row
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
