"""TensorFlow's allocator on GPUs: best fit with coalescing (`tsl/framework/bfc_allocator.cc`), chunk by chunk.

In its statistics a chunk counts with all that it takes: its rounding, and what was not split off.

Worked example, of the tests too: a pool of one region, requests of 300, 300 and 100 bytes, then the first is freed:

    0         512       1024  1280                    2048
    | free    | b: 300  | c   | free                  |
"""

from __future__ import annotations

from bisect import bisect_left, insort

from graphmem.runtime.allocators import OutOfMemory, Stats

#: Requests are rounded up to a multiple of this many bytes (`kMinAllocationSize`).
UNIT = 256

#: The first region of a pool that grows (bytes); each one that the pool adds of its own is twice the one before.
FIRST_REGION = 2 << 20

#: A chunk that is less than twice the request is given whole, unless that would waste this many bytes.
MOST_SLACK = 128 << 20

#: Where the first region of a pool ends. Regions are mapped one below the other, as mmap does, and never touch.
_TOP = 1 << 60
_GAP = 4096


class Bfc:
    """Best fit with coalescing.

    A request takes the smallest free chunk that holds it, the one at the lowest address if there are several (bins only
    make this quick: they part sizes). What is left over becomes a free chunk if it is at least as large as the request
    or `MOST_SLACK`. A freed chunk merges with its free neighbours at once, within its region.

    Args:
        limit: the most that the pool may take from the device (bytes); `None`: any amount.
        growth: take regions as they are needed, each twice as large as the last; else one region of `limit` bytes.
        collect: give free regions back to the device rather than fail (on for GPUs).
    """

    name = "bfc"

    def __init__(self, limit: int | None = None, *, growth: bool = True, collect: bool = False) -> None:
        if not growth and limit is None:
            raise ValueError("a pool that does not grow needs a limit")
        self.limit, self.collect = limit, collect
        first = FIRST_REGION if limit is None else min(limit, FIRST_REGION) if growth else limit
        self.next_region = _rounded(first or 0)
        self.regions: dict[int, int] = {}  # address -> bytes
        self.chunks: dict[int, tuple[int, int]] = {}  # buffer -> (address, bytes)
        self.by_size: list[tuple[int, int]] = []  # free chunks, sorted (bytes, address)
        self.starts: dict[int, int] = {}  # address -> bytes of each free chunk
        self.ends: dict[int, int] = {}  # end -> address of each free chunk
        self.bottom = _TOP
        self.in_use = self.peak = self.pool = 0

    def alloc(self, buffer: int, nbytes: int) -> None:
        """See `Allocator`."""
        if not nbytes:
            return
        wanted = _rounded(nbytes)
        place = bisect_left(self.by_size, (wanted, 0))
        if place == len(self.by_size):
            self._more(nbytes, wanted)
            place = bisect_left(self.by_size, (wanted, 0))
        size, address = self.by_size[place]
        self._take(place)
        if size >= 2 * wanted or size - wanted >= MOST_SLACK:
            self._put(address + wanted, size - wanted)
            size = wanted
        self.chunks[buffer] = (address, size)
        self.in_use += size
        if self.in_use > self.peak:
            self.peak = self.in_use

    def free(self, buffer: int) -> None:
        """See `Allocator`."""
        chunk = self.chunks.pop(buffer, None)
        if chunk is None:
            return
        address, size = chunk
        self.in_use -= size
        after = self.starts.get(address + size)
        if after is not None:
            self._take(bisect_left(self.by_size, (after, address + size)))
            size += after
        before = self.ends.get(address)
        if before is not None:
            self._take(bisect_left(self.by_size, (address - before, before)))
            size, address = size + address - before, before
        self._put(address, size)

    @property
    def stats(self) -> Stats:
        """See `Allocator`."""
        return Stats(self.in_use, self.peak, self.pool, self.by_size[-1][0] if self.by_size else 0)

    def _more(self, nbytes: int, wanted: int) -> None:
        """Add a region that holds a request, after giving free ones back if need be."""
        if self._extend(wanted) or (self._collected(wanted) and self._extend(wanted)):
            return
        free = self.pool - self.in_use if self.limit is None else self.limit - self.in_use
        raise OutOfMemory(nbytes, free, self.stats.largest_free)

    def _extend(self, wanted: int) -> bool:
        """`BFCAllocator::Extend`: a region of the current size, doubled until it holds the request."""
        room = None if self.limit is None else (self.limit - self.pool) // UNIT * UNIT
        if room is not None and wanted > room:
            return False
        doubled = wanted > self.next_region
        while wanted > self.next_region:
            self.next_region *= 2
        size = self.next_region if room is None else min(self.next_region, room)
        if not doubled:
            self.next_region *= 2
        self.bottom -= size + _GAP
        self.regions[self.bottom] = size
        self.pool += size
        self._put(self.bottom, size)
        return True

    def _collected(self, wanted: int) -> bool:
        """`DeallocateFreeRegions`: give all regions back that nothing uses, if that can help."""
        idle = [(address, size) for address, size in self.regions.items() if self.starts.get(address) == size]
        gained = sum(size for _, size in idle)
        if not self.collect or not idle or self.limit is None or wanted > self.limit - self.pool + gained:
            return False
        for address, size in idle:
            self._take(bisect_left(self.by_size, (size, address)))
            del self.regions[address]
            self.pool -= size
        return True

    def _put(self, address: int, size: int) -> None:
        insort(self.by_size, (size, address))
        self.starts[address] = size
        self.ends[address + size] = address

    def _take(self, place: int) -> None:
        size, address = self.by_size.pop(place)
        del self.starts[address], self.ends[address + size]


def _rounded(nbytes: int) -> int:
    return -(-nbytes // UNIT) * UNIT
