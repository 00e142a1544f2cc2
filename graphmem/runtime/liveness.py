"""Lifetimes of buffers under a schedule: who shares storage, who takes a buffer over, who updates in place.

The convention: while an op runs, its inputs, its outputs and its scratch are alive together. A buffer is born when the
op that asks for it starts and dies after its last holder has run; lifetimes are half-open, `[born, freed)`.

A buffer is held by each input that has not been read yet, by lists, and, if it is persistent (arguments, constants,
variables), by whoever owns it. An op may take over an input's buffer only when it is the last to hold it
(`OpKernelContext::forward_input`), and updates a variable in place only when nobody else holds its buffer
(`PrepareToUpdateVariable`).
"""

from __future__ import annotations

from graphmem.graph.model import StepGraph
from graphmem.runtime.arrays import Arrays
from graphmem.runtime.buffers import COPY, SCRATCH, WORKSPACE, Buffers, Lifetimes
from graphmem.runtime.effects import ARGUMENT, COMPUTE, CONSTANT, LIST, MERGE, OBJECT, VARIABLE, Effect
from graphmem.runtime.executor import Schedule
from graphmem.runtime.frames import DEAD
from graphmem.runtime.lists import Lists
from graphmem.runtime.variables import Variables

__all__ = ["COPY", "SCRATCH", "WORKSPACE", "Lifetimes", "lifetimes"]


def lifetimes(graph: StepGraph, schedule: Schedule, effects: list[Effect]) -> Lifetimes:
    """Work out every buffer of a schedule.

    Args:
        graph: the step.
        schedule: the order, from `graphmem.runtime.executor.schedule`.
        effects: what each op does to memory, from `graphmem.runtime.effects.effects`.
    """
    return _Walk(graph, schedule, effects).run()


class _Walk:
    """One pass over a schedule."""

    def __init__(self, graph: StepGraph, schedule: Schedule, effects: list[Effect]) -> None:
        self.schedule, self.effects = schedule, effects
        self.buffers = Buffers(schedule)
        self.lists = Lists(graph, self.buffers, schedule.indices)
        self.variables = Variables(graph, self.buffers)
        self.special = {
            ARGUMENT: self.variables.argument,
            CONSTANT: self._constant,
            VARIABLE: self.variables.access,
            LIST: self.lists.access,
            OBJECT: Arrays(self.lists, self.buffers).access,
        }

    def run(self) -> Lifetimes:
        buffers, lists = self.buffers, self.lists.of
        out, refs, readers = buffers.out, buffers.refs, buffers.readers
        value_buffer, last, freed = out.value_buffer, out.last, out.freed
        for position, index in enumerate(self.schedule.ops):
            buffers.position = position
            inputs, base, effect = self.schedule.inputs[position], self.schedule.values[position], self.effects[index]
            if effect.action == COMPUTE:
                self._compute(index, effect, inputs, base)
            elif effect.action == MERGE:
                self._alias(base, next(value for value in inputs if value != DEAD))
            else:
                self.special[effect.action](index, effect, inputs, base)
            if effect.holds:
                continue
            for value in inputs:
                if value == DEAD:
                    continue
                buffer = value_buffer[value]
                if buffer >= 0:
                    last[buffer] = position
                    refs[buffer] -= 1
                    if not refs[buffer]:
                        freed[buffer] = position + 1
                elif value in lists:
                    self.lists.release(lists[value])
            for value in range(base, base + len(effect.outputs)):
                if not readers[value]:
                    self._unread(value)
        out.after = self.variables.current
        return buffers.finish()

    def _compute(self, index: int, effect: Effect, inputs: list[int], base: int) -> None:
        """Each output is a view of an input, takes over an input's buffer, or gets a buffer of its own."""
        buffers = self.buffers
        refs, readers, value_buffer = buffers.refs, buffers.readers, buffers.out.value_buffer
        for slot, view, takes, made in effect.outputs:
            value = base + slot
            if view >= 0:
                self._alias(value, inputs[view])
                continue
            for place in takes:
                buffer = value_buffer[inputs[place]]
                if buffer >= 0 and refs[buffer] == 1:
                    break
            else:
                if made[0] == 0:
                    continue
                buffer = buffers.new(made)
            value_buffer[value] = buffer
            refs[buffer] += readers[value]
        if effect.scratch or effect.workspace:
            buffers.scratch(index, effect, inputs)

    def _constant(self, index: int, effect: Effect, inputs: list[int], base: int) -> None:
        for slot, _, _, made in effect.outputs:
            self.buffers.give(base + slot, self.buffers.new(made, holders=1))

    def _alias(self, value: int, source: int) -> None:
        """A value shares whatever another one is: a buffer, a list, a variable's handle."""
        if source == DEAD:
            return
        buffer = self.buffers.out.value_buffer[source]
        if buffer >= 0:
            self.buffers.give(value, buffer)
        elif source in self.lists.of:
            self.lists.share(value, source)
        elif source in self.variables.handles:
            self.variables.handles[value] = self.variables.handles[source]

    def _unread(self, value: int) -> None:
        """An output that nobody reads dies with its op, unless something else holds its buffer."""
        buffer = self.buffers.out.value_buffer[value]
        if buffer >= 0:
            if not self.buffers.refs[buffer]:
                self.buffers.free(buffer)
        elif value in self.lists.of and not self.lists.of[value].holders:
            self.lists.drop(self.lists.of[value])
