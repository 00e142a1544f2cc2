"""A step under an allocator in each of several orders: what is typical, how far they differ, how many fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphmem.runtime.allocators import Exact
from graphmem.runtime.bfc import Bfc
from graphmem.runtime.replay import Allocation, replay
from graphmem.runtime.simulate import Simulation
from graphmem.runtime.typical import typical


@dataclass(frozen=True)
class Allocations:
    """What an allocator made of a step in each of several orders.

    Attributes:
        typical: that of the most frequent outcome: the most in use, of the orders that fail if most do.
        range_bytes: least and most in use at the peak.
        orders: how many orders were replayed.
        failing: in how many of them the allocator failed.
        limit: bytes that it was allowed; `None`: any amount.
    """

    typical: Allocation
    range_bytes: tuple[int, int]
    orders: int
    failing: int
    limit: int | None


def replay_all(drawn: Sequence[Simulation], allocator: str, limit: int | None = None) -> Allocations:
    """Replay a step in each order drawn, each under a new allocator of the name and limit given."""
    made = [replay(one, make_allocator(allocator, one.env.device, limit)) for one in drawn]
    failing = [one for one in made if one.fails]
    chosen = failing if 2 * len(failing) > len(made) else [one for one in made if not one.fails]
    in_use = [one.peak.bytes_in_use for one in made]
    best = chosen[typical([one.peak.bytes_in_use for one in chosen])]
    return Allocations(best, (min(in_use), max(in_use)), len(made), len(failing), limit)


def make_allocator(name: str, device: str, limit: int | None = None) -> Exact | Bfc:
    """A new allocator by name, as TensorFlow sets it up for a device.

    Args:
        name: "bfc", "exact" or "async".
        device: a GPU's pool is one region of the whole limit and, where it grows, gives free regions back before it
            fails; the CPU's grows and does not (`TF_CPU_ALLOCATOR_USE_BFC`).
        limit: bytes that it may take; `None`: any amount, with growth.
    """
    if name != "bfc":
        return Exact(limit, name)
    on_gpu = device == "gpu"
    return Bfc(limit, growth=limit is None or not on_gpu, collect=on_gpu)
