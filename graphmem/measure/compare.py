"""A prediction beside what was measured: layer by layer, run by run, and tensor by tensor at the peak."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from graphmem.graph.model import StepGraph
from graphmem.measure.events import Held
from graphmem.measure.result import Difference, Layer, MeasuredRun, Tensors, TypeRow, Verification
from graphmem.measure.run import Run
from graphmem.report.attribute import frontier
from graphmem.report.report import FrontierBuffer, Report
from graphmem.runtime.simulate import Simulation, counted
from graphmem.runtime.typical import SAME

NOT_IN_GRAPH = "(not in the graph)"
"""In place of an op type: for ops of functions that TensorFlow calls and does not inline."""


def compare(
    report: Report, runs: Sequence[Run], drawn: Sequence[Simulation], nearest: int, tolerance: float, notes: list[str]
) -> Verification:
    """Put a report beside the runs.

    Args:
        runs: one or more.
        drawn: the orders that are legal for the graph of the run whose tensors are compared.
        nearest: number of that run.
        tolerance: see `Verification`.
        notes: see `Verification`.
    """
    peak, tensors = report.step_peak_bytes, compare_tensors(nearest, runs[nearest], drawn)
    in_use = report.allocator.get("peak_in_use_bytes")
    return verification(report, runs, peak, report.step_peak_range_bytes, tensors, in_use, tolerance, notes)


def verification(
    report: Report,
    runs: Sequence[Run],
    peak: int,
    range_bytes: tuple[int, int],
    tensors: Tensors,
    in_use: int | None,
    tolerance: float,
    notes: list[str],
) -> Verification:
    """A report beside its measured runs.

    Args:
        peak, range_bytes: the step peak predicted, and its lowest and highest.
        tensors: what the step holds at its peak, compared.
        in_use: what the allocator is predicted to have in use at its peak (bytes).
        tolerance, notes: see `Verification`.
    """
    measured = [measured_run(run, range_bytes) for run in runs]
    layers = [
        Layer("variables", report.variables_bytes, runs[0].variables_bytes),
        Layer("inputs", report.argument_bytes, runs[0].argument_bytes),
        Layer("step peak", peak, median([run.step_peak_bytes for run in measured])),
    ]
    return Verification(
        target=report.target,
        step=report.step,
        runtime=report.runtime,
        batch=report.batch,
        order=report.order,
        orders=report.orders,
        versions=dict(report.versions),
        facts=dict(report.facts),
        layers=layers,
        range_bytes=range_bytes,
        runs=measured,
        tensors=tensors,
        in_use_peak_bytes=in_use,
        tolerance=tolerance,
        notes=notes,
    )


def measured_run(run: Run, predicted: tuple[int, int]) -> MeasuredRun:
    """What is kept of a run, beside the lowest and highest step peak predicted."""
    done, (low, high) = run.replay, predicted
    return MeasuredRun(
        step_peak_bytes=done.peak,
        inside=low * (1 - SAME) <= done.peak <= high * (1 + SAME),
        peak_op=done.peak_op,
        in_use_before_bytes=done.in_use_before,
        in_use_peak_bytes=done.in_use_peak,
        allocations=len(done.curve),
        seconds=run.seconds,
    )


def median(values: Sequence[int]) -> int:
    """The middle one; of an even number the lower of the two in the middle, which is one that was measured."""
    return int(statistics.median_low(values))


def nearest_to(figure: int, values: Sequence[int]) -> int:
    """The index of the value that is nearest to a figure, the first of several."""
    return min(range(len(values)), key=lambda index: abs(values[index] - figure))


def compare_tensors(number: int, run: Run, drawn: Sequence[Simulation]) -> Tensors:
    """Match what is alive at the peak of a run with what is alive in the order that comes nearest to it."""
    done = run.replay
    simulation, rows, matched = _nearest(done.peak, done.alive, drawn)
    names = _names(simulation.graph)
    types = {names[op.name]: op.type for op in simulation.graph.ops}
    ours = _buffers(rows, names)
    real = _named(Counter(done.alive), ours)
    differences = [
        Difference(held.op, types.get(held.op, NOT_IN_GRAPH), held.nbytes, count)
        for held, count in ((held, real[held] - ours[held]) for held in real | ours)
        if count
    ]
    at_peak = simulation.schedule.ops[simulation.position] if simulation.schedule.ops else None
    return Tensors(
        run=number,
        predicted_peak_bytes=simulation.peak,
        measured_peak_bytes=done.peak,
        predicted_op="" if at_peak is None else names[simulation.graph.ops[at_peak].name],
        measured_op=done.peak_op,
        matched=sum(matched.values()),
        predicted=sum(ours.values()),
        measured=len(done.alive),
        matched_bytes=_nbytes(matched),
        by_op_type=_by_op_type(matched, ours, real, types),
        differences=sorted(differences, key=lambda row: (-row.bytes * abs(row.count), row.op, row.count)),
        predicted_curve=predicted_curve(simulation),
        measured_curve=done.curve,
    )


def _nearest(
    peak: int, alive: list[Held], drawn: Sequence[Simulation]
) -> tuple[Simulation, list[FrontierBuffer], Counter[Held]]:
    """Of the orders whose peak is as near to the measured one as that of any, the one with most bytes in common."""
    least = min(abs(simulation.peak - peak) for simulation in drawn)
    real = Counter(alive)
    best: tuple[Simulation, list[FrontierBuffer], Counter[Held]] | None = None
    for simulation in drawn:
        if abs(simulation.peak - peak) <= least + SAME * peak:
            rows = frontier(simulation)
            ours = _buffers(rows, _names(simulation.graph))
            matched = _named(real, ours) & ours
            if best is None or _nbytes(matched) > _nbytes(best[2]):
                best = simulation, rows, matched
    assert best is not None
    return best


def _names(graph: StepGraph) -> dict[str, str]:
    """Name of an op -> that under which the allocator hears of it: what XLA asks for comes without a name."""
    return {op.name: "" if op.type == "XlaLaunch" else op.attrs.get("_ran_as", op.name) for op in graph.ops}


def _buffers(rows: Iterable[FrontierBuffer], names: dict[str, str]) -> Counter[Held]:
    return Counter(Held(names.get(row.op, row.op), row.bytes) for row in rows if row.bytes is not None)


def _named(real: Counter[Held], ours: Counter[Held]) -> Counter[Held]:
    """The same, where what Eigen asks for by itself, without a name, has that of a predicted buffer of its size."""
    spare, named = ours - real, Counter(real)
    for held in (held for held in real if not held.op):
        for other in (other for other in spare if other.nbytes == held.nbytes):
            taken = max(0, min(named[held] - ours[held], spare[other]))
            named[held] -= taken
            named[other] += taken
            spare[other] -= taken
    return +named


def _nbytes(buffers: Counter[Held]) -> int:
    return sum(held.nbytes * count for held, count in buffers.items())


def _by_op_type(
    matched: Counter[Held], ours: Counter[Held], real: Counter[Held], types: dict[str, str]
) -> list[TypeRow]:
    columns: dict[str, list[int]] = {}
    for column, buffers in enumerate((matched, ours - real, real - ours)):
        for held, count in buffers.items():
            columns.setdefault(types.get(held.op, NOT_IN_GRAPH), [0, 0, 0])[column] += held.nbytes * count
    rows = [TypeRow(name, *sizes) for name, sizes in columns.items()]
    return sorted(rows, key=lambda row: (-row.matched_bytes - row.measured_only_bytes, row.op_type))


def predicted_curve(simulation: Simulation) -> list[int]:
    """Bytes alive after each allocation of a predicted order, as `Replay.curve` has it for a measured one."""
    lives = simulation.lifetimes
    births = sorted((lives.born[buffer], buffer) for buffer in counted(lives))
    deaths = sorted((lives.freed[buffer], buffer) for _, buffer in births)
    curve, now, dead = [], 0, 0
    for born, buffer in births:
        while dead < len(deaths) and deaths[dead][0] <= born:
            now -= lives.nbytes[deaths[dead][1]] or 0
            dead += 1
        now += lives.nbytes[buffer] or 0
        curve.append(now)
    return curve
