"""The buffers of a walk over a schedule: what each holds, who holds it, when it is born and dies."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphmem.runtime.effects import Effect, Made
from graphmem.runtime.executor import Schedule
from graphmem.runtime.frames import DEAD

SCRATCH = -1
COPY = -2
WORKSPACE = -3
NOTHING = -1


@dataclass(slots=True)
class Lifetimes:
    """Buffers of one step, as parallel lists indexed by buffer.

    Attributes:
        nbytes: size in bytes; `None` if unknown.
        born, freed: schedule positions, half-open; `freed` is the number of positions if nothing frees it.
        op: op that made it.
        slot: its output, `SCRATCH` for a temporary, `WORKSPACE` for one of cuDNN's, `COPY` for the copy of a
            variable made to update it.
        last: position of its last reader, -1 if it has none.
        resident: whether it lives outside of the step (variables, arguments, constants): not part of its peak.
        host: whether it lives in host memory while the step runs on a GPU: not part of its peak either.
        value_buffer: value of the schedule -> buffer, -1 for none.
        before, after: number of a variable -> the buffer that it has before the step, and after it.
        unknown: ops whose scratch has an unknown size.
    """

    nbytes: list[int | None] = field(default_factory=list)
    born: list[int] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)
    op: list[int] = field(default_factory=list)
    slot: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    resident: list[bool] = field(default_factory=list)
    host: list[bool] = field(default_factory=list)
    value_buffer: list[int] = field(default_factory=list)
    before: dict[int, int] = field(default_factory=dict)
    after: dict[int, int] = field(default_factory=dict)
    unknown: dict[int, None] = field(default_factory=dict)


class Buffers:
    """Buffers made so far, and how many hold each: inputs not read yet, lists, owners outside of the step.

    Attributes:
        out: the lifetimes, filled in as the walk goes.
        made: what is known of each buffer.
        refs: holders of each buffer.
        readers: how many inputs read each value of the schedule.
        position: where the walk is.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.out = Lifetimes(value_buffer=[NOTHING] * schedule.count)
        self.made: list[Made] = []
        self.refs: list[int] = []
        self.readers = schedule.readers or _count_readers(schedule)
        self.position = 0
        self._end = len(schedule.ops)

    def new(self, made: Made, holders: int = 0) -> int:
        """A buffer that is born now."""
        out, buffer = self.out, len(self.refs)
        self.made.append(made)
        self.refs.append(holders)
        out.born.append(self.position)
        out.freed.append(self._end)
        out.last.append(-1)
        return buffer

    def new_outputs(self, effect: Effect, base: int, first: int = 0) -> None:
        """A buffer for each output from the `first` on."""
        for slot, _, _, made in effect.outputs[first:]:
            if made.nbytes != 0:
                self.give(base + slot, self.new(made))

    def scratch(self, index: int, effect: Effect, inputs: list[int]) -> None:
        """The temporaries of an op's kernel, which die with it."""
        host = effect.outputs[0].made.host if effect.outputs else False
        for nbytes, place in effect.scratch:
            if place >= 0 and inputs[place] != DEAD:
                buffer = self.out.value_buffer[inputs[place]]
                if buffer >= 0 and self.refs[buffer] == 1:
                    continue  # the kernel works in its input's buffer
            self.free(self.new(Made(nbytes, index, SCRATCH, False, host)))
            if nbytes is None:
                self.out.unknown[index] = None
        if effect.workspace:
            self.free(self.new(Made(effect.workspace, index, WORKSPACE, False, host)))

    def give(self, value: int, buffer: int) -> None:
        """A value lives in a buffer; each of its readers holds it."""
        self.out.value_buffer[value] = buffer
        self.refs[buffer] += self.readers[value]

    def unref(self, buffer: int) -> None:
        """One holder less."""
        self.refs[buffer] -= 1
        if not self.refs[buffer]:
            self.free(buffer)

    def free(self, buffer: int) -> None:
        """It dies when the op that runs now has finished."""
        self.out.freed[buffer] = self.position + 1

    def finish(self) -> Lifetimes:
        """The lifetimes, complete."""
        out = self.out
        out.nbytes = [made[0] for made in self.made]
        out.op = [made[1] for made in self.made]
        out.slot = [made[2] for made in self.made]
        out.resident = [made[3] for made in self.made]
        out.host = [made[4] for made in self.made]
        return out


def _count_readers(schedule: Schedule) -> list[int]:
    readers = [0] * schedule.count
    for inputs in schedule.inputs:
        for value in inputs:
            if value != DEAD:
                readers[value] += 1
    return readers
