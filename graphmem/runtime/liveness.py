"""Lifetimes of buffers under a schedule: who shares storage, who takes a buffer over, who updates in place.

The convention: while an op runs, its inputs, its outputs and its scratch are alive together. A buffer is born when the
op that asks for it starts and dies after its last holder has run; lifetimes are half-open, `[born, freed)`.

A buffer is held by each input that has not been read yet, by lists, and, if it is persistent (arguments, constants,
variables), by whoever owns it. An op may take over an input's buffer only when it is the last to hold it
(`OpKernelContext::forward_input`), and updates a variable in place only when nobody else holds its buffer
(`PrepareToUpdateVariable`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graphmem.graph.model import Op, StepGraph, Tensor
from graphmem.runtime.effects import ARGUMENT, COMPUTE, CONSTANT, LIST, MERGE, VARIABLE, Effect, Made
from graphmem.runtime.executor import Schedule
from graphmem.runtime.frames import DEAD
from graphmem.runtime.lists import TensorList

SCRATCH = -1
COPY = -2
NOTHING = -1


@dataclass(slots=True)
class Lifetimes:
    """Buffers of one step, as parallel lists indexed by buffer.

    Attributes:
        nbytes: size in bytes; `None` if unknown.
        born, freed: schedule positions, half-open; `freed` is the number of positions if nothing frees it.
        op: op that made it.
        slot: its output, `SCRATCH` for a temporary, `COPY` for the copy of a variable made to update it.
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
        self.graph, self.schedule, self.effects = graph, schedule, effects
        self.out = Lifetimes(value_buffer=[NOTHING] * schedule.count)
        self.made: list[Made] = []
        self.refs: list[int] = []
        self.end = len(schedule.ops)
        self.readers = schedule.readers or _count_readers(schedule)
        self.lists: dict[int, TensorList] = {}
        self.handles: dict[int, int] = {}
        self.variables: dict[int, int] = {}
        self.position = 0
        self.copy_on_read = self._sparse_variables()
        self.special = {ARGUMENT: self._argument, CONSTANT: self._constant, VARIABLE: self._variable, LIST: self._list}

    def run(self) -> Lifetimes:
        effects, refs, readers, lists = self.effects, self.refs, self.readers, self.lists
        out, given = self.out, self.schedule.inputs
        value_buffer, last, freed, new = out.value_buffer, out.last, out.freed, self._new
        for position, index in enumerate(self.schedule.ops):
            self.position = position
            inputs, base, effect = given[position], self.schedule.values[position], effects[index]
            if effect.action == COMPUTE:
                for slot, view, takes, made in effect.outputs:
                    value = base + slot
                    if view >= 0:
                        buffer = value_buffer[inputs[view]]
                        if buffer >= 0:
                            value_buffer[value] = buffer
                            refs[buffer] += readers[value]
                        else:
                            self._alias(value, inputs[view])
                        continue
                    for place in takes:
                        buffer = value_buffer[inputs[place]]
                        if buffer >= 0 and refs[buffer] == 1:
                            break
                    else:
                        if made[0] == 0:
                            continue
                        buffer = new(made)
                    value_buffer[value] = buffer
                    refs[buffer] += readers[value]
                if effect.scratch:
                    self._scratch(index, effect, inputs)
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
                    self._release(lists[value])
            for value in range(base, base + len(effect.outputs)):
                if not readers[value]:
                    self._unread(value)
        out.after = self.variables
        out.nbytes = [made[0] for made in self.made]
        out.op = [made[1] for made in self.made]
        out.slot = [made[2] for made in self.made]
        out.resident = [made[3] for made in self.made]
        out.host = [made[4] for made in self.made]
        return out

    def _unread(self, value: int) -> None:
        """An output that nobody reads dies with its op, unless something else holds its buffer."""
        buffer = self.out.value_buffer[value]
        if buffer >= 0:
            if not self.refs[buffer]:
                self._free(buffer)
        elif value in self.lists and not self.lists[value].holders:
            self._drop_elements(self.lists[value])

    def _scratch(self, index: int, effect: Effect, inputs: list[int]) -> None:
        host = effect.outputs[0].made.host if effect.outputs else False
        for nbytes, place in effect.scratch:
            if place >= 0 and inputs[place] != DEAD:
                buffer = self.out.value_buffer[inputs[place]]
                if buffer >= 0 and self.refs[buffer] == 1:
                    continue  # the kernel works in its input's buffer
            self._free(self._new(Made(nbytes, index, SCRATCH, False, host)))
            if nbytes is None:
                self.out.unknown[index] = None

    # --- arguments and variables

    def _constant(self, index: int, effect: Effect, inputs: list[int], base: int) -> None:
        for slot, _, _, made in effect.outputs:
            self._give(base + slot, self._new(made, holders=1))

    def _argument(self, index: int, effect: Effect, inputs: list[int], base: int) -> None:
        op, made = self.graph.ops[index], effect.outputs[0].made
        kind, number = op.attrs.get("_arg", ("argument", -1))
        if op.outputs[0].dtype == "resource":
            if kind == "variable" and number not in self.variables:
                nbytes = self.graph.variables[number].nbytes
                buffer = self._new(made._replace(nbytes=nbytes, host=False), holders=1)
                self.variables[number] = self.out.before[number] = buffer
            self.handles[base] = number if kind == "variable" else NOTHING
        else:
            self._give(base, self._new(made, holders=1))

    def _variable(self, index: int, effect: Effect, inputs: list[int], base: int) -> None:
        rule = effect.rule
        assert rule is not None
        numbers = [self.handles.get(value, NOTHING) for value in inputs]
        number = numbers[rule.handle]
        if number not in self.variables:
            self._new_outputs(index, effect, base)
        elif rule.variable == "read":
            if number in self.copy_on_read:
                self._new_outputs(index, effect, base)
            else:
                self._give(base, self.variables[number])
        elif rule.variable == "assign":
            self._assign(index, number, inputs[1])
        elif rule.variable == "update":
            for changed in numbers:
                if changed in self.variables and (
                    self.refs[self.variables[changed]] != 1 or changed in self.copy_on_read
                ):
                    self._replace(index, changed)
        else:
            self._new_outputs(index, effect, base)
        if effect.scratch:
            self._scratch(index, effect, inputs)

    def _assign(self, index: int, number: int, value: int) -> None:
        """`AssignVariableOp` adopts the value's buffer, save in copy-on-read mode, where it copies."""
        buffer = self.out.value_buffer[value] if value != DEAD else NOTHING
        if buffer < 0 or number in self.copy_on_read:
            self._replace(index, number)
            return
        self.refs[buffer] += 1
        old, self.variables[number] = self.variables[number], buffer
        self._unref(old)

    def _replace(self, index: int, number: int) -> None:
        """A new buffer for a variable: its copy, made because somebody still reads the old one."""
        old = self.variables[number]
        nbytes = self.graph.variables[number].nbytes
        self.variables[number] = self._new(Made(nbytes, index, COPY, False, False), holders=1)
        self._unref(old)

    def _sparse_variables(self) -> set[int]:
        """Variables that some op of the step accesses sparsely: in copy-on-read mode for good."""
        found = set()
        for op, effect in zip(self.graph.ops, self.effects, strict=True):
            rule = effect.rule
            if rule is not None and rule.variable == "sparse":
                producer = op.inputs[rule.handle][0]
                kind, number = self.graph.ops[producer].attrs.get("_arg", ("", NOTHING))
                if kind == "variable":
                    found.add(number)
        return found

    # --- lists

    def _list(self, index: int, effect: Effect, inputs: list[int], base: int) -> None:
        what = (effect.rule.list_op if effect.rule else "") or "elementwise"
        given = self.lists.get(inputs[0]) if inputs and inputs[0] != DEAD else None
        if what == "reserve":
            self._hold(base, TensorList())
        elif what in ("push", "set"):
            made = self._own(given)
            buffer = self.out.value_buffer[inputs[-1]]
            if buffer >= 0:
                self.refs[buffer] += 1
                made.elements.append(buffer)
            self._hold(base, made)
        elif what == "pop":
            self._pop(index, effect, self._own(given), base)
        elif what == "get":
            found = given.read() if given else None
            if found is None:
                self._new_outputs(index, effect, base)
            else:
                self._give(base, found)
        elif what == "pack":
            self._pack(inputs, base)
        elif what == "unpack":
            packed = given.elements if given else []
            for slot, buffer in enumerate(packed[: len(effect.outputs)]):
                self._give(base + slot, buffer)
            self._new_outputs(index, effect, base, first=len(packed))
        elif what == "from_tensor":
            self._hold(base, self._from_tensor(index, self.graph.ops[index]))
        elif what == "elementwise":
            self._hold(base, self._like(index, given))
        else:
            self._new_outputs(index, effect, base)

    def _pack(self, inputs: list[int], base: int) -> None:
        """An optional holds the tensors it is made of."""
        held = [self.out.value_buffer[value] for value in inputs if value != DEAD]
        made = TensorList([buffer for buffer in held if buffer >= 0])
        for buffer in made.elements:
            self.refs[buffer] += 1
        self._hold(base, made)

    def _own(self, given: TensorList | None) -> TensorList:
        """The list itself if only this op holds it, else a copy that shares the elements."""
        if given is None:
            return TensorList()
        if given.holders == 1:
            moved = TensorList(given.elements, 0, given.cursor)
            given.elements = []
            return moved
        for buffer in given.elements:
            self.refs[buffer] += 1
        return TensorList(list(given.elements), 0, given.cursor)

    def _pop(self, index: int, effect: Effect, made: TensorList, base: int) -> None:
        self._hold(base, made)
        if made.elements:
            buffer = made.elements.pop()
            self._give(base + 1, buffer)
            self.refs[buffer] -= 1
        else:
            self._new_outputs(index, effect, base, first=1)

    def _from_tensor(self, index: int, op: Op) -> TensorList:
        """Every row of the tensor becomes an element of its own, copied (measured)."""
        producer, slot = op.inputs[0]
        tensor: Tensor = self.graph.ops[producer].outputs[slot]
        rows = tensor.shape[0] if tensor.shape else None
        if not rows or tensor.nbytes is None:
            made, count = Made(tensor.nbytes, index, 0, False, tensor.host), int(tensor.nbytes != 0)
        else:
            made, count = Made(tensor.nbytes // rows, index, 0, False, tensor.host), rows
        return TensorList([self._new(made, holders=1) for _ in range(count)])

    def _like(self, index: int, given: TensorList | None) -> TensorList:
        """A list of new tensors of the sizes of another's: zeros, or sums of two lists."""
        sizes = [self.made[item] for item in given.elements] if given else []
        return TensorList([self._new(Made(size.nbytes, index, 0, False, size.host), holders=1) for size in sizes])

    def _hold(self, value: int, made: TensorList) -> None:
        self.lists[value] = made
        made.holders = self.readers[value]

    def _release(self, held: TensorList) -> None:
        held.holders -= 1
        if not held.holders:
            self._drop_elements(held)

    def _drop_elements(self, held: TensorList) -> None:
        elements, held.elements = held.elements, []
        for buffer in elements:
            self._unref(buffer)

    # --- buffers

    def _new_outputs(self, index: int, effect: Effect, base: int, first: int = 0) -> None:
        for slot, _, _, made in effect.outputs[first:]:
            if made.nbytes != 0:
                self._give(base + slot, self._new(made))

    def _new(self, made: Made, holders: int = 0) -> int:
        out, buffer = self.out, len(self.refs)
        self.made.append(made)
        self.refs.append(holders)
        out.born.append(self.position)
        out.freed.append(self.end)
        out.last.append(-1)
        return buffer

    def _give(self, value: int, buffer: int) -> None:
        """A value lives in a buffer; each of its readers holds it."""
        self.out.value_buffer[value] = buffer
        self.refs[buffer] += self.readers[value]

    def _alias(self, value: int, source: int) -> None:
        """A value shares whatever another one is: a buffer, a variable's handle, a list."""
        if source == DEAD:
            return
        buffer = self.out.value_buffer[source]
        if buffer >= 0:
            self._give(value, buffer)
        elif source in self.lists:
            self.lists[value] = self.lists[source]
            self.lists[value].holders += self.readers[value]
        elif source in self.handles:
            self.handles[value] = self.handles[source]

    def _unref(self, buffer: int) -> None:
        self.refs[buffer] -= 1
        if not self.refs[buffer]:
            self._free(buffer)

    def _free(self, buffer: int) -> None:
        self.out.freed[buffer] = self.position + 1


def _count_readers(schedule: Schedule) -> list[int]:
    """How many inputs read each value."""
    readers = [0] * schedule.count
    for inputs in schedule.inputs:
        for value in inputs:
            if value != DEAD:
                readers[value] += 1
    return readers
