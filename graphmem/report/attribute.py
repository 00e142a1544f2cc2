"""What holds the peak: bytes by role, phase, op type, source line and scope; every grouping adds up to the peak."""

from __future__ import annotations

from collections.abc import Iterable

from graphmem.graph.model import PHASES, ROLES, Op, StepGraph
from graphmem.report.report import FrontierBuffer, ScopeRow, Timeline
from graphmem.runtime.liveness import COPY, SCRATCH, WORKSPACE
from graphmem.runtime.simulate import Simulation, counted, timeline


def frontier(simulation: Simulation) -> list[FrontierBuffer]:
    """The buffers alive at the peak, largest first; those of unknown size last."""
    lives, position = simulation.lifetimes, simulation.position
    alive = [
        buffer
        for buffer in range(len(lives.nbytes))
        if not lives.resident[buffer]
        and not lives.host[buffer]
        and lives.nbytes[buffer] != 0
        and lives.born[buffer] <= position < lives.freed[buffer]
    ]
    rows = [describe(simulation, buffer, position) for buffer in alive]
    return sorted(rows, key=lambda row: (row.bytes is None, -(row.bytes or 0), row.born, row.tensor))


def role_of(simulation: Simulation, buffer: int) -> str:
    """The role of a buffer: that of the op that made it, unless it is scratch or the copy of a variable."""
    slot = simulation.lifetimes.slot[buffer]
    if slot in (SCRATCH, WORKSPACE):
        return "scratch"
    if slot == COPY:
        return "update"
    return simulation.graph.ops[simulation.lifetimes.op[buffer]].role


def describe(simulation: Simulation, buffer: int, position: int) -> FrontierBuffer:
    """A buffer as a row of a report.

    Args:
        position: who reads it last is told if that is after this position.
    """
    lives, ops = simulation.lifetimes, simulation.graph.ops
    op = ops[lives.op[buffer]]
    slot, last = lives.slot[buffer], lives.last[buffer]
    reader = ops[simulation.schedule.ops[last]] if last > position else None
    if slot == SCRATCH:
        name, shape, dtype = f"{op.name} (scratch)", None, ""
    elif slot == WORKSPACE:
        name, shape, dtype = f"{op.name} (cuDNN workspace)", None, ""
    elif slot == COPY:
        name, shape, dtype = _copied(simulation.graph, op)
    elif op.outputs[slot].dtype == "variant":
        name, shape, dtype = f"{op.name} (list element)", None, "list element"
    else:
        name, shape, dtype = f"{op.name}:{slot}", op.outputs[slot].shape, op.outputs[slot].dtype
    return FrontierBuffer(
        tensor=name,
        bytes=lives.nbytes[buffer],
        shape=shape,
        dtype=dtype,
        role=role_of(simulation, buffer),
        phase=op.phase,
        scope=op.scope,
        made_by=op.type,
        last_reader=reader.name if reader else "",
        last_reader_type=reader.type if reader else "",
        last_reader_scope=reader.scope if reader else "",
        born=lives.born[buffer],
        freed=lives.freed[buffer],
        source=op.source,
        op=op.name,
    )


def _copied(graph: StepGraph, op: Op) -> tuple[str, tuple[int | None, ...] | None, str]:
    """Name, shape and dtype of the copy of a variable that an op updates."""
    for producer, _ in op.inputs:
        kind, number = graph.ops[producer].attrs.get("_arg", ("", -1))
        if kind == "variable":
            variable = graph.variables[number]
            return f"{variable.name} (copy)", variable.shape, variable.dtype
    return f"{op.name} (copy of a variable)", None, ""


def by_role(rows: Iterable[FrontierBuffer]) -> dict[str, int]:
    """Role -> bytes, in the order of `ROLES`, roles without bytes left out."""
    return _sums(((row.role, row.bytes) for row in rows), ROLES)


def by_phase(rows: Iterable[FrontierBuffer]) -> dict[str, int]:
    """Phase that made the buffer -> bytes, in the order of `PHASES`."""
    return _sums(((row.phase, row.bytes) for row in rows), PHASES)


def by_role_phase(rows: list[FrontierBuffer]) -> dict[str, dict[str, int]]:
    """Role -> phase -> bytes."""
    return {role: by_phase([row for row in rows if row.role == role]) for role in by_role(rows)}


def by_op_type(rows: Iterable[FrontierBuffer]) -> dict[str, int]:
    """Op type -> bytes, largest first."""
    return _largest_first(_sums(((row.made_by, row.bytes) for row in rows), ()))


def variables_by_scope(graph: StepGraph) -> dict[str, dict[str, int]]:
    """Scope -> role -> bytes of the resident variables, in the order of the variables; constants are no variables."""
    sums: dict[str, dict[str, int]] = {}
    for variable in graph.variables:
        if variable.role != "constant" and variable.nbytes:
            roles = sums.setdefault(variable.scope, {})
            roles[variable.role] = roles.get(variable.role, 0) + variable.nbytes
    return sums


def by_source(rows: Iterable[FrontierBuffer]) -> dict[str, int]:
    """Line of the user's code -> bytes, largest first; "" for what no line is known of."""
    return _largest_first(_sums(((row.source, row.bytes) for row in rows), ()))


def by_scope(rows: Iterable[FrontierBuffer]) -> list[ScopeRow]:
    """The scope tree, depth first, largest child first; the first row is the whole peak."""
    total: dict[str, int] = {"": 0}
    own: dict[str, int] = {}
    count: dict[str, int] = {"": 0}
    children: dict[str, dict[str, None]] = {}
    for row in rows:
        nbytes = row.bytes or 0
        own[row.scope] = own.get(row.scope, 0) + nbytes
        parts = row.scope.split("/") if row.scope else []
        for depth in range(len(parts) + 1):
            scope = "/".join(parts[:depth])
            total[scope] = total.get(scope, 0) + nbytes
            count[scope] = count.get(scope, 0) + 1
            if depth:
                children.setdefault("/".join(parts[: depth - 1]), {})[scope] = None
    out: list[ScopeRow] = []
    todo = [("", 0)]
    while todo:
        scope, depth = todo.pop()
        out.append(ScopeRow(scope, depth, total[scope], own.get(scope, 0), count[scope]))
        below = sorted(children.get(scope, ()), key=lambda child: (total[child], child))
        todo.extend((child, depth + 1) for child in below)
    return out


def timeline_by_role(simulation: Simulation) -> Timeline:
    """Bytes over the schedule by role, and the runs of phases."""
    lives, ops, order = simulation.lifetimes, simulation.graph.ops, simulation.schedule.ops
    groups: dict[str, list[int]] = {}
    for buffer in counted(lives):
        groups.setdefault(role_of(simulation, buffer), []).append(buffer)
    roles = {
        role: [int(value) for value in timeline(lives, len(order), groups[role])] for role in ROLES if role in groups
    }
    phases: list[tuple[str, int, int]] = []
    for position, index in enumerate(order):
        phase = ops[index].phase
        if phases and phases[-1][0] == phase:
            phases[-1] = (phase, phases[-1][1], position + 1)
        else:
            phases.append((phase, position, position + 1))
    return Timeline(total=[int(value) for value in simulation.total], by_role=roles, phases=phases)


def _sums(items: Iterable[tuple[str, int | None]], order: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, nbytes in items:
        if nbytes:
            found[name] = found.get(name, 0) + nbytes
    return {name: found[name] for name in (*order, *sorted(set(found) - set(order))) if name in found}


def _largest_first(sums: dict[str, int]) -> dict[str, int]:
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))
