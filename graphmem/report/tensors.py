"""What is in memory at any moment of a step, not only at its peak: for viewers in which one may choose the moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphmem.report.attribute import describe
from graphmem.report.report import FrontierBuffer, Report
from graphmem.runtime.simulate import Simulation

_HELD_NAMES = {
    "weight": "weights", "optimizer state": "optimizer states", "other state": "states", "input": "inputs",
    "constant": "constants", "output": "outputs",
}  # fmt: skip


@dataclass(frozen=True)
class RunningOp:
    """What runs at a position of the schedule."""

    type: str
    scope: str
    phase: str


def tensors_of(report: Report, most: int) -> tuple[list[FrontierBuffer], int]:
    """The largest tensors of a step, what is held all along among them, and how many there are in all.

    What is held all along has no phase, lives from position 0 to the end, and adds up to `needed_bytes` less the step
    peak. A report without its step has what is alive at the peak only.

    Args:
        most: rows at most.
    """
    simulation, positions = report.simulation, report.peak.positions
    held = _held(report, positions)
    if simulation is None:
        rows = [*held, *report.frontier]
        return _largest(rows)[:most], len(rows)
    lives, at = simulation.lifetimes, simulation.position
    own = [
        buffer
        for buffer, nbytes in enumerate(lives.nbytes)
        if nbytes != 0 and not lives.resident[buffer] and not lives.host[buffer]
        and (lives.born[buffer] < lives.freed[buffer])
    ]  # fmt: skip
    # Of equal size, those at the peak come first: they are what the report is about.
    own.sort(key=lambda b: (lives.nbytes[b] is None, -(lives.nbytes[b] or 0), not lives.born[b] <= at < lives.freed[b]))
    shown = [describe(simulation, buffer, lives.born[buffer]) for buffer in own[:most]]
    return _largest([*held, *shown])[:most], len(held) + len(own)


def _largest(rows: Sequence[FrontierBuffer]) -> list[FrontierBuffer]:
    return sorted(rows, key=lambda row: (row.bytes is None, -(row.bytes or 0)))


def ops_at(simulation: Simulation, positions: Sequence[int]) -> list[RunningOp]:
    """The ops that run at these positions."""
    ops, order = simulation.graph.ops, simulation.schedule.ops
    return [RunningOp(op.type, op.scope, op.phase) for op in (ops[order[position]] for position in positions)]


def _held(report: Report, positions: int) -> list[FrontierBuffer]:
    """A row for each variable and argument, and one for what else each role has; a row for each role without a step."""
    left = {
        "weight": report.weight_bytes, "optimizer state": report.optimizer_bytes,
        "other state": report.other_state_bytes, "input": report.argument_bytes, "constant": report.constant_bytes,
        "output": report.output_bytes,
    }  # fmt: skip
    rows: list[FrontierBuffer] = []
    if report.simulation is not None:
        graph = report.simulation.graph
        for variable in graph.variables:
            rows.append(_whole_step(variable.name, variable.nbytes, variable.role, "variable", positions,
                                    variable.shape, variable.dtype, variable.scope))  # fmt: skip
        for argument in graph.arguments:
            rows.append(_whole_step(argument.name, argument.nbytes, "input", "argument", positions, argument.shape,
                                    argument.dtype))  # fmt: skip
        rows = [row for row in rows if row.bytes != 0]
        for row in rows:
            left[row.role] = left.get(row.role, 0) - (row.bytes or 0)
    told = {row.role for row in rows}
    rest = {
        role: f"{'other' if role in told else 'all'} {_HELD_NAMES[role]}" for role, size in left.items() if size > 0
    }
    return [*rows, *(_whole_step(name, left[role], role, "", positions) for role, name in rest.items())]


def _whole_step(
    name: str, nbytes: int | None, role: str, kind: str, positions: int, shape: tuple[int | None, ...] | None = None,
    dtype: str = "", scope: str = "",
) -> FrontierBuffer:  # fmt: skip
    return FrontierBuffer(
        tensor=name, bytes=nbytes, shape=shape, dtype=dtype, role=role, phase="", scope=scope, made_by=kind,
        last_reader="", last_reader_type="", last_reader_scope="", born=0, freed=positions,
    )  # fmt: skip
