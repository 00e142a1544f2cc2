"""What TensorFlow called the instructions of a compiled step, through fusions and what XLA added on its own.

XLA keeps the name and the type of the TensorFlow op that an instruction was made for (`OpMetadata`). A fusion has those
of what its largest result is made of; an instruction without any, such as a copy, takes those of what it reads, or of
who reads it.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

from graphmem.xla.program import Program

#: How names begin that are no op's, such as those of parameters and results.
_NOT_AN_OP = "XLA_"

#: What a loop keeps for its gradient, one value an iteration, is named after the op of the loop that makes the values.
_ACCUMULATOR = re.compile(r"(?:.*/)?gradient_tape/.+?/while(?:_\d+)?/(.+)_\d+/accumulator$")

#: Instructions that a fusion is named after wherever in it they are.
_HEAVY = frozenset({"convolution", "dot"})

#: Instructions that only change how a result is seen or laid out.
_VIEWS = frozenset({"bitcast", "reshape", "copy", "transpose", "convert"})


class Named(NamedTuple):
    """An instruction's TensorFlow op: its name, its type; "" for none."""

    name: str
    type: str


NOTHING = Named("", "")


def name_all(program: Program, slots: list[int]) -> list[Named]:
    """The TensorFlow op of each instruction.

    Args:
        program: the flattened module.
        slots: of each instruction, which of its arrays counts most.
    """
    found = [
        _of_fusion(program, instruction, slot) if instruction.opcode == "fusion" else _own(instruction)
        for instruction, slot in zip(program.instructions, slots, strict=True)
    ]
    for position, named in enumerate(found):
        if not named.name and program.instructions[position].opcode not in ("parameter", "constant"):
            found[position] = Named(_inherited(program, found, position), "")
    nameless = {position for position, named in enumerate(found) if not named.name} - set(program.entry.values())
    for position in range(len(found) - 1, -1, -1):  # so that the first of several readers has the last word
        for producer, _ in program.reads[position]:
            if producer in nameless and found[position].name and program.makes[position]:
                found[producer] = Named(found[position].name, "")
    return found


def kind_of(program: Program, instruction: Any, slot: int) -> str:
    """What an instruction does: its opcode, the library call it is, or `fusion(…)` with what its result is made by."""
    if instruction.opcode == "custom-call":
        return str(instruction.custom_call_target).lstrip("_") or "custom-call"
    if instruction.opcode != "fusion":
        return str(instruction.opcode)
    fused = program.computations[instruction.called_computation_ids[0]].instructions
    heavy = next((item.opcode for item in fused if item.opcode in _HEAVY), None)
    if heavy is None:
        by_id = {item.id: item for item in fused}
        made = _made_by(program, instruction, slot, by_id)
        chain = [made.opcode]
        while chain[-1] in _VIEWS:
            made = by_id[made.operand_ids[0]]
            chain.append(made.opcode)
        made_by = [opcode for opcode in chain if opcode != "parameter"]
        calculating = [opcode for opcode in made_by if opcode not in _VIEWS]
        heavy = (calculating or [opcode for opcode in made_by if opcode != "bitcast"] or ["bitcast"])[0]
    return f"fusion({heavy})"


def _own(instruction: Any) -> Named:
    name = instruction.metadata.op_name
    if name.startswith(_NOT_AN_OP):
        return NOTHING
    if name.endswith("/accumulator"):
        kept = _ACCUMULATOR.match(name)
        name = kept[1] if kept else name
    return Named(name, instruction.metadata.op_type)


def _of_fusion(program: Program, instruction: Any, slot: int) -> Named:
    """The op of the array that counts most; else of most that is fused."""
    named = _own(instruction)
    if named.name and len(instruction.shape.tuple_shapes) < 2:
        return named
    fused = program.computations[instruction.called_computation_ids[0]].instructions
    by_id = {item.id: item for item in fused}
    made = _made_by(program, instruction, slot, by_id)
    while True:
        own = _own(made)
        if own.name:
            return own
        if not made.operand_ids:
            break
        made = by_id[made.operand_ids[0]]
    counts = Counter(_own(item) for item in fused if item.opcode not in ("parameter", "constant"))
    del counts[NOTHING]
    return counts.most_common(1)[0][0] if counts else named


def _made_by(program: Program, instruction: Any, slot: int, by_id: dict[int, Any]) -> Any:
    """The fused instruction that makes one of a fusion's arrays."""
    root = by_id[program.computations[instruction.called_computation_ids[0]].root_id]
    return by_id[root.operand_ids[slot]] if root.opcode == "tuple" else root


def _inherited(program: Program, found: list[Named], position: int) -> str:
    """The name of what an instruction reads: of the largest array that has one."""
    best, size = "", -1
    for producer, slot in program.reads[position]:
        nbytes = program.makes[producer][slot].tensor.nbytes or 0
        if found[producer].name and nbytes > size and program.instructions[producer].opcode != "constant":
            best, size = found[producer].name, nbytes
    return best
