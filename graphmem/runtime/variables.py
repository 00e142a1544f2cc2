"""Variables during a step: reads share the variable's buffer, updates work in place or on a copy.

An update copies the variable first if anybody else still holds its buffer (`PrepareToUpdateVariable`,
training_op_helpers.h). Sparse access switches a variable to copy-on-read for good: from then on reads, assignments and
dense updates all copy (resource_variable_ops.cc).
"""

from __future__ import annotations

from collections.abc import Iterable

from graphmem.graph.model import StepGraph
from graphmem.ops.registry import lookup
from graphmem.runtime.buffers import COPY, NOTHING, Buffers
from graphmem.runtime.effects import Effect, Made
from graphmem.runtime.frames import DEAD

_PASS_ON = ("Switch", "_SwitchN", "Identity", "Enter", "NextIteration")
"""Op types that give on the handle that is their first input."""


class Variables:
    """The buffer that each variable has at the moment.

    Attributes:
        handles: value of the schedule -> number of the variable that it is a handle of.
        current: number of a variable -> its buffer.
    """

    def __init__(self, graph: StepGraph, buffers: Buffers) -> None:
        self._graph, self._buffers = graph, buffers
        self.handles: dict[int, int] = {}
        self.current: dict[int, int] = {}
        self._copy_on_read = _used(graph, range(len(graph)), ("sparse",))

    def argument(self, index: int, effect: Effect, inputs: list[int], base: int) -> None:
        """An `_Arg`: a handle of a variable, or a tensor that the caller holds all along."""
        op, made = self._graph.ops[index], effect.outputs[0].made
        kind, number = op.attrs.get("_arg", ("argument", -1))
        if op.outputs[0].dtype != "resource":
            self._buffers.give(base, self._buffers.new(made, holders=1))
            return
        if kind == "variable" and number not in self.current:
            nbytes = self._graph.variables[number].nbytes
            buffer = self._buffers.new(made._replace(nbytes=nbytes, host=False), holders=1)
            self.current[number] = self._buffers.out.before[number] = buffer
        self.handles[base] = number if kind == "variable" else NOTHING

    def access(self, index: int, effect: Effect, inputs: list[int], base: int) -> None:
        """An op that reads, assigns or updates variables."""
        rule = effect.rule
        assert rule is not None
        numbers = [self.handles.get(value, NOTHING) for value in inputs]
        number = numbers[rule.handle]
        if number in self.current and rule.variable == "read" and number not in self._copy_on_read:
            self._buffers.give(base, self.current[number])
        elif number in self.current and rule.variable == "assign":
            self._assign(index, number, inputs[1])
        elif number in self.current and rule.variable == "update":
            for changed in numbers:
                if changed in self.current and not self._updates_in_place(changed):
                    self._replace(index, changed)
        else:
            self._buffers.new_outputs(effect, base)
        if effect.scratch:
            self._buffers.scratch(index, effect, inputs)

    def _updates_in_place(self, number: int) -> bool:
        return self._buffers.refs[self.current[number]] == 1 and number not in self._copy_on_read

    def _assign(self, index: int, number: int, value: int) -> None:
        """`AssignVariableOp` adopts the value's buffer, save in copy-on-read mode, where it copies."""
        buffer = self._buffers.out.value_buffer[value] if value != DEAD else NOTHING
        if buffer < 0 or number in self._copy_on_read:
            self._replace(index, number)
            return
        self._buffers.refs[buffer] += 1
        old, self.current[number] = self.current[number], buffer
        self._buffers.unref(old)

    def _replace(self, index: int, number: int) -> None:
        """A new buffer for a variable, as somebody still reads the old one."""
        made = Made(self._graph.variables[number].nbytes, index, COPY, False, False)
        old, self.current[number] = self.current[number], self._buffers.new(made, holders=1)
        self._buffers.unref(old)


def written_by(graph: StepGraph, indices: Iterable[int]) -> set[int]:
    """Numbers of the variables that some of these ops assign or update densely, inside branches too."""
    return _used(graph, indices, ("assign", "update"))


def _used(graph: StepGraph, indices: Iterable[int], how: tuple[str, ...]) -> set[int]:
    """Numbers of the variables that some of these ops use in one of these ways; branches and loops pass handles on."""
    found = set()
    for index in indices:
        rule = lookup(graph.ops[index].type)
        if rule is not None and rule.variable in how:
            producer = graph.ops[graph.ops[index].inputs[rule.handle][0]]
            while producer.type in _PASS_ON and producer.inputs:
                producer = graph.ops[producer.inputs[0][0]]
            kind, number = producer.attrs.get("_arg", ("", NOTHING))
            if kind == "variable":
                found.add(number)
    return found
