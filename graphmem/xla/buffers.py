"""The buffers of a compiled step: what holds each array, from when to when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphmem.runtime.buffers import NOTHING, SCRATCH, Lifetimes
from graphmem.xla.allocations import LOCAL, OUTPUT, TEMP, Assignment
from graphmem.xla.intervals import Interval, read_trace, untraced
from graphmem.xla.program import Program, Ref, workspaces
from graphmem.xla.shapes import is_tuple


@dataclass(slots=True)
class Buffers:
    """What `assign_buffers` finds.

    Attributes:
        lives: the buffers: first each interval of temporary memory, then the parameters, the constants and what the
            step returns. Those are resident: the caller holds them, or they are allocated before the step starts.
        intervals: those of temporary memory, by the number of their buffer.
        traces: the same by the heap simulator's trace that they are from.
        buffer_of: array -> number of its buffer.
        scratch: arrays that are a library call's workspace.
        returned: arrays that the step returns in memory of their own.
    """

    lives: Lifetimes
    intervals: list[Interval]
    traces: list[list[Interval]]
    buffer_of: dict[Ref, int]
    scratch: set[Ref]
    returned: set[Ref]


def assign_buffers(program: Program, assignment: Assignment, traces: Any) -> Buffers:
    """Work out every buffer of a compiled step.

    Args:
        program: the flattened module.
        assignment: where each logical buffer lies.
        traces: the `HeapSimulatorTrace`s.

    Raises:
        InternalError: a trace contradicts itself.
    """
    return _Assigner(program, assignment, traces).run()


class _Assigner:
    """One compiled step."""

    def __init__(self, program: Program, assignment: Assignment, traces: Any) -> None:
        self.program, self.assignment = program, assignment
        self.end = len(program.instructions)
        self.position = {item.id: place for place, item in enumerate(program.instructions)}
        by_trace = [read_trace(trace.events, assignment, self._start, self.end) for trace in traces]
        traced = {number for found in by_trace for item in found for number in item.members}
        found = [item for items in by_trace for item in items]
        found += untraced(assignment, traced, self._start_of_array, self.end)
        intervals = sorted((item for item in found if item.nbytes), key=lambda item: item.born)
        self.out = Buffers(Lifetimes(), intervals, by_trace, {}, workspaces(program), set())

    def run(self) -> Buffers:
        out = self.out
        inside = {number: place for place, item in enumerate(out.intervals) for number in item.members}
        outputs: set[int] = set()
        for item in out.intervals:
            self._add(item.nbytes, item.born, *self._maker(item.members), resident=False)
        for allocation in self.assignment.allocations.values():
            if allocation.kind in (TEMP, LOCAL):
                continue
            position, slot = self._maker(allocation.logical)
            if slot == SCRATCH:
                continue  # a table of addresses, or a constant inside of another instruction
            number = self._add(allocation.nbytes, 0, position, slot, resident=True)
            if allocation.kind == OUTPUT:
                outputs.add(number)
            inside |= dict.fromkeys(allocation.logical, number)
        for position, made in enumerate(self.program.makes):
            for slot, leaf in enumerate(made):
                self._place((position, slot), leaf.index, inside)
        self._close()
        out.returned = {ref for ref in self.program.result.values() if out.buffer_of.get(ref) in outputs}
        return out

    def _start(self, number: int) -> int:
        """The position from which a logical buffer is there: a parameter's, from the start of its computation."""
        position = self.position[self.assignment.places[number][0]]
        if self.program.instructions[position].opcode == "parameter":
            return self.program.starts[position]
        return position

    def _start_of_array(self, number: int) -> int | None:
        """The same; `None` for what is no array: tuples' tables of addresses, a few bytes that no trace covers."""
        identifier, index = self.assignment.places[number]
        if identifier not in self.position:
            return None
        shape = self.program.instructions[self.position[identifier]].shape
        for place in index:
            shape = shape.tuple_shapes[place]
        return None if is_tuple(shape) else self._start(number)

    def _maker(self, members: list[int] | tuple[int, ...]) -> Ref:
        """Which array stands for a buffer: the first that some instruction makes; tables of addresses are scratch."""
        first = -1
        for number in members:
            identifier, index = self.assignment.places[number]
            position = self.position.get(identifier, -1)
            for slot, leaf in enumerate(self.program.makes[position]) if position >= 0 else ():
                if leaf.index == index:
                    return position, SCRATCH if (position, slot) in self.out.scratch else slot
            first = position if first < 0 else first
        return first, SCRATCH

    def _add(self, nbytes: int, born: int, position: int, slot: int, *, resident: bool) -> int:
        lives = self.out.lives
        lives.nbytes.append(nbytes)
        lives.born.append(born)
        lives.freed.append(self.end)
        lives.op.append(position)
        lives.slot.append(slot)
        lives.last.append(-1)
        lives.resident.append(resident)
        lives.host.append(False)
        return len(lives.nbytes) - 1

    def _place(self, ref: Ref, index: tuple[int, ...], inside: dict[int, int]) -> None:
        """Say in which buffer an array lies: its own, or that of what it is a view of."""
        position, slot = ref
        number = self.assignment.defined.get((self.program.instructions[position].id, index))
        if number is not None:
            buffer = inside.get(number, NOTHING)
        else:
            reads = self.program.reads[position] if slot == 0 else []
            buffer = self.out.buffer_of.get(reads[0], NOTHING) if reads else NOTHING
        if buffer != NOTHING:
            self.out.buffer_of[ref] = buffer

    def _close(self) -> None:
        """Find who reads each buffer last, and when temporary memory is free again."""
        out, lives, program = self.out, self.out.lives, self.program
        for position, reads in enumerate(program.reads):
            if program.makes[position] or position == program.root:
                for ref in reads:
                    buffer = out.buffer_of.get(ref, NOTHING)
                    if buffer != NOTHING:
                        lives.last[buffer] = position
        for buffer, item in enumerate(out.intervals):
            item.close(lives.last[buffer])
            lives.freed[buffer] = item.freed
            lives.last[buffer] = min(lives.last[buffer], item.freed - 1)
            lives.host[buffer] = self.assignment.allocations[item.allocation].host
