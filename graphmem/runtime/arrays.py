"""Stacks and TensorArrays of TensorFlow 1: objects behind a handle, which hold tensors and change where they are."""

from __future__ import annotations

from graphmem.runtime.buffers import Buffers
from graphmem.runtime.effects import Effect, Made
from graphmem.runtime.frames import DEAD
from graphmem.runtime.lists import Lists, TensorList

#: Bytes of the handle that refers to an object, and of the name that an array has besides (measured).
HANDLE = (200, 48)


class Arrays:
    """What each op on such objects does; the objects themselves are lists that live to the end of the step."""

    def __init__(self, lists: Lists, buffers: Buffers) -> None:
        self._lists, self._buffers = lists, buffers
        self._gradients: dict[tuple[int, str], TensorList] = {}

    def access(self, index: int, effect: Effect, inputs: list[int], base: int) -> None:
        """An op on a stack or an array; a flow, which only orders the ops, is handed on."""
        lists, of = self._lists, self._lists.of
        lists.begin(index)
        what = effect.rule.list_op if effect.rule else ""
        given = of.get(inputs[0]) if inputs and inputs[0] != DEAD else None
        if what == "object":
            self._hold(base, TensorList(clears=bool(lists.attribute("clear_after_read"))), index, effect)
            self._new(effect, base, 1)
            return
        if given is None:
            self._new(effect, base, 0)
            return
        if what == "gradient_object":
            source = str(lists.attribute("source"))
            self._hold(base, self._gradients.setdefault((id(given), source), TensorList()), index, effect)
            self._pass(base + 1, inputs[-1])
        elif what == "object_push":
            given.elements.append(lists.taken(inputs[1]))
            self._pass(base, inputs[1])
        elif what == "object_pop":
            element = given.elements.pop() if given.elements else None
            lists.give(base, element, effect.outputs[0].made)
            lists.let_go([element])
        elif what == "object_set":
            lists.put(given, [lists.taken(inputs[2])])
            self._pass(base, inputs[-1])
        elif what == "object_get":
            self._read(effect, given, base)
        elif what == "object_stack":
            lists.copy_out(effect, given, base)
        elif what == "object_scatter":
            lists.put(given, lists.rows(index, effect, 1 if "Split" in lists.op_type else 2))
            self._pass(base, inputs[-1])
        elif what == "object_close":
            lists.drop(given)
        else:
            self._new(effect, base, 0)

    def _hold(self, value: int, held: TensorList, index: int, effect: Effect) -> None:
        """The object, which whoever made it holds for the whole step."""
        sizes = HANDLE if "Array" in self._lists.op_type else HANDLE[:1]
        for nbytes in () if held.holders else sizes:
            self._buffers.new(Made(nbytes, index, 0, False, effect.outputs[0].made.host), holders=1)
        held.holders += self._buffers.readers[value] + 1
        self._lists.of[value] = held

    def _read(self, effect: Effect, given: TensorList, base: int) -> None:
        """The element at an index; most arrays let go of what has been read."""
        lists = self._lists
        place = lists.place(given)
        element = given.elements[place] if place is not None else None
        lists.give(base, element, effect.outputs[0].made)
        if place is not None and given.clears:
            given.elements[place] = None
            lists.let_go([element])

    def _pass(self, value: int, source: int) -> None:
        """An output that is an input."""
        buffer = self._buffers.out.value_buffer[source] if source != DEAD else -1
        if buffer >= 0:
            self._buffers.give(value, buffer)

    def _new(self, effect: Effect, base: int, first: int) -> None:
        self._buffers.new_outputs(effect, base, first=first)
