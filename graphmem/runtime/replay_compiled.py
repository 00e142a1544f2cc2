"""A step that XLA compiled under an allocator: it asks for all its blocks when it starts, for nothing afterwards."""

from __future__ import annotations

from graphmem.runtime.allocators import Allocator
from graphmem.runtime.replay import Allocation, Replay
from graphmem.runtime.simulate import Simulation


def replay_compiled(simulation: Simulation, allocator: Allocator) -> Allocation:
    """Feed an allocator, new and empty, with what a program asks for up to and in its second compiled step.

    Constants are part of the compiled program, which on a CPU is not in the allocator's memory.
    """
    return _CompiledReplay(simulation, allocator).run()


class _CompiledReplay(Replay):
    """As for the executor, but for the step itself: results, then temporary memory (`BufferAllocations`)."""

    def _constants(self) -> None:
        """None that the allocator hears of."""

    def _events(self) -> tuple[list[int], list[int]]:
        return [], []

    def _replay_step(self, born: list[int], freed: list[int]) -> None:
        xla = self.graph.info["xla"]
        asked = [self._alloc(nbytes) for nbytes in (*xla["output_allocations"], *xla["temp_allocations"])]
        self.peak, self.position = self.allocator.stats, 0
        for number in reversed(asked):
            self.allocator.free(number)
