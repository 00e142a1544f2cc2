"""Checks a schedule and its lifetimes from scratch, the naive way; it shares no code with what it checks.

The facts about op types come from the table of ops; everything else is worked out anew from who reads what and when.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterator

from graphmem.graph.model import StepGraph
from graphmem.ops.registry import Rule, lookup
from graphmem.runtime.executor import Schedule
from graphmem.runtime.liveness import Lifetimes

NEVER = -1
"""An input that never came, and a value without a buffer."""


class Verdict(enum.Enum):
    """What is wrong, the first fault found; `GOOD` if nothing is."""

    GOOD = "nothing is wrong"
    BAD_ORDER = "an op runs before what it needs, or not as often as it should"
    BAD_SPAN = "a lifetime is empty or leaves the schedule"
    BAD_STORAGE = "a tensor has no buffer, one that is too small, or one that it has no right to"
    BAD_READ = "a tensor is read or written while its buffer is not alive"
    OVERWRITTEN = "a buffer is taken over while a tensor in it is still to be read"
    HELD_TOO_LONG = "a buffer outlives its last holder"


def validate(graph: StepGraph, schedule: Schedule, lifetimes: Lifetimes) -> tuple[Verdict, str]:
    """The verdict, and which op or buffer it is about ("" if all is well)."""
    for verdict, check in CHECKS:
        for fault in check(_Facts(graph, schedule, lifetimes)):
            return verdict, fault
    return Verdict.GOOD, ""


class _Facts:
    """The three things to check, and what follows from the schedule alone.

    Attributes:
        made: value -> (position that makes it, its output slot).
        reads: value -> positions that read it; `_Retval` reads until the step ends.
    """

    def __init__(self, graph: StepGraph, schedule: Schedule, lifetimes: Lifetimes) -> None:
        self.graph, self.schedule, self.lives = graph, schedule, lifetimes
        self.end = len(schedule.ops)
        self.made: dict[int, tuple[int, int]] = {}
        self.reads: dict[int, list[int]] = defaultdict(list)
        for position, index in enumerate(schedule.ops):
            op = graph.ops[index]
            for slot in range(len(op.outputs)):
                self.made[schedule.values[position] + slot] = position, slot
            for value in schedule.inputs[position]:
                self.reads[value].append(self.end - 1 if op.type == "_Retval" else position)

    def name(self, position: int) -> str:
        """The op that runs then."""
        return f"op {self.graph.ops[self.schedule.ops[position]].name!r} at position {position}"

    def tenants(self) -> dict[int, list[int]]:
        """Buffer -> values stored in it, in the order they are made."""
        found = defaultdict(list)
        for value, buffer in enumerate(self.lives.value_buffer):
            if buffer != NEVER:
                found[buffer].append(value)
        return found


def _order(facts: _Facts) -> Iterator[str]:
    ops = facts.graph.ops
    ran: dict[int, list[int]] = defaultdict(list)
    for position, index in enumerate(facts.schedule.ops):
        given = facts.schedule.inputs[position]
        if len(given) != len(ops[index].inputs):
            yield f"{facts.name(position)} gets {len(given)} inputs, not {len(ops[index].inputs)}"
            continue
        for place, (producer, slot) in enumerate(ops[index].inputs):
            if given[place] == NEVER and ops[index].type in ("Merge", "RefMerge"):
                continue
            when, source = facts.made.get(given[place], (facts.end, slot))
            if when >= position:
                yield f"{facts.name(position)} reads input {place} before it is made"
            elif (facts.schedule.ops[when], source) != (producer, slot):
                yield f"{facts.name(position)} reads something else as input {place}"
        for before in ops[index].controls:
            if not ran[before] and not facts.schedule.loops and not _branches(facts.graph):
                yield f"{facts.name(position)} does not wait for {ops[before].name!r}"
        ran[index].append(position)
    if not _branches(facts.graph):
        for index, op in enumerate(ops):
            if len(ran[index]) != 1:
                yield f"op {op.name!r} runs {len(ran[index])} times"


def _branches(graph: StepGraph) -> bool:
    """Whether some ops may not run, or run several times."""
    return any(op.type in ("Switch", "RefSwitch", "_SwitchN", "Enter", "RefEnter") for op in graph.ops)


def _spans(facts: _Facts) -> Iterator[str]:
    lives = facts.lives
    for buffer, (born, freed) in enumerate(zip(lives.born, lives.freed, strict=True)):
        if not 0 <= born < freed <= facts.end:
            yield f"buffer {buffer} lives from {born} to {freed} of {facts.end}"
        elif facts.schedule.ops[born] != lives.op[buffer]:
            yield f"buffer {buffer} is born while {facts.name(born)} runs, which did not make it"


def _storage(facts: _Facts) -> Iterator[str]:
    for value, (position, slot) in facts.made.items():
        op = facts.graph.ops[facts.schedule.ops[position]]
        tensor, buffer = op.outputs[slot], facts.lives.value_buffer[value]
        if buffer == NEVER:
            if tensor.nbytes != 0 and not _shares(lookup(op.type), slot):
                yield f"{facts.name(position)}: output {slot} has no buffer"
            continue
        size = facts.lives.nbytes[buffer]
        if tensor.nbytes is not None and size is not None and size < tensor.nbytes:
            yield f"{facts.name(position)}: output {slot} of {tensor.nbytes} bytes lies in a buffer of {size}"
        if facts.lives.born[buffer] < position and not _shares(lookup(op.type), slot):
            yield f"{facts.name(position)}: output {slot} shares a buffer, which no rule of {op.type} allows"


def _shares(rule: Rule | None, slot: int) -> bool:
    """Whether an output may lie in a buffer that was there before."""
    if rule is None:
        return False
    listed = {output for output, _ in rule.view} | {output for output, _ in rule.forward}
    return slot in listed or rule.view_if is not None or bool(rule.variable or rule.list_op or rule.control)


def _reads_alive(facts: _Facts) -> Iterator[str]:
    lives = facts.lives
    for value, (position, _) in facts.made.items():
        buffer = lives.value_buffer[value]
        for when in (position, *facts.reads[value]) if buffer != NEVER else ():
            if not lives.born[buffer] <= when < lives.freed[buffer]:
                span = f"{lives.born[buffer]} to {lives.freed[buffer]}"
                yield f"{facts.name(when)} uses buffer {buffer}, alive from {span}"


def _overwrites(facts: _Facts) -> Iterator[str]:
    """A tensor that is no view may lie in an older buffer only if nobody reads the older tensors any more."""
    for buffer, values in facts.tenants().items():
        for value in values:
            position, slot = facts.made[value]
            op = facts.graph.ops[facts.schedule.ops[position]]
            rule = lookup(op.type)
            if rule is None or rule.view_if or rule.variable or rule.list_op or rule.control:
                continue
            if facts.lives.born[buffer] == position or slot in {output for output, _ in rule.view}:
                continue
            for older in values:
                later = max(facts.reads[older], default=NEVER)
                if facts.made[older][0] < position and later > position:
                    yield f"{facts.name(position)} writes into buffer {buffer}, which {facts.name(later)} still reads"


def _frees(facts: _Facts) -> Iterator[str]:
    """A buffer dies with its last reader, unless a variable or a list may hold it, which no tensor tells."""
    held = set()
    for position, index in enumerate(facts.schedule.ops):
        op = facts.graph.ops[index]
        rule = lookup(op.type)
        if rule is not None and (rule.variable or rule.list_op):
            first = facts.schedule.values[position]
            values = [*facts.schedule.inputs[position], *range(first, first + len(op.outputs))]
            held |= {facts.lives.value_buffer[value] for value in values if value != NEVER}
            held |= {buffer for buffer, maker in enumerate(facts.lives.op) if maker == index}
    tenants = facts.tenants()
    for buffer, freed in enumerate(facts.lives.freed):
        if buffer in held or facts.lives.resident[buffer]:
            continue
        uses = [when for value in tenants.get(buffer, ()) for when in (facts.made[value][0], *facts.reads[value])]
        last = max(facts.lives.born[buffer], *uses) if uses else facts.lives.born[buffer]
        if freed > last + 1:
            maker = facts.graph.ops[facts.lives.op[buffer]].name
            yield f"buffer {buffer} of {maker!r} is last used at {last} and freed at {freed}"


CHECKS = (
    (Verdict.BAD_ORDER, _order),
    (Verdict.BAD_SPAN, _spans),
    (Verdict.BAD_STORAGE, _storage),
    (Verdict.BAD_READ, _reads_alive),
    (Verdict.OVERWRITTEN, _overwrites),
    (Verdict.HELD_TOO_LONG, _frees),
)
"""In this order: a check may rely on those above it."""
