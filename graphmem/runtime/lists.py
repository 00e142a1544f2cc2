"""TensorLists and optionals: host objects that hold references to the buffers of their elements (list_kernels.cc)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

from graphmem.graph.model import Op, StepGraph, tensor_bytes
from graphmem.ops.lists import INDEX_INPUTS
from graphmem.runtime.buffers import Buffers
from graphmem.runtime.effects import Effect, Made
from graphmem.runtime.frames import DEAD

#: Bytes of the tensor that refers to a list: one `tensorflow::Variant`.
HANDLE = 64

Element = Union[int, "TensorList", None]
"""A buffer, a list or optional inside this one, or nothing: not set yet, or a tensor without bytes."""


@dataclass(slots=True, eq=False)
class TensorList:
    """One list object.

    Attributes:
        elements: what it holds, one reference each.
        holders: values, and lists around this one, that hold this object.
        handle: the buffer of the tensor that refers to it, -1 if it has moved on.
        clears: whether an array lets go of what has been read.
    """

    elements: list[Element] = field(default_factory=list)
    holders: int = 0
    handle: int = -1
    clears: bool = True


class Lists:
    """All lists of a walk: value of the schedule -> list, and what each list op does.

    Args:
        indices: position of the schedule -> the index, indices or lengths that the list op there reads.
    """

    def __init__(self, graph: StepGraph, buffers: Buffers, indices: dict[int, Any]) -> None:
        self._graph, self._buffers, self._indices = graph, buffers, indices
        self.of: dict[int, TensorList] = {}
        self._op = Op("", "", (), (), ())

    def access(self, index: int, effect: Effect, inputs: list[int], base: int) -> None:
        """An op on lists."""
        self.begin(index)
        what = (effect.rule.list_op if effect.rule else "") or "elementwise"
        given = self.of.get(inputs[0]) if inputs and inputs[0] != DEAD else None
        if what == "stack":
            self.copy_out(effect, given, base)
        elif what == "length":
            self._tell(effect, base)
        elif what == "get":
            self._get(effect, given, base)
        elif what == "unpack":
            packed = given.elements if given else []
            for slot, output in enumerate(effect.outputs):
                self.give(base + slot, packed[slot] if slot < len(packed) else None, output.made)
        elif what == "pop":
            made = self._own(given)
            element = made.elements.pop() if made.elements else None
            self._hold(base, made, effect, index)
            self.give(base + 1, element, effect.outputs[1].made)
            self.let_go([element])
        else:
            self._hold(base, self._made(what, index, effect, inputs, given), effect, index)

    def _made(self, what: str, index: int, effect: Effect, inputs: list[int], given: TensorList | None) -> TensorList:
        """The list that an op returns."""
        if what == "reserve":
            return TensorList()
        if what == "pack":
            return TensorList([self.taken(value) for value in inputs])
        if what == "fetch":
            return TensorList(self._fetched(index, effect))
        if what in ("from_tensor", "split"):
            return self.put(TensorList(), self.rows(index, effect, 0))
        if what == "elementwise":
            return TensorList(self._like(index, effect, inputs))
        made = self._own(given)
        if what == "push":
            made.elements.append(self.taken(inputs[1]))
        elif what == "set":
            self.put(made, [self.taken(inputs[2])])
        elif what == "scatter":
            self.put(made, self.rows(index, effect, 1))
        elif what == "resize":
            size = self._index()
            if size is not None:
                self.let_go(made.elements[size[0] :])
                made.elements = made.elements[: size[0]] + [None] * (size[0] - len(made.elements))
        elif what == "join":
            other = self.of.get(inputs[1])
            made.elements += [self._kept(element) for element in (other.elements if other else ())]
        return made

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
        self.let_go(elements)
        if held.handle >= 0:
            self._buffers.unref(held.handle)
            held.handle = -1

    def _hold(self, value: int, made: TensorList, effect: Effect, index: int) -> None:
        if made.handle < 0:
            host = effect.outputs[0].made.host or self._op.device == "gpu"
            made.handle = self._buffers.new(Made(HANDLE, index, 0, False, host), holders=1)
        self.of[value] = made
        made.holders = self._buffers.readers[value]

    def _own(self, given: TensorList | None) -> TensorList:
        """The list itself if only this op holds it, else a copy that shares the elements."""
        if given is None:
            return TensorList()
        if given.holders == 1:
            moved = TensorList(given.elements, 0, given.handle)
            given.elements, given.handle = [], -1
            return moved
        return TensorList([self._kept(element) for element in given.elements])

    def _kept(self, element: Element) -> Element:
        """The element, held once more."""
        if isinstance(element, TensorList):
            element.holders += 1
        elif element is not None:
            self._buffers.refs[element] += 1
        return element

    def taken(self, value: int) -> Element:
        """What a value is, held once more."""
        if value == DEAD:
            return None
        buffer = self._buffers.out.value_buffer[value]
        return self._kept(buffer if buffer >= 0 else self.of.get(value))

    def let_go(self, elements: list[Element]) -> None:
        """Hold these once less."""
        for element in elements:
            if isinstance(element, TensorList):
                self.release(element)
            elif element is not None:
                self._buffers.unref(element)

    def give(self, value: int, element: Element, made: Made) -> None:
        """A value is an element of a list; one that is not set is made."""
        if isinstance(element, TensorList):
            self.of[value] = element
            element.holders += self._buffers.readers[value]
        elif element is not None:
            self._buffers.give(value, element)
        elif made.nbytes != 0:
            self._buffers.give(value, self._buffers.new(made))

    def _get(self, effect: Effect, given: TensorList | None, base: int) -> None:
        place = self.place(given) if given else None
        element = given.elements[place] if given and place is not None else None
        self.give(base, element, effect.outputs[0].made)

    def place(self, given: TensorList) -> int | None:
        """Where the element is that the op reads; if that cannot be told, the first: mostly they have one size."""
        index = self._index()
        if index is not None:
            return index[0] if 0 <= index[0] < len(given.elements) else None
        return next((place for place, element in enumerate(given.elements) if element is not None), None)

    def begin(self, index: int) -> None:
        """Another op runs."""
        self._op = self._graph.ops[index]

    def attribute(self, name: str) -> Any:
        """An attribute of the op that runs."""
        return self._op.attrs.get(name)

    @property
    def op_type(self) -> str:
        """The type of the op that runs."""
        return self._op.type

    def copy_out(self, effect: Effect, given: TensorList | None, base: int) -> None:
        """All elements in one tensor: as large as they are together where its own size is unknown."""
        held = [element for element in (given.elements if given else []) if isinstance(element, int)]
        sizes = [self._buffers.made[element].nbytes for element in held]
        for slot, output in enumerate(effect.outputs):
            made = output.made
            if slot == 0 and made.nbytes is None and sizes and None not in sizes:
                made = made._replace(nbytes=sum(size or 0 for size in sizes))
            if made.nbytes != 0:
                self._buffers.give(base + slot, self._buffers.new(made))

    def _tell(self, effect: Effect, base: int) -> None:
        """A list's length, or the shape of its elements: one number where that is not known to TensorFlow either."""
        made = effect.outputs[0].made
        if made.nbytes is None:
            made = made._replace(nbytes=tensor_bytes(self._op.outputs[0].dtype, ()))
        self._buffers.give(base, self._buffers.new(made))

    def put(self, made: TensorList, elements: list[Element]) -> TensorList:
        """Put elements where the op says, else into the first places that are free."""
        places = self._index() if "Split" not in self._op.type else None
        for number, element in enumerate(elements):
            if places is not None and number < len(places) and places[number] >= 0:
                place = places[number]
            else:
                free = (place for place, other in enumerate(made.elements) if other is None)
                place = next(free, len(made.elements))
            made.elements += [None] * (place + 1 - len(made.elements))
            self.let_go([made.elements[place]])
            made.elements[place] = element
        return made

    def _index(self) -> list[int] | None:
        """What the op reads as its index, indices, size or lengths; `None`: unknown."""
        place = INDEX_INPUTS.get(self._op.type)
        if place is None:
            return None
        value = self._op.attrs.get("_const_inputs", {}).get(str(place))
        if value is None:
            value = self._indices.get(self._buffers.position)
        if value is None:
            return None
        return [int(item) for item in (value if isinstance(value, (list, tuple)) else [value])]

    def rows(self, index: int, effect: Effect, place: int) -> list[Element]:
        """Every row of an input, or every run of rows, as an element of its own, copied (measured)."""
        producer, slot = self._op.inputs[place]
        tensor = self._graph.ops[producer].outputs[slot]
        host = effect.outputs[0].made.host
        rows = tensor.shape[0] if tensor.shape else None
        if not rows or tensor.nbytes is None:
            return [self._buffers.new(Made(tensor.nbytes, index, 0, False, host), holders=1)] if tensor.nbytes else []
        lengths = (self._index() or [rows]) if "Split" in self._op.type else [1] * rows
        sizes = [tensor.nbytes // rows * length for length in lengths]
        return [self._buffers.new(Made(size, index, 0, False, host), holders=1) if size else None for size in sizes]

    def _fetched(self, index: int, effect: Effect) -> list[Element]:
        """The tensors of an element of a pipeline."""
        host, attrs = effect.outputs[0].made.host, self._op.attrs
        made: list[Element] = []
        for dtype, shape in zip(attrs.get("output_types", ()), attrs.get("output_shapes", ()), strict=False):
            nbytes = tensor_bytes(dtype, None if shape is None else tuple(shape))
            made.append(self._buffers.new(Made(nbytes, index, 0, False, host), holders=1) if nbytes != 0 else None)
        return made

    def _like(self, index: int, effect: Effect, inputs: list[int]) -> list[Element]:
        """New tensors of the sizes of other lists' elements: zeros, or sums; a sum with nothing is the other one."""
        lists = [self.of[value].elements for value in inputs if value in self.of]
        adds = self._op.type == "AddN"
        made: list[Element] = []
        for number in range(max((len(elements) for elements in lists), default=0)):
            given = [elements[number] for elements in lists if number < len(elements) and elements[number] is not None]
            if adds and len(given) == 1:
                made.append(self._kept(given[0]))
            elif given and isinstance(given[0], int):
                size = self._buffers.made[given[0]]
                made.append(self._buffers.new(Made(size.nbytes, index, 0, False, size.host), holders=1))
            else:
                made.append(None)
        return made
