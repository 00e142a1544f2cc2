"""A compiled module as one sequence of instructions, in the order in which XLA's heap simulator takes them.

Computations that the entry calls stand where they are called, once: a loop's condition and body right before the
`while`, the branches before the `conditional` (`HloLiveRange::FlattenSchedule`); a fusion is one instruction. Tuples,
loops and calls only hand values on: what reads from them is said to read from the instruction that made the value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from graphmem.errors import InternalError
from graphmem.xla.shapes import Leaf, count_leaves, leaves_of

Ref = tuple[int, int]
"""An array: the position of the instruction that made it, and which of that one's arrays it is."""

_FORWARD = frozenset({"opt-barrier", "domain", "add-dependency", "async-update"})
"""Opcodes that hand their first operand on as it is."""


_PICKS = frozenset({"get-tuple-element", "async-done", "copy-done"})
"""Opcodes that hand on one element of a tuple."""


@dataclass(slots=True)
class Program:
    """The flattened schedule; lists are indexed by position.

    Attributes:
        instructions: the `HloInstruction`s.
        starts: the first position of the computation that each stands in.
        makes: the arrays that each makes; none for those that only hand values on.
        reads: the arrays that each reads, in the order of the operands.
        result: the arrays of the entry's root, by their index in its tuple.
        root: position of the entry's root.
        entry: positions of the entry's parameters, by their number.
        computations: all computations by id, those of fusions too.
    """

    instructions: list[Any] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    makes: list[list[Leaf]] = field(default_factory=list)
    reads: list[list[Ref]] = field(default_factory=list)
    result: dict[tuple[int, ...], Ref] = field(default_factory=dict)
    root: int = -1
    entry: dict[int, int] = field(default_factory=dict)
    computations: dict[int, Any] = field(default_factory=dict)


def workspaces(program: Program) -> set[Ref]:
    """The arrays that library calls make for themselves: the last of a tuple, of bytes, that nobody reads."""
    found = {
        (position, len(made) - 1)
        for position, made in enumerate(program.makes)
        if len(made) > 1
        and program.instructions[position].opcode == "custom-call"
        and made[-1].tensor.dtype in ("int8", "uint8")
    }
    return found.difference(program.result.values(), *program.reads)


def flatten(module: Any) -> Program:
    """The sequence of instructions of an `HloModule`.

    Raises:
        InternalError: the module has no schedule.
    """
    walk = _Walk(module)
    program = walk.out
    if module.entry_computation_id not in walk.sequences:
        raise InternalError("the XLA compiler handed over a module without a schedule")
    refs = walk.computation(module.entry_computation_id, None)
    root = program.computations[module.entry_computation_id].root_id
    program.root = next(place for place, item in enumerate(program.instructions) if item.id == root)
    leaves = leaves_of(program.instructions[program.root].shape)
    program.result = {leaf.index: ref for leaf, ref in zip(leaves, refs, strict=True) if ref}
    return program


class _Walk:
    """One pass over the computations, in the order of execution."""

    def __init__(self, module: Any) -> None:
        self.out = Program(computations={item.id: item for item in module.computations})
        self.sequences = {item.key: item.value.instruction_ids for item in module.schedule.sequences}
        self.results: dict[int, list[Ref | None]] = {}

    def computation(self, number: int, arguments: list[list[Ref | None]] | None) -> list[Ref | None]:
        """Add a computation's instructions, unless they are there; the arrays of its root."""
        if number in self.results:
            return self.results[number]
        out, computation = self.out, self.out.computations[number]
        by_id = {item.id: item for item in computation.instructions}
        start = len(out.instructions)
        known: dict[int, list[Ref | None]] = {}
        for identifier in self.sequences[number]:
            instruction = by_id[identifier]
            operands = [known[operand] for operand in instruction.operand_ids]
            given: list[Ref | None] | None
            if arguments is not None and instruction.opcode == "parameter":
                given = arguments[instruction.parameter_number]
            else:
                given = self.handed_on(instruction, operands, by_id)
            position = len(out.instructions)
            out.instructions.append(instruction)
            out.starts.append(start)
            reads = [given] if instruction.opcode in _PICKS else operands
            out.reads.append([ref for refs in reads for ref in refs or () if ref])
            if given is None:
                made = leaves_of(instruction.shape)
                out.makes.append(made)
                given = [(position, slot) for slot in range(len(made))]
                if instruction.opcode == "parameter":
                    out.entry[instruction.parameter_number] = position
            else:
                out.makes.append([])
            known[identifier] = given
        self.results[number] = known[computation.root_id]
        return self.results[number]

    def handed_on(
        self, instruction: Any, operands: list[list[Ref | None]], by_id: dict[int, Any]
    ) -> list[Ref | None] | None:
        """The arrays of an instruction that makes none; `None` for one that makes its own. Adds what it calls."""
        opcode, called = instruction.opcode, instruction.called_computation_ids
        if opcode == "tuple":
            return [ref for refs in operands for ref in refs]
        if opcode == "get-tuple-element":
            return _element(by_id[instruction.operand_ids[0]].shape, operands[0], instruction.tuple_index)
        if opcode == "while":
            body, condition = called
            self.computation(condition, operands)
            return self.computation(body, operands)
        if opcode == "call" and called[0] in self.sequences:
            return self.computation(called[0], operands)
        if opcode == "conditional":
            first = len(self.out.instructions)
            branches = [self.computation(branch, [given]) for branch, given in zip(called, operands[1:], strict=True)]
            return [_made_since(first, refs) for refs in zip(*branches, strict=True)]
        if opcode == "async-start" and called[0] in self.sequences:
            refs = [ref for each in operands for ref in each] + self.computation(called[0], operands)
            return refs + [None] * (count_leaves(instruction.shape) - len(refs))
        if opcode in ("async-done", "copy-done"):
            return _element(by_id[instruction.operand_ids[0]].shape, operands[0], int(opcode == "async-done"))
        return operands[0] if opcode in _FORWARD else None


def _element(shape: Any, refs: list[Ref | None], place: int) -> list[Ref | None]:
    """The arrays of one element of a tuple."""
    sizes = [count_leaves(inner) for inner in shape.tuple_shapes[: place + 1]]
    return refs[sum(sizes[:-1]) : sum(sizes)]


def _made_since(position: int, refs: tuple[Ref | None, ...]) -> Ref | None:
    """Of what the branches return in one place, that which a branch has made, if one has."""
    return next((ref for ref in refs if ref and ref[0] >= position), refs[0])
