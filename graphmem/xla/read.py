"""From what an XLA compiler wrote to a simulation: the same graph, lifetimes and timeline as of any other runtime.

XLA decides before the step runs what lies where and when. So nothing is simulated here: its schedule, its buffers and
its allocations are read, checked against each other, and put in graphmem's terms.
"""

from __future__ import annotations

from typing import Any

from graphmem.collector import collection_paused
from graphmem.graph.model import StepGraph
from graphmem.ops.registry import Env
from graphmem.runtime.compiled import ORDER, in_order
from graphmem.runtime.frames import DEAD
from graphmem.runtime.simulate import Simulation, timeline
from graphmem.xla.allocations import CONSTANT, OUTPUT, PARAMETER, TEMP, Assignment, read_assignment
from graphmem.xla.buffers import Buffers, assign_buffers
from graphmem.xla.check import check
from graphmem.xla.compiled import PLENTY_BYTES, CompiledHlo
from graphmem.xla.program import Program, flatten
from graphmem.xla.proto import parse
from graphmem.xla.step import Meaning, build_graph


@collection_paused()
def read(compiled: CompiledHlo, meaning: Meaning | None = None, info: dict[str, Any] | None = None) -> Simulation:
    """Read a compiled step.

    Args:
        compiled: what the compiler handed over.
        meaning: what its parameters and ops are to the user.
        info: what was traced and how, as `graphmem.trace.tracer.trace` puts it into `StepGraph.info`; this adds
            "runtime" = "xla" and "xla", a dict: "temp_bytes", "live_bytes" (the most of it in use at once),
            "output_bytes", "constant_bytes", "parameter_bytes", "recomputed" (how many instructions XLA runs again to
            save memory), "recomputed_bytes" (what those write), "host_temp_bytes" (temporary memory of the host),
            "temp_allocations" and "output_allocations" (what XLA asks the allocator for, one by one), "temp_places" (of
            each buffer of temporary memory, in which of the former it lies, -1 for none, and its offset), and of
            `CompiledHlo` "target", "compiler", "flags" and "device_memory_bytes" (`None`: as much as it needs).

    Returns:
        The simulation: the timeline is temporary memory in use; parameters, constants and what the step returns are
        resident.

    Raises:
        InternalError: the bytes are no HloProto, or contradict themselves.
    """
    proto = parse(compiled.proto)
    program = flatten(proto.hlo_module)
    assignment = read_assignment(proto.buffer_assignment)
    buffers = assign_buffers(program, assignment, proto.buffer_assignment.heap_simulator_traces)
    graph = build_graph(program, buffers, proto.hlo_module.input_output_alias.entries, meaning or Meaning())
    lives, end = buffers.lives, len(graph.ops)
    schedule = in_order(graph)
    lives.value_buffer = [
        buffers.buffer_of.get((position, slot), DEAD) for position, op in enumerate(graph.ops)
        for slot in range(len(op.outputs))
    ]  # fmt: skip
    _note_variables(graph, buffers)
    total = timeline(lives, end)
    position = int(total.argmax()) if end else 0
    peak = int(total[position]) if end else 0
    check(assignment, buffers, proto.buffer_assignment.heap_simulator_traces, total)
    graph.info = {**(info or {}), "runtime": "xla", "xla": _facts(compiled, program, assignment, peak, buffers)}
    env = Env(device=compiled.platform)
    return Simulation(graph, schedule, lives, total, peak, position, [peak], ORDER, env)


def _note_variables(graph: StepGraph, buffers: Buffers) -> None:
    """A variable has the same buffer before and after the step."""
    for position, op in enumerate(graph.ops):
        kind, number = op.attrs.get("_arg", ("", -1))
        if kind == "variable" and (position, 0) in buffers.buffer_of:
            buffers.lives.before[number] = buffers.lives.after[number] = buffers.buffer_of[position, 0]


def _places(assignment: Assignment, buffers: Buffers) -> list[list[int]]:
    """Of each interval of temporary memory the allocation, counted as `Assignment.sizes` does, and the offset."""
    own = [index for index, item in assignment.allocations.items() if item.kind == TEMP and not item.host]
    number = {index: place for place, index in enumerate(own)}
    return [[number.get(item.allocation, -1), item.offset] for item in buffers.intervals]


def _facts(
    compiled: CompiledHlo, program: Program, assignment: Assignment, live: int, buffers: Buffers
) -> dict[str, Any]:
    again = [place for place, item in enumerate(program.instructions) if ".remat" in item.name and program.makes[place]]
    written = sum(leaf.tensor.nbytes or 0 for place in again for leaf in program.makes[place])
    return {
        "target": compiled.target,
        "compiler": compiled.compiler,
        "flags": list(compiled.flags),
        "device_memory_bytes": None if compiled.device_memory_bytes == PLENTY_BYTES else compiled.device_memory_bytes,
        "temp_bytes": assignment.total(TEMP),
        "live_bytes": live,
        "output_bytes": assignment.total(OUTPUT),
        "constant_bytes": assignment.total(CONSTANT),
        "parameter_bytes": assignment.total(PARAMETER),
        "temp_allocations": assignment.sizes(TEMP),
        "temp_places": _places(assignment, buffers),
        "output_allocations": assignment.sizes(OUTPUT),
        "host_temp_bytes": assignment.total(TEMP, host=True),
        "recomputed": len(again),
        "recomputed_bytes": written,
    }
