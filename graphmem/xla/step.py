"""The graph of a compiled step: an op for each instruction of the flattened schedule.

Ops that only hand values on (tuples, loops, calls) have neither inputs nor outputs: who reads from them reads from what
made the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphmem.errors import InternalError
from graphmem.graph.model import Argument, Op, StepGraph, Variable
from graphmem.graph.phases import set_phases, set_roles, set_scopes, set_sources, set_update_scopes
from graphmem.graph.scopes import ScopePaths
from graphmem.xla.buffers import Buffers
from graphmem.xla.names import Named, kind_of, name_all
from graphmem.xla.program import Program

#: Instructions that only move values.
_MOVES = frozenset({"copy", "transpose", "bitcast", "fusion(copy)", "fusion(transpose)"})


@dataclass
class Meaning:
    """What a compiled step is to the user, which the compiler does not know.

    Attributes:
        parameters: what each parameter of the compiled step is, in order; `None`, or none at all: unknown.
        others: variables that are resident, though the compiled step has no parameter for them.
        scopes: which layer an op belongs to, by its name.
        optimizers: name scopes in which optimizers make their ops.
        lines: name of an op -> "file.py:12" of the user's code; under "" what holds for all.
    """

    parameters: Sequence[Variable | Argument | None] = ()
    others: Sequence[Variable] = ()
    scopes: ScopePaths = field(default_factory=ScopePaths)
    optimizers: Sequence[str] = ()
    lines: Mapping[str, str] = field(default_factory=dict)


def build_graph(program: Program, buffers: Buffers, aliases: Any, meaning: Meaning) -> StepGraph:
    """Build the graph.

    Args:
        program: the flattened module.
        buffers: who lies where.
        aliases: the module's `HloInputOutputAlias` entries: which result is written over which parameter.
        meaning: names.

    Raises:
        InternalError: a parameter is not of the size of what it is said to be.
    """
    slots = [_main_slot(program, buffers, position) for position in range(len(program.instructions))]
    named = name_all(program, slots)
    graph = StepGraph(
        [_op(program, buffers, position, named[position], slots[position]) for position in range(len(named))]
    )
    _add_parameters(graph, program, {entry.parameter_number for entry in aliases}, meaning)
    names, types = [item.name for item in named], [item.type for item in named]
    set_phases(graph, names, types, meaning.optimizers)
    set_roles(graph, names, types)
    set_scopes(graph, names, _with_ops(meaning.scopes, names))
    _fill_scopes(graph)
    set_update_scopes(graph, _serves(graph, program, aliases))
    _mark_copies(graph)
    _mark_outputs(graph, buffers, slots)
    _smooth_phases(graph)
    set_sources(graph, names, meaning.lines)
    return graph


def _main_slot(program: Program, buffers: Buffers, position: int) -> int:
    """Which array of an instruction counts most: the largest in temporary memory, else the largest."""

    def rank(slot: int) -> tuple[bool, int, int]:
        buffer = buffers.buffer_of.get((position, slot), -1)
        temporary = 0 <= buffer < len(buffers.intervals)
        return temporary, made[slot].tensor.nbytes or 0, -slot

    made = program.makes[position]
    return max(range(len(made)), key=rank) if len(made) > 1 else 0


def _op(program: Program, buffers: Buffers, position: int, named: Named, slot: int) -> Op:
    instruction, made = program.instructions[position], program.makes[position]
    outputs = tuple(leaf.tensor for leaf in made)
    if (position, len(made) - 1) in buffers.scratch:
        outputs = outputs[:-1]
    opcode = instruction.opcode
    return Op(
        instruction.name,
        kind_of(program, instruction, slot),
        tuple(program.reads[position]) if made else (),
        (),
        outputs,
        {"op_name": named.name, "op_type": named.type},
        role={"parameter": "input", "constant": "constant"}.get(opcode, "activation"),
    )


def _add_parameters(graph: StepGraph, program: Program, updated: set[int], meaning: Meaning) -> None:
    """Say what each parameter is; a nameless one is a variable if the step updates it, else an argument."""
    for number, position in sorted(program.entry.items()):
        op = graph.ops[position]
        given = meaning.parameters[number] if number < len(meaning.parameters) else None
        tensor = op.outputs[0]
        if given is None:
            kind = Variable if number in updated else Argument
            given = kind(f"parameter {number}", tensor.dtype, tensor.shape, tensor.nbytes)
        elif given.nbytes is not None and given.nbytes != tensor.nbytes:
            raise InternalError(
                f"parameter {number} of the compiled step has {tensor.nbytes} bytes, {given.name} has {given.nbytes}"
            )
        if isinstance(given, Variable):
            op.attrs["_arg"] = ["variable", len(graph.variables)]
            graph.variables.append(given)
        else:
            op.attrs["_arg"] = ["argument", len(graph.arguments)]
            graph.arguments.append(given)
    graph.variables += meaning.others


def _with_ops(scopes: ScopePaths, names: list[str]) -> ScopePaths:
    """The scopes, knowing the names of ops: those of the compiled step if no others are known."""
    return scopes if scopes.ops else ScopePaths(scopes.paths, set(names), scopes.names)


def _fill_scopes(graph: StepGraph) -> None:
    """What belongs to no layer by its name does to that of what it reads, or of who reads it."""
    ops = graph.ops
    for op in ops:
        if not op.scope and op.role not in ("input", "constant"):
            op.scope = next((ops[source].scope for source, _ in op.inputs if ops[source].scope), "")
    without = {position for position, op in enumerate(ops) if not op.scope and op.role != "input"}
    for op in reversed(ops):
        for source, _ in op.inputs:
            if source in without and op.outputs and op.scope:
                ops[source].scope = op.scope


def _serves(graph: StepGraph, program: Program, aliases: Any) -> dict[int, str]:
    """Which layer's variables each op writes; those that write variables of several layers are left out."""
    found: dict[int, set[str]] = {}
    for entry in aliases:
        kind, number = graph.ops[program.entry[entry.parameter_number]].attrs["_arg"]
        ref = program.result.get(tuple(entry.output_shape_index))
        if kind == "variable" and ref:
            found.setdefault(ref[0], set()).add(graph.variables[number].scope)
    return {position: min(scopes) for position, scopes in found.items() if len(scopes) == 1 and scopes != {""}}


def _mark_copies(graph: StepGraph) -> None:
    """Weights in another layout, for the forward and the backward pass, are there because of the weights."""
    for op in graph.ops:
        moves = op.type in _MOVES and op.phase != "update" and op.inputs
        if moves and all(_is_weight(graph, graph.ops[source]) for source, _ in op.inputs):
            op.role = "weight"


def _is_weight(graph: StepGraph, op: Op) -> bool:
    kind, number = op.attrs.get("_arg", ("", -1))
    return op.role == "weight" or (kind == "variable" and graph.variables[number].role == "weight")


def _mark_outputs(graph: StepGraph, buffers: Buffers, slots: list[int]) -> None:
    """Ops that above all make what the step returns."""
    for position, slot in buffers.returned:
        if slots[position] == slot and graph.ops[position].role not in ("input", "constant"):
            graph.ops[position].role = "output"


def _smooth_phases(graph: StepGraph) -> None:
    """What makes nothing runs in the phase of what ran before it."""
    phase = next((op.phase for op in graph.ops if op.outputs and op.role not in ("input", "constant")), "forward")
    for op in graph.ops:
        if op.outputs and op.role not in ("input", "constant"):
            phase = op.phase
        else:
            op.phase = phase
