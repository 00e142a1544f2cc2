"""The compiler's allocations, and which part of which allocation each logical buffer occupies.

XLA allocates five kinds: the step's parameters, and what the step returns without it being a parameter's own memory;
constants; memory of reductions' and sorts' inner functions, which stays in registers or on the stack; and all else,
the temporary memory, mostly packed into one allocation (`BufferAllocation::IsPreallocatedTempBuffer`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

PARAMETER, CONSTANT, OUTPUT, TEMP, LOCAL = "parameter", "constant", "output", "temp", "thread-local"

#: Number of the host's memory among XLA's memory spaces (`Layout::kHostMemorySpace`).
_HOST = 5


@dataclass(frozen=True, slots=True)
class Allocation:
    """One allocation.

    Attributes:
        kind: `PARAMETER`, `CONSTANT`, `OUTPUT`, `TEMP` or `LOCAL`.
        nbytes: its size.
        host: whether it lies in the host's memory.
        parameter: number of the entry's parameter, -1 for none.
        logical: ids of the logical buffers in it.
    """

    kind: str
    nbytes: int
    host: bool
    parameter: int
    logical: tuple[int, ...]


class Piece(NamedTuple):
    """The part of an allocation that a logical buffer occupies."""

    allocation: int
    offset: int
    nbytes: int


@dataclass(slots=True)
class Assignment:
    """What XLA's buffer assignment says.

    Attributes:
        allocations: by index.
        pieces: logical buffer -> where it lies.
        defined: (id of an instruction, index in its tuple) -> the logical buffer that it defines there.
        places: the other way round.
    """

    allocations: dict[int, Allocation]
    pieces: dict[int, Piece]
    defined: dict[tuple[int, tuple[int, ...]], int]
    places: dict[int, tuple[int, tuple[int, ...]]]

    def total(self, kind: str, *, host: bool = False) -> int:
        """Bytes of all allocations of a kind, on the device or on the host."""
        return sum(self.sizes(kind, host=host))

    def sizes(self, kind: str, *, host: bool = False) -> list[int]:
        """Bytes of each allocation of a kind, on the device or on the host."""
        return [item.nbytes for item in self.allocations.values() if item.kind == kind and item.host == host]


def read_assignment(proto: Any) -> Assignment:
    """The plain form of a `BufferAssignment`."""
    allocations, pieces = {}, {}
    for item in proto.buffer_allocations:
        assigned = item.assigned
        parameter = item.parameter_number if item.is_entry_computation_parameter else -1
        logical = tuple(part.logical_buffer_id for part in assigned)
        allocations[item.index] = Allocation(_kind(item), item.size, item.color == _HOST, parameter, logical)
        for part in assigned:
            pieces[part.logical_buffer_id] = Piece(item.index, part.offset, part.size)
    places = {}
    for buffer in proto.logical_buffers:
        where = buffer.defined_at
        places[buffer.id] = where.instruction_id, tuple(where.shape_index)
    return Assignment(allocations, pieces, {place: number for number, place in places.items()}, places)


def _kind(item: Any) -> str:
    if item.is_thread_local:
        return LOCAL
    if item.is_entry_computation_parameter:
        return PARAMETER
    if item.is_constant:
        return CONSTANT
    return OUTPUT if item.maybe_live_out else TEMP
