"""What making a variable asks an allocator for, request by request: measured of Keras 3's initialisers.

Tensors that are gone again decide where the next ones go, and how large the pool's regions are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

#: What a handle of an eager variable takes on the CPU (bytes): `VarHandleOp` keeps a tensor of one `ResourceHandle`.
HANDLE_BYTES = 200

#: What an initial value needs besides tensors of its variable's size (bytes each): its shape, or what seeds random
#: numbers. They take a whole chunk each.
SMALL_BYTES, SEEDS = 8, 4

#: In place of a size: the tensor of that name is freed.
FREED = -1

Requests = Iterator[tuple[str, int]]


def requests(how: str, nbytes: int, shape: tuple[int | None, ...] | None) -> Requests:
    """(name, bytes) of each tensor as it is asked for, (name, `FREED`) as it goes; "value" is what stays.

    Args:
        how: one of `graphmem.graph.model.MAKING`.
        nbytes: of the variable.
        shape: of the variable.
    """
    if how in ("drawn", "orthogonal"):
        yield from _drawn(nbytes, "matrix" if how == "orthogonal" else "value")
        if how == "orthogonal":
            yield from _orthogonal(nbytes, shape)
    elif how == "given":
        yield "value", nbytes
    else:
        yield "shape", SMALL_BYTES
        if how == "scaled":
            yield "ones", nbytes
        yield "value", nbytes
        if how == "scaled":
            yield "ones", FREED
        yield "shape", FREED


def _drawn(nbytes: int, result: str) -> Requests:
    """Random numbers, then scaled by a range that is worked out, then shifted."""
    seeds = [f"seed {number}" for number in range(SEEDS)]
    yield from ((seed, SMALL_BYTES) for seed in seeds)
    yield "random", nbytes
    yield "range", SMALL_BYTES
    yield "scaled", nbytes
    yield "range", FREED
    yield result, nbytes
    yield from ((name, FREED) for name in ("scaled", "random", *seeds))


def _orthogonal(nbytes: int, shape: tuple[int | None, ...] | None) -> Requests:
    """The orthogonal factor of a matrix, its signs those of the other's diagonal, then multiplied by a gain."""
    *outer, last = shape or (1,)
    columns, rows = last or 1, math.prod(size or 1 for size in outer)
    short = min(rows, columns)
    item = nbytes // max(1, rows * columns)
    for name, size in (("q", nbytes), ("r", short * short * item), ("diagonal", short * item), ("sign", short * item)):
        yield name, size
    yield "signed", nbytes
    yield "sign", FREED
    yield "q", FREED
    if rows < columns:
        yield "turned", nbytes
        yield "signed", FREED
    yield "value", nbytes
    for name in ("matrix", "turned" if rows < columns else "signed", "r", "diagonal"):
        yield name, FREED
