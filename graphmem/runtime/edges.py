"""The order of an op's out edges, as TensorFlow's graph keeps them.

`EdgeSet` (graph/edgeset.h) holds up to eight edges in the order they were added; more go into a hash set of pointers
(gtl/flatrep.h), which is walked slot by slot. Edges are allocated one after another from an arena, so where one lands
depends on its number and on where the arena happens to lie: that address is the one thing that is drawn.
"""

from __future__ import annotations

#: Edges that an EdgeSet keeps in the order they were added.
INLINE_EDGES = 8
#: sizeof(Edge), the arena's block size, and what malloc puts between two blocks (bytes).
_EDGE, _BLOCK, _GAP = 32, 8192, 16
_PER_BLOCK = _BLOCK // _EDGE


#: An address moves by this much to move a pointer to the next slot (bytes).
_SLOT = 256
_GOLDEN = 0.6180339887498949


def draw_base(draw: int, count: int) -> int:
    """An address for the arena's first block: the given one of a sequence that spreads evenly.

    Moving the arena turns a hash set's slots round, and the largest set, that of the graph's start, decides most about
    an order. Steps by the golden ratio, over the addresses that turn it round once, show what is likely with fewer
    draws than random addresses do (a Weyl sequence).

    Args:
        draw: 0 for the first.
        count: edges of the largest set.
    """
    turn = _SLOT * _capacity(count)
    return int(draw * _GOLDEN % 1 * turn) // 16 * 16


def _capacity(count: int) -> int:
    """Slots of a set with so many pointers."""
    slots = 8
    while count >= 0.8 * slots:
        slots *= 2
    return slots


def walk(numbers: list[int], base: int) -> list[int]:
    """Positions of a node's out edges in the order in which TensorFlow walks them.

    Args:
        numbers: when each edge was allocated, in the order the edges were added.
        base: address of the arena.

    Returns:
        A permutation of `range(len(numbers))`; the identity for up to eight edges.
    """
    if len(numbers) <= INLINE_EDGES:
        return list(range(len(numbers)))
    hashes = []
    for number in numbers:
        address = base + number * _EDGE + number // _PER_BLOCK * _GAP
        hashes.append((address + (address >> 6)) >> 8)  # gtl::hash<T*>; the low byte is only a marker
    return [position for position in _insert_all(hashes) if position >= 0]


def _insert_all(hashes: list[int]) -> list[int]:
    """The slots of a FlatRep after inserting in order: open addressing, quadratic probing, growth at 80 %."""
    capacity, limit = 8, 6
    slots = [-1] * capacity
    reached: dict[int, tuple[int, int]] = {}
    for position, value in enumerate(hashes):
        if position >= limit:
            old = slots
            while position + 1 >= 0.8 * capacity:
                capacity *= 2
            limit = int(capacity * 0.8)
            slots = [-1] * capacity
            reached = {}
            for moved in old:
                if moved >= 0:
                    _insert(slots, reached, hashes[moved] & (capacity - 1), moved)
        _insert(slots, reached, value & (capacity - 1), position)
    return slots


def _insert(slots: list[int], reached: dict[int, tuple[int, int]], start: int, position: int) -> None:
    """Put one in the first free slot of the sequence that begins at `start`.

    Neighbours in memory begin at the same slot, eight at a time. Nothing is ever removed, so each goes on from where
    the one before came to (`reached`).
    """
    mask = len(slots) - 1
    index, probes = reached.get(start, (start, 1))
    while slots[index] >= 0:
        index = (index + probes) & mask
        probes += 1
    slots[index] = position
    reached[start] = index, probes
