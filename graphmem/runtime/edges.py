"""The order of an op's out edges, as TensorFlow's graph keeps them.

`EdgeSet` (graph/edgeset.h) holds up to eight edges in the order they were added; more go into a hash set of pointers
(gtl/flatrep.h), which is walked slot by slot. Where an edge lies in memory thus decides an order. The graph that an
executor gets is a copy (`Graph::Copy`): its arena holds the nodes and then the edges, one after another, in blocks from
malloc. Where these lie is the one thing that is drawn.

Read off from what TensorFlow 2.21 allocates (`benchmarks/orders.py`).
"""

from __future__ import annotations

import random

#: Edges that an EdgeSet keeps in the order they were added.
INLINE_EDGES = 8
#: Edges from the graph's source to its sink, the first of all: each copy adds one.
SINK_EDGES = 3
#: sizeof(Node), sizeof(Edge), the arena's block size, and what malloc puts between two blocks (bytes).
_NODE, _EDGE, _BLOCK, _GAP = 200, 32, 8192, 16
_PER_BLOCK = _BLOCK // _EDGE
_NODES_PER_BLOCK = (_BLOCK - _EDGE) // _NODE

#: An address moves by this much to move a pointer to the next slot (bytes).
_SLOT = 256
_GOLDEN = 0.6180339887498949
#: A heap, far larger than any set of pointers is wide (bytes).
_HEAP = 1 << 40


class Arena:
    """The addresses of a graph's edges in one of the many states that a process's heap may be in.

    malloc fills the smallest holes first. In a program that has done nothing but make a model, more and more blocks lie
    side by side: alone where ten went before, in twos after twenty, nines after 180, 26 after 900. In one that has done
    more, a profiler's work among it, hardly any do. Every other draw is of that kind.

    Moving the arena turns a hash set's slots round, and the largest set, that of the graph's start, decides most about
    an order. Steps by the golden ratio, over the addresses that turn it round once, show what is likely with fewer
    draws than random addresses do (a Weyl sequence). All other blocks are where chance puts them.

    Args:
        ops: nodes of the graph.
        edges: its edges, those from the source and to the sink included.
        roots: numbers of the edges from the source to ops.
        draw: which state: any number from 0 on.
    """

    def __init__(self, ops: int, edges: int, roots: list[int], draw: int) -> None:
        nodes = ops + 2  # source and sink
        node_blocks, last = divmod(nodes - 1, _NODES_PER_BLOCK)
        self._start = (last + 1) * _NODE + (0 if node_blocks else _EDGE)
        self._room = (_BLOCK - self._start) // _EDGE  # edges behind the last node
        blocks = 1 + -(-max(0, edges - self._room) // _PER_BLOCK)
        rng = random.Random(draw)
        self._blocks = _blocks(node_blocks, blocks, rng, scattered=bool(draw % 2))
        turned = int(draw * _GOLDEN % 1 * _SLOT * capacity(len(roots))) // 16 * 16
        anchor = self._blocks[self._block(roots[0] if roots else 0)]
        self._blocks = [_HEAP + turned + block - anchor for block in self._blocks]
        self._first = _anywhere(rng) if node_blocks else self._blocks[0] + 2 * _NODE

    def addresses(self, numbers: list[int]) -> list[int]:
        """Where edges lie, by their places in the order of all edges but the first."""
        return [self._address(number) for number in numbers]

    def from_source(self, roots: list[int]) -> list[int]:
        """Where the edges from the source lie: to the sink, the first of them among the first nodes, then to ops."""
        return [self._first, *self.addresses([*range(SINK_EDGES - 1), *roots])]

    def _block(self, number: int) -> int:
        return 0 if number < self._room else 1 + (number - self._room) // _PER_BLOCK

    def _address(self, number: int) -> int:
        if number < self._room:
            return self._blocks[0] + self._start + number * _EDGE
        block, place = divmod(number - self._room, _PER_BLOCK)
        return self._blocks[1 + block] + place * _EDGE


def _blocks(before: int, count: int, rng: random.Random, *, scattered: bool) -> list[int]:
    """Addresses of an arena's blocks after the first `before` ones, in runs of neighbours unless they are scattered."""
    blocks: list[int] = []
    left = 0
    for number in range(before, before + count):
        if not left:
            length = 1 if scattered else max(1, round(number**0.7 / 4))
            left = length if blocks else rng.randint(1, length)
            address = _anywhere(rng)
        blocks.append(address)
        address += _BLOCK + _GAP
        left -= 1
    return blocks


def _anywhere(rng: random.Random) -> int:
    return rng.randrange(0, 1 << 30, 16)


def capacity(count: int) -> int:
    """Slots of a set with so many pointers."""
    slots = 8
    while count >= 0.8 * slots:
        slots *= 2
    return slots


def walk(addresses: list[int], *, grown: bool = False) -> list[int]:
    """Positions of a node's out edges in the order in which TensorFlow walks them.

    Args:
        addresses: of the edges, in the order they were added.
        grown: whether the set grew as edges came, as that of the source does; `Graph::Copy` knows how many the others
            will have.

    Returns:
        A permutation of `range(len(addresses))`; the identity for up to eight edges.
    """
    if len(addresses) <= INLINE_EDGES:
        return list(range(len(addresses)))
    hashes = [(address + (address >> 6)) >> 8 for address in addresses]  # gtl::hash<T*>; the low byte is only a marker
    slots = _insert_growing(hashes) if grown else _insert_all(hashes)
    return [position for position in slots if position >= 0]


def _insert_all(hashes: list[int]) -> list[int]:
    """The slots of a FlatRep that has room for all: open addressing, quadratic probing."""
    slots = [-1] * capacity(len(hashes))
    reached: dict[int, tuple[int, int]] = {}
    for position, value in enumerate(hashes):
        _insert(slots, reached, value & (len(slots) - 1), position)
    return slots


def _insert_growing(hashes: list[int]) -> list[int]:
    """The slots of a FlatRep that was made for a few pointers and doubles at 80 %, in the order of its slots."""
    size, limit = 8, 6
    slots = [-1] * size
    reached: dict[int, tuple[int, int]] = {}
    for position, value in enumerate(hashes):
        if position >= limit:
            old = slots
            while position + 1 >= 0.8 * size:
                size *= 2
            limit = int(size * 0.8)
            slots = [-1] * size
            reached = {}
            for moved in old:
                if moved >= 0:
                    _insert(slots, reached, hashes[moved] & (size - 1), moved)
        _insert(slots, reached, value & (size - 1), position)
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
