"""Where XLA puts each buffer of a step that it compiled: its plan of temporary memory, read and not replayed."""

from __future__ import annotations

from itertools import accumulate

from graphmem.errors import TargetError
from graphmem.runtime.placement import Block, Placement
from graphmem.runtime.simulate import Simulation


def place_compiled(simulation: Simulation) -> Placement:
    """The temporary memory of a compiled step: each of its allocations is a region, there from start to end.

    Raises:
        TargetError: the trace was saved by a graphmem that did not keep the offsets.
    """
    xla, lives = simulation.graph.info["xla"], simulation.lifetimes
    if "temp_places" not in xla:
        raise TargetError("this trace was saved without the addresses that XLA planned; analyse its target again.")
    sizes = xla["temp_allocations"]
    starts = [0, *accumulate(sizes)]
    blocks = []
    for buffer, (allocation, offset) in enumerate(xla["temp_places"]):
        if allocation >= 0:  # else it lies in the host's memory
            address, nbytes = starts[allocation] + offset, lives.nbytes[buffer] or 0
            blocks.append(Block(address, nbytes, lives.born[buffer], lives.freed[buffer], buffer, ""))
    positions = len(simulation.schedule.ops)
    in_use = tuple(int(value) for value in simulation.total)
    return Placement(tuple(blocks), tuple(zip(starts, sizes, strict=False)), in_use, (starts[-1],) * positions, None)
