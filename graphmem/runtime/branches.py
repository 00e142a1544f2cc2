"""Which way control flow goes: predicates that can be told are evaluated, the others are assumed and said so.

A loop whose condition is unknown runs as often as the user says; else as often as a counter in its condition allows;
else once: the figure is then "at least". A branch on an unknown predicate takes the side whose ops write more bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphmem.graph.model import Op
from graphmem.ops.lists import INDEX_INPUTS
from graphmem.runtime import values
from graphmem.runtime.frames import DEAD, Iteration
from graphmem.runtime.list_values import List
from graphmem.runtime.plan import Plan
from graphmem.units import format_bytes

_COMPARISONS = ("Less", "LessEqual", "Greater", "GreaterEqual")

#: Where a loop lies inside another or in a branch, TensorFlow puts that one's name before its own.
_AROUND = re.compile(r"^.*/(?:body|cond|then|else|branch\d+)/_\d+/")


def loop_name(frame: str) -> str:
    """The name of a loop as the user's code has it, of its frame's.

    >>> loop_name("while"), loop_name("while/body/_1/while/while"), loop_name("rnn/while/while_context")
    ('while', 'while/while', 'rnn/while')
    """
    return _AROUND.sub("", frame).removesuffix("/while_context").removesuffix("_frame").rstrip("/") or frame


class Branches:
    """Decides each `Switch` of a step.

    Attributes:
        follows: per op, whether a predicate or a place in a list depends on its value.
        index_inputs: per op, the input that tells a list op where; -1: none.
        assumed: what was assumed, one sentence each.
        at_least: whether the step may be larger than what was assumed.
    """

    def __init__(self, plan: Plan, trips: dict[str, int] | None = None, followed: Sequence[int] = ()) -> None:
        """`followed`: ops besides whose values are wanted."""
        self.plan = plan
        self.trips = trips or {}
        self.index_inputs = [INDEX_INPUTS.get(op.type, -1) for op in plan.graph.ops]
        self.follows = self._slice(followed)
        self.assumed: dict[str, None] = {}
        self.at_least = False
        self._known: dict[int, Any] = {}
        self._bounded: set[int] = set()
        self._larger: dict[int, int] = {}

    def start(self) -> None:
        """Forget the values of an earlier run."""
        self._known.clear()
        self._bounded.clear()
        self.assumed.clear()
        self.at_least = False

    def known(self, value: int) -> list[int] | None:
        """A small integer tensor of the schedule as a list; `None` if it cannot be told."""
        found = self._known.get(value)
        return None if found is None else [int(item) for item in np.ravel(found)]

    def list_of(self, value: int) -> List | None:
        """What is known of a list of the schedule; `None` if not even its length."""
        found = self._known.get(value)
        return found if isinstance(found, tuple) else None

    def evaluate(self, index: int, inputs: list[int], base: int) -> None:
        """An op of the slice ran: work out its outputs if its inputs are known."""
        op = self.plan.graph.ops[index]
        if self.plan.kinds[index] == "merge":
            position = next(place for place, value in enumerate(inputs) if value != DEAD)
            if inputs[position] in self._known:
                self._known[base] = self._known[inputs[position]]
            return
        tensors = [self.plan.graph.ops[producer].outputs[slot] for producer, slot in op.inputs]
        known = [self._known.get(value) for value in inputs]
        results = values.evaluate(op, known, tensors)
        if results is None and self._is_bounded(op, inputs, known):
            self._bounded.add(base)
        for slot, value in enumerate(results or ()):
            self._known[base + slot] = value

    def _is_bounded(self, op: Op, inputs: list[int], known: list[Any]) -> bool:
        """Whether an unknown condition will end a loop after a number of iterations that can be told.

        One of the two that it joins counts the iterations: it is false when they are over.
        """
        if op.type in ("Identity", "LoopCond"):
            return inputs[0] in self._bounded
        if op.type != "LogicalAnd":
            return False
        counts = (value is not None and self._counts(op.inputs[place][0]) for place, value in enumerate(known))
        return any(value in self._bounded for value in inputs) or any(counts)

    def _counts(self, index: int) -> bool:
        """Whether an op compares a number to which each iteration adds something."""
        ops, kinds = self.plan.graph.ops, self.plan.kinds
        if ops[index].type not in _COMPARISONS:
            return False
        for merge in (source for source, _ in ops[index].inputs if kinds[source] == "merge"):
            for following in (source for source, _ in ops[merge].inputs if kinds[source] == "next"):
                if ops[ops[following].inputs[0][0]].type in ("Add", "AddV2", "Sub"):
                    return True
        return False

    def taken(self, index: int, inputs: list[int], where: Iteration) -> int:
        """The live output of a `Switch`: 0 (false), 1 (true), or the branch number of a `_SwitchN`."""
        known = self._known.get(inputs[1])
        if known is not None:
            outputs = len(self.plan.graph.ops[index].outputs)
            number = int(known)
            return number if 0 <= number < outputs else outputs - 1
        predicate = self.plan.graph.ops[index].inputs[1][0]
        if self.plan.kinds[predicate] == "cond" and where.frame is not None:
            return self._goes_on(inputs[1], where)
        if predicate not in self._larger:
            self._larger[predicate] = self._larger_side(predicate)
        self._note_branch(predicate)
        return self._larger[predicate]

    def _goes_on(self, predicate: int, where: Iteration) -> int:
        """Whether a loop runs once more whose condition cannot be told, by what the user says or it allows at most."""
        assert where.frame is not None
        frame = where.frame.name
        name = loop_name(frame)
        given = next((key for key in self.trips if key in (name, frame) or name.endswith("/" + key)), None)
        if given is not None:
            self.assumed[f"loop {name!r} runs {self.trips[given]} times, as given"] = None
            return int(where.number < self.trips[given])
        made = next((op for op in self.plan.graph.ops if op.name == frame), None)
        where_made = f" ({made.source})" if made is not None and made.source else ""
        if predicate in self._bounded:
            self.assumed[
                f"loop {name!r}{where_made} may end early: it runs as often as its counter allows; "
                f"say how often with --set {name}=N"
            ] = None
            return 1
        self.at_least = True
        self.assumed[
            f"the trip count of loop {name!r}{where_made} is unknown: 1 iteration counted; give it with --set {name}=N"
        ] = None
        return int(where.number < 1)

    def _larger_side(self, predicate: int) -> int:
        """The output of the switches on this predicate whose exclusive ops write the most bytes."""
        sides: dict[int, int] = {}
        for index, kind in enumerate(self.plan.kinds):
            if kind == "switch" and self.plan.graph.ops[index].inputs[1][0] == predicate:
                for slot in range(len(self.plan.graph.ops[index].outputs)):
                    sides.setdefault(slot, 0)
        for slot in sides:
            sides[slot] = self._bytes_below(predicate, slot)
        self._sides = sides
        return max(sides, key=lambda slot: (sides[slot], slot))

    def _bytes_below(self, predicate: int, slot: int) -> int:
        """Bytes written by the ops that run only if this side is taken."""
        ops, edges, kinds = self.plan.graph.ops, self.plan.edges, self.plan.kinds
        todo = [
            reader
            for index, kind in enumerate(kinds)
            if kind == "switch" and ops[index].inputs[1][0] == predicate
            for reader, _, source in edges[index]
            if source == slot
        ]
        seen: set[int] = set()
        while todo:
            index = todo.pop()
            if index in seen or kinds[index] == "merge":
                continue
            seen.add(index)
            todo.extend(reader for reader, _, _ in edges[index])
        return sum(tensor.nbytes or 0 for index in seen for tensor in ops[index].outputs)

    def _note_branch(self, predicate: int) -> None:
        side = self._larger[predicate]
        word = {0: "false", 1: "true"}.get(side, str(side)) if len(self._sides) == 2 else f"number {side}"
        size = format_bytes(self._sides[side])
        name = self.plan.graph.ops[predicate].name
        self.assumed[f"condition {name!r} is unknown: the larger branch ({word}, {size} of tensors) is taken"] = None

    def _slice(self, followed: Sequence[int]) -> list[bool]:
        """The ops that some predicate, or some place in a list, depends on."""
        ops = self.plan.graph.ops
        follows = [False] * len(ops)
        todo = list(followed)
        todo += [ops[index].inputs[1][0] for index, kind in enumerate(self.plan.kinds) if kind == "switch"]
        todo += [ops[index].inputs[place][0] for index, place in enumerate(self.index_inputs) if place >= 0]
        while todo:
            index = todo.pop()
            if not follows[index]:
                follows[index] = True
                if ops[index].type not in ("Shape", "Size", "Rank"):
                    todo.extend(producer for producer, _ in ops[index].inputs)
        return follows
