"""TensorLists and optionals: host objects that hold references to the buffers of their elements (list_kernels.cc)."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphmem.graph.model import StepGraph
from graphmem.runtime.buffers import Buffers
from graphmem.runtime.effects import Effect, Made
from graphmem.runtime.frames import DEAD


@dataclass(slots=True)
class TensorList:
    """One list object.

    Attributes:
        elements: buffers held, one reference each, in the order they came.
        holders: values that hold this object.
        cursor: the next element that a read takes; loops read a list in order.
    """

    elements: list[int] = field(default_factory=list)
    holders: int = 0
    cursor: int = 0

    def read(self) -> int | None:
        """The buffer of the element read next; `None` for a list without elements."""
        if not self.elements:
            return None
        buffer = self.elements[self.cursor % len(self.elements)]
        self.cursor += 1
        return buffer


class Lists:
    """All lists of a walk: value of the schedule -> list, and what each list op does."""

    def __init__(self, graph: StepGraph, buffers: Buffers) -> None:
        self._graph, self._buffers = graph, buffers
        self.of: dict[int, TensorList] = {}

    def access(self, index: int, effect: Effect, inputs: list[int], base: int) -> None:
        """An op on lists."""
        what = (effect.rule.list_op if effect.rule else "") or "elementwise"
        given = self.of.get(inputs[0]) if inputs and inputs[0] != DEAD else None
        if what == "reserve":
            self._hold(base, TensorList())
        elif what in ("push", "set"):
            self._hold(base, self._with(self._own(given), inputs[-1:]))
        elif what == "pop":
            self._pop(effect, self._own(given), base)
        elif what == "get":
            found = given.read() if given else None
            if found is None:
                self._buffers.new_outputs(effect, base)
            else:
                self._buffers.give(base, found)
        elif what == "pack":
            self._hold(base, self._with(TensorList(), inputs))
        elif what == "unpack":
            packed = given.elements if given else []
            for slot, buffer in enumerate(packed[: len(effect.outputs)]):
                self._buffers.give(base + slot, buffer)
            self._buffers.new_outputs(effect, base, first=len(packed))
        elif what == "from_tensor":
            self._hold(base, self._rows(index))
        elif what == "elementwise":
            self._hold(base, self._like(index, given))
        else:
            self._buffers.new_outputs(effect, base)

    def share(self, value: int, source: int) -> None:
        """A value is the same list as another one."""
        self.of[value] = self.of[source]
        self.of[value].holders += self._buffers.readers[value]

    def release(self, held: TensorList) -> None:
        """One holder less; without holders the list lets go of its elements."""
        held.holders -= 1
        if not held.holders:
            self.drop(held)

    def drop(self, held: TensorList) -> None:
        """The list is gone."""
        elements, held.elements = held.elements, []
        for buffer in elements:
            self._buffers.unref(buffer)

    def _hold(self, value: int, made: TensorList) -> None:
        self.of[value] = made
        made.holders = self._buffers.readers[value]

    def _own(self, given: TensorList | None) -> TensorList:
        """The list itself if only this op holds it, else a copy that shares the elements."""
        if given is None:
            return TensorList()
        if given.holders == 1:
            moved = TensorList(given.elements, 0, given.cursor)
            given.elements = []
            return moved
        for buffer in given.elements:
            self._buffers.refs[buffer] += 1
        return TensorList(list(given.elements), 0, given.cursor)

    def _with(self, made: TensorList, values: list[int]) -> TensorList:
        """A list that holds the buffers of some values as well."""
        for value in values:
            buffer = self._buffers.out.value_buffer[value] if value != DEAD else -1
            if buffer >= 0:
                self._buffers.refs[buffer] += 1
                made.elements.append(buffer)
        return made

    def _pop(self, effect: Effect, made: TensorList, base: int) -> None:
        self._hold(base, made)
        if made.elements:
            buffer = made.elements.pop()
            self._buffers.give(base + 1, buffer)
            self._buffers.refs[buffer] -= 1
        else:
            self._buffers.new_outputs(effect, base, first=1)

    def _rows(self, index: int) -> TensorList:
        """Every row of a tensor as an element of its own, copied (measured)."""
        producer, slot = self._graph.ops[index].inputs[0]
        tensor = self._graph.ops[producer].outputs[slot]
        rows = tensor.shape[0] if tensor.shape else None
        if not rows or tensor.nbytes is None:
            made, count = Made(tensor.nbytes, index, 0, False, tensor.host), int(tensor.nbytes != 0)
        else:
            made, count = Made(tensor.nbytes // rows, index, 0, False, tensor.host), rows
        return TensorList([self._buffers.new(made, holders=1) for _ in range(count)])

    def _like(self, index: int, given: TensorList | None) -> TensorList:
        """New tensors of the sizes of another list's: zeros, or sums of two lists."""
        sizes = [self._buffers.made[item] for item in given.elements] if given else []
        made = [Made(size.nbytes, index, 0, False, size.host) for size in sizes]
        return TensorList([self._buffers.new(item, holders=1) for item in made])
