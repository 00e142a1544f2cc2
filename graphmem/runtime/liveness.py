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
from graphmem.ops.registry import Env, Rule, lookup
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
    unknown: dict[int, None] = field(default_factory=dict)


def lifetimes(graph: StepGraph, schedule: Schedule, env: Env) -> Lifetimes:
    """Work out every buffer of a schedule.

    Args:
        graph: the step.
        schedule: the order, from `graphmem.runtime.executor.schedule`.
        env: threads and device, which decide scratch.
    """
    return _Walk(graph, schedule, env).run()


class _Walk:
    """One pass over a schedule."""

    def __init__(self, graph: StepGraph, schedule: Schedule, env: Env) -> None:
        self.graph, self.schedule, self.env = graph, schedule, env
        self.out = Lifetimes(value_buffer=[NOTHING] * schedule.count)
        self.refs: list[int] = []
        self.readers = [0] * schedule.count
        for inputs in schedule.inputs:
            for value in inputs:
                if value != DEAD:
                    self.readers[value] += 1
        self.lists: dict[int, TensorList] = {}
        self.handles: dict[int, int] = {}
        self.variables: dict[int, int] = {}
        self.position = 0
        self.on_gpu = env.device == "gpu"
        by_type = {op_type: lookup(op_type) for op_type in {op.type for op in graph.ops}}
        self.rules: list[Rule | None] = [by_type[op.type] for op in graph.ops]
        self.scratch: dict[int, list[int | None]] = {}
        self.copy_on_read = self._sparse_variables()

    def run(self) -> Lifetimes:
        ops, rules, refs = self.graph.ops, self.rules, self.refs
        value_buffer, last = self.out.value_buffer, self.out.last
        for position, index in enumerate(self.schedule.ops):
            self.position = position
            inputs = self.schedule.inputs[position]
            base = self.schedule.values[position]
            op, rule = ops[index], rules[index]
            self._run_op(index, op, rule, inputs, base)
            if op.type == "_Retval":
                continue
            for value in inputs:
                if value == DEAD:
                    continue
                buffer = value_buffer[value]
                if buffer >= 0:
                    last[buffer] = position
                    refs[buffer] -= 1
                    if not refs[buffer]:
                        self._free(buffer)
                elif value in self.lists:
                    self._release(self.lists[value])
            for value in range(base, base + len(op.outputs)):
                if not self.readers[value]:
                    buffer = value_buffer[value]
                    if buffer >= 0 and not refs[buffer]:
                        self._free(buffer)
                    elif value in self.lists and not self.lists[value].holders:
                        self._drop_elements(self.lists[value])
        return self.out

    # --- one op

    def _run_op(self, index: int, op: Op, rule: Rule | None, inputs: list[int], base: int) -> None:
        if op.type == "_Arg":
            self._argument(index, op, base)
        elif op.type == "Const":
            self._give(base, self._new(index, 0, op.outputs[0], resident=True, holders=1))
        elif rule is None:
            self._new_outputs(index, op, base, range(len(op.outputs)))
        elif rule.variable:
            self._variable(index, op, rule, inputs, base)
        elif rule.list_op or (op.outputs and op.outputs[0].dtype == "variant" and op.type in _ON_LISTS):
            self._list(index, op, rule, inputs, base)
        else:
            self._compute(index, op, rule, inputs, base)

    def _compute(self, index: int, op: Op, rule: Rule, inputs: list[int], base: int) -> None:
        shared: dict[int, int] = dict(rule.view)
        if rule.control == "merge":
            shared = {0: next(place for place, value in enumerate(inputs) if value != DEAD)}
        elif rule.view_if is not None:
            source = rule.view_if(op, self._input_tensors(op))
            if source is not None:
                shared = dict.fromkeys(range(len(op.outputs)), source)
        fresh = []
        for slot in range(len(op.outputs)):
            place = shared.get(slot)
            if place is not None:
                self._alias(base + slot, inputs[place])
            elif not self._take_over(op, rule, slot, inputs, base):
                fresh.append(slot)
        self._new_outputs(index, op, base, fresh)
        if rule.cpu_scratch or rule.gpu_scratch:
            self._scratch(index, op, rule)

    def _take_over(self, op: Op, rule: Rule, slot: int, inputs: list[int], base: int) -> bool:
        """Let an output take the buffer of an input that only this op still holds."""
        if not rule.forward:
            return False
        tensor = op.outputs[slot]
        for forwarded, places in rule.forward:
            if forwarded != slot:
                continue
            for place in range(len(inputs)) if places == (-1,) else places:
                if place >= len(inputs) or inputs[place] == DEAD:
                    continue
                buffer = self.out.value_buffer[inputs[place]]
                if buffer < 0 or self.refs[buffer] != 1:
                    continue
                producer, source = op.inputs[place]
                given = self.graph.ops[producer].outputs[source]
                if given.dtype == tensor.dtype and given.nbytes == tensor.nbytes and tensor.nbytes is not None:
                    self._give(base + slot, buffer)
                    return True
        return False

    def _scratch(self, index: int, op: Op, rule: Rule) -> None:
        sizes = self.scratch.get(index)
        if sizes is None:
            formula = rule.gpu_scratch if self.env.device == "gpu" and op.device == "gpu" else rule.cpu_scratch
            sizes = formula(op, self._input_tensors(op), self.env) if formula else []
            self.scratch[index] = sizes
        for size in sizes:
            buffer = self._new(index, SCRATCH, Tensor("", None, size, False))
            self._free(buffer)
            if size is None:
                self.out.unknown[index] = None

    def _input_tensors(self, op: Op) -> tuple[Tensor, ...]:
        return tuple(self.graph.ops[producer].outputs[slot] for producer, slot in op.inputs)

    # --- arguments and variables

    def _argument(self, index: int, op: Op, base: int) -> None:
        tensor = op.outputs[0]
        kind, number = op.attrs.get("_arg", ("argument", -1))
        if tensor.dtype == "resource":
            if kind == "variable" and number not in self.variables:
                known = self.graph.variables[number]
                held = Tensor(known.dtype, known.shape, known.nbytes, False)
                self.variables[number] = self._new(index, 0, held, resident=True, holders=1)
            self.handles[base] = number if kind == "variable" else NOTHING
        else:
            self._give(base, self._new(index, 0, tensor, resident=True, holders=1))

    def _variable(self, index: int, op: Op, rule: Rule, inputs: list[int], base: int) -> None:
        numbers = [self.handles.get(value, NOTHING) for value in inputs]
        number = numbers[rule.handle]
        if number not in self.variables:
            self._new_outputs(index, op, base, range(len(op.outputs)))
            return
        if rule.variable == "read":
            if number in self.copy_on_read:
                self._new_outputs(index, op, base, (0,))
            else:
                self._give(base, self.variables[number])
        elif rule.variable == "assign":
            self._assign(index, op, number, inputs[1])
        elif rule.variable == "update":
            for changed in numbers:
                if changed in self.variables and (
                    self.refs[self.variables[changed]] != 1 or changed in self.copy_on_read
                ):
                    self._replace(index, changed)
        else:
            self._new_outputs(index, op, base, range(len(op.outputs)))
        if rule.cpu_scratch or rule.gpu_scratch:
            self._scratch(index, op, rule)

    def _assign(self, index: int, op: Op, number: int, value: int) -> None:
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
        known = self.graph.variables[number]
        made = self._new(index, COPY, Tensor(known.dtype, known.shape, known.nbytes, False), holders=1)
        old, self.variables[number] = self.variables[number], made
        self._unref(old)

    def _sparse_variables(self) -> set[int]:
        """Variables that some op of the step accesses sparsely: in copy-on-read mode for good."""
        found = set()
        for op, rule in zip(self.graph.ops, self.rules, strict=True):
            if rule is not None and rule.variable == "sparse":
                producer = op.inputs[rule.handle][0]
                kind, number = self.graph.ops[producer].attrs.get("_arg", ("", NOTHING))
                if kind == "variable":
                    found.add(number)
        return found

    # --- lists

    def _list(self, index: int, op: Op, rule: Rule, inputs: list[int], base: int) -> None:
        what = rule.list_op or "elementwise"
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
            self._pop(index, op, self._own(given), base)
        elif what == "get":
            buffer = given.read() if given else None
            if buffer is None:
                self._new_outputs(index, op, base, range(len(op.outputs)))
            else:
                self._give(base, buffer)
        elif what == "from_tensor":
            self._hold(base, self._from_tensor(index, op, inputs, self._own(given)))
        elif what == "elementwise":
            self._hold(base, self._like(index, given))
        else:
            self._new_outputs(index, op, base, range(len(op.outputs)))

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

    def _pop(self, index: int, op: Op, made: TensorList, base: int) -> None:
        self._hold(base, made)
        if made.elements:
            buffer = made.elements.pop()
            self._give(base + 1, buffer)
            self.refs[buffer] -= 1
        else:
            self._new_outputs(index, op, base, (1,))

    def _from_tensor(self, index: int, op: Op, inputs: list[int], made: TensorList) -> TensorList:
        """Elements are slices of the tensor where they are aligned, else copies."""
        producer, slot = op.inputs[0]
        tensor = self.graph.ops[producer].outputs[slot]
        buffer = self.out.value_buffer[inputs[0]]
        rows = tensor.shape[0] if tensor.shape else None
        if buffer >= 0 and tensor.nbytes is not None and rows and tensor.nbytes // rows % 64 == 0:
            self.refs[buffer] += 1
            made.elements.append(buffer)
        else:
            made.elements.append(self._new(index, 0, tensor, holders=1))
        return made

    def _like(self, index: int, given: TensorList | None) -> TensorList:
        """A list of new tensors of the sizes of another's: zeros, or sums of two lists."""
        made = TensorList()
        for element in given.elements if given else ():
            size = self.out.nbytes[element]
            made.elements.append(self._new(index, 0, Tensor("", None, size, self.out.host[element]), holders=1))
        return made

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

    def _new_outputs(self, index: int, op: Op, base: int, slots: object) -> None:
        for slot in slots:  # type: ignore[attr-defined]
            tensor = op.outputs[slot]
            if tensor.nbytes != 0:
                self._give(base + slot, self._new(index, slot, tensor))

    def _new(self, index: int, slot: int, tensor: Tensor, *, resident: bool = False, holders: int = 0) -> int:
        out, buffer = self.out, len(self.refs)
        self.refs.append(holders)
        out.nbytes.append(tensor.nbytes)
        out.born.append(self.position)
        out.freed.append(len(self.schedule.ops))
        out.op.append(index)
        out.slot.append(slot)
        out.last.append(-1)
        out.resident.append(resident)
        out.host.append(tensor.host or (self.on_gpu and self.graph.ops[index].device != "gpu"))
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


#: Elementwise ops that also take lists, element by element (variant_op_registry).
_ON_LISTS = frozenset({"AddN", "ZerosLike"})
