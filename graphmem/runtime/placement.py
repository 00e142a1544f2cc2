"""Where TensorFlow's allocator puts each buffer of a step: a replay that keeps what it saw, address by address."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from graphmem.runtime.bfc import Bfc
from graphmem.runtime.replay import Failure, Replay
from graphmem.runtime.simulate import Simulation

BEFORE = -1
"""`Block.buffer` of what was there before the step."""


@dataclass(frozen=True)
class Block:
    """A chunk in use.

    Attributes:
        address: where it starts (bytes); regions of the pool lie one above the other, the first at 0.
        nbytes: what it takes, rounding included.
        born, freed: schedule positions between which it is in use, half-open.
        buffer: its number in `Lifetimes`, or `BEFORE`.
        role: of what was there before the step, one of `graphmem.graph.model.ROLES`; "" for the step's own.
    """

    address: int
    nbytes: int
    born: int
    freed: int
    buffer: int
    role: str


@dataclass(frozen=True)
class Placement:
    """A step in an allocator's pool.

    Attributes:
        blocks: in the order in which they were asked for.
        regions: (address, bytes) of each piece of the pool, in the order in which it was taken from the device.
        in_use: bytes of the chunks in use at each position.
        pool: bytes of the pool at each position.
        failure: what the allocator could not serve, if anything; the blocks end at that position then.
    """

    blocks: tuple[Block, ...]
    regions: tuple[tuple[int, int], ...]
    in_use: tuple[int, ...]
    pool: tuple[int, ...]
    failure: Failure | None


class Watched(Bfc):
    """A BFC allocator that keeps the regions that it ever took, and what is asked of it."""

    def __init__(self, limit: int | None = None, *, growth: bool = True, collect: bool = False) -> None:
        super().__init__(limit, growth=growth, collect=collect)
        self.taken: list[tuple[int, int]] = []  # (address, bytes)
        self.served: list[tuple[int, int, int, int]] = []  # (buffer, address, bytes, pool after that)
        self.freed: set[int] = set()
        self.asked = -1

    def alloc(self, buffer: int, nbytes: int) -> None:
        """See `Allocator`."""
        self.asked = buffer
        super().alloc(buffer, nbytes)
        if nbytes:
            self.served.append((buffer, *self.chunks[buffer], self.pool))

    def free(self, buffer: int) -> None:
        """See `Allocator`."""
        self.freed.add(buffer)
        super().free(buffer)

    def _extend(self, wanted: int) -> bool:
        done = super()._extend(wanted)
        if done:
            self.taken.append((self.bottom, self.regions[self.bottom]))
        return done


def place(simulation: Simulation, allocator: Watched) -> Placement:
    """Replay a step up to its second run, as `graphmem.runtime.replay.replay` does, and tell where everything lay."""
    return _Placing(simulation, allocator).placement()


class _Placing(Replay):
    """A replay that remembers how the last of its steps began."""

    def __init__(self, simulation: Simulation, allocator: Watched) -> None:
        super().__init__(simulation, allocator)
        self.watched = allocator
        self.first = 0
        self.there: dict[int, tuple[int, int]] = {}
        self.owners: dict[int, int] = {}
        self.pool_before = 0

    def _reset(self) -> None:
        super()._reset()
        self.first, self.there, self.pool_before = self.numbers, dict(self.watched.chunks), self.watched.pool
        self.owners = dict(self.variables)
        self.watched.served.clear()
        self.watched.freed.clear()

    def placement(self) -> Placement:
        failure = self.run().fails
        if failure is not None and failure.step == 0:
            return Placement((), tuple(self.watched.taken), (), (), failure)
        end = len(self.ops) if failure is None else self.lives.born[self.watched.asked - self.first] + 1
        blocks = [*self._before(end), *self._own(end)]
        change: np.ndarray = np.zeros(end + 1, np.int64)
        for block in blocks:
            change[block.born] += block.nbytes
            change[block.freed] -= block.nbytes
        in_use = np.cumsum(change[:-1])
        regions = self._stacked()
        return Placement(tuple(blocks), tuple(regions), tuple(map(int, in_use)), tuple(self._pools(end)), failure)

    def _before(self, end: int) -> list[Block]:
        """What was there when the step began; a variable's old buffer goes when the step has made a new one."""
        last: dict[int, int] = {}
        for number, buffer in self.lives.before.items():
            held = self.owners[number]
            last[held] = max(last.get(held, 0), self.lives.freed[buffer])
        role = self.roles | {buffer: self.graph.variables[number].role for number, buffer in self.owners.items()}
        blocks = []
        for number, (address, nbytes) in self.there.items():
            freed = min(end, last.get(number, end)) if number in self.watched.freed else end
            blocks.append(Block(self._offset(address), nbytes, 0, freed, BEFORE, role.get(number, "other state")))
        return blocks

    def _own(self, end: int) -> list[Block]:
        lives, blocks = self.lives, []
        for number, address, nbytes, _ in self.watched.served:
            buffer = number - self.first
            freed = min(end, lives.freed[buffer]) if number in self.watched.freed else end
            blocks.append(Block(self._offset(address), nbytes, lives.born[buffer], freed, buffer, ""))
        return blocks

    def _pools(self, end: int) -> list[int]:
        sizes = [-1] * end
        for number, _, _, pool in self.watched.served:
            sizes[self.lives.born[number - self.first]] = pool
        now = self.pool_before
        for position, size in enumerate(sizes):
            now = size if size >= 0 else now
            sizes[position] = now
        return sizes

    def _stacked(self) -> list[tuple[int, int]]:
        """The regions one above the other, in the order in which they were taken."""
        out, at = [], 0
        for _, size in self.watched.taken:
            out.append((at, size))
            at += size
        return out

    def _offset(self, address: int) -> int:
        """An address above the bottom of the first region; regions are mapped downwards, see `Bfc`."""
        starts = [start for start, _ in reversed(self.watched.taken)]
        number = len(starts) - bisect_right(starts, address)
        return sum(size for _, size in self.watched.taken[:number]) + address - self.watched.taken[number][0]
