"""What every allocator is to a step, and the simplest: one that counts the bytes asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class OutOfMemory(Exception):
    """An allocator cannot serve a request.

    Attributes:
        requested: bytes asked for.
        free: bytes of the pool that are in no chunk in use, with what the pool may still grow by.
        largest_free: the largest free chunk (bytes).
    """

    def __init__(self, requested: int, free: int, largest_free: int) -> None:
        super().__init__(f"{requested} bytes asked for, {free} free, {largest_free} in one piece")
        self.requested, self.free, self.largest_free = requested, free, largest_free


@dataclass(slots=True)
class Stats:
    """What an allocator says of itself (bytes), in TensorFlow's words.

    Attributes:
        bytes_in_use: chunks in use.
        peak_bytes_in_use: the most that they ever were.
        pool_bytes: what the allocator has from the device, in use or not.
        largest_free: the largest free chunk.
    """

    bytes_in_use: int = 0
    peak_bytes_in_use: int = 0
    pool_bytes: int = 0
    largest_free: int = 0

    @property
    def fragmentation(self) -> float:
        """The share of the pool's free bytes that is not in its largest free chunk."""
        free = self.pool_bytes - self.bytes_in_use
        return (free - self.largest_free) / free if free else 0.0


class Allocator(Protocol):
    """Serves requests in the order given; `buffer` is any number not in use."""

    name: str
    in_use: int

    def alloc(self, buffer: int, nbytes: int) -> None:
        """Find room for a buffer of some bytes; one of 0 bytes needs none.

        Raises:
            OutOfMemory: there is none.
        """

    def free(self, buffer: int) -> None:
        """Give a buffer's room back; nothing happens for one of 0 bytes."""

    @property
    def stats(self) -> Stats:
        """The state now."""


class Exact:
    """Counts live bytes: no rounding, no slack, no holes.

    Args:
        limit: the most that may be in use (bytes); `None`: any amount.
        name: "exact", or "async": cudaMallocAsync counts so as well.
    """

    def __init__(self, limit: int | None = None, name: str = "exact") -> None:
        self.limit, self.name = limit, name
        self.sizes: dict[int, int] = {}
        self.in_use = self.peak = 0

    def alloc(self, buffer: int, nbytes: int) -> None:
        """See `Allocator`."""
        if self.limit is not None and self.in_use + nbytes > self.limit:
            raise OutOfMemory(nbytes, self.limit - self.in_use, self.limit - self.in_use)
        self.sizes[buffer] = nbytes
        self.in_use += nbytes
        self.peak = max(self.peak, self.in_use)

    def free(self, buffer: int) -> None:
        """See `Allocator`."""
        self.in_use -= self.sizes.pop(buffer)

    @property
    def stats(self) -> Stats:
        """See `Allocator`; the pool is what is in use."""
        return Stats(self.in_use, self.peak, self.in_use)
