"""A step that XLA compiled, predicted beside measured: what it asks the allocator for, block by block.

A compiled step asks for its blocks when it is called: one for each result that takes over no parameter's memory, and,
mostly, a single one for all that is temporary. Which block is which nobody tells, so that they are matched by size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from graphmem.measure.compare import verification
from graphmem.measure.result import Difference, Tensors, TypeRow, Verification
from graphmem.measure.run import Run
from graphmem.report.report import Report
from graphmem.runtime.bfc import Bfc
from graphmem.runtime.replay_compiled import replay_compiled
from graphmem.runtime.simulate import Simulation

TEMPORARY, RESULTS, OTHER = "temporary memory", "results", "(not predicted)"
"""What a block is for; of those that are not predicted nobody knows."""


def compare_compiled(
    report: Report, simulation: Simulation, runs: Sequence[Run], nearest: int, tolerance: float, notes: list[str]
) -> Verification:
    """Put the report of a compiled step beside the runs.

    Args:
        simulation: what the report is of.
        runs: one or more.
        nearest: number of the run whose blocks are compared.
        tolerance, notes: see `Verification`.
    """
    xla = simulation.graph.info["xla"]
    blocks = [(RESULTS, size) for size in xla["output_allocations"] if size]
    blocks += [(TEMPORARY, size) for size in xla["temp_allocations"] if size]
    total = sum(size for _, size in blocks)
    tensors = compare_blocks(nearest, runs[nearest], blocks)
    in_use = replay_compiled(simulation, Bfc()).peak.bytes_in_use
    return verification(report, runs, total, (total, total), tensors, in_use, tolerance, notes)


def compare_blocks(number: int, run: Run, blocks: Sequence[tuple[str, int]]) -> Tensors:
    """Match the blocks that a run holds at its peak with those predicted, each a (kind, bytes), by their size."""
    done = run.replay
    left = Counter(held.nbytes for held in done.alive if held.nbytes)
    real = sum(left.values())
    rows = {kind: [0, 0, 0] for kind, _ in blocks}
    missing: Counter[tuple[str, int]] = Counter()
    for kind, size in blocks:
        found = left[size] > 0
        left[size] -= found
        rows[kind][0 if found else 1] += size
        missing[kind, size] += not found
    matched = sum(row[0] for row in rows.values())
    more = +left
    if more:
        rows[OTHER] = [0, 0, sum(size * count for size, count in more.items())]
    differences = [Difference(OTHER, "", size, count) for size, count in more.items()]
    differences += [Difference(kind, "", size, -count) for (kind, size), count in missing.items() if count]
    return Tensors(
        run=number,
        predicted_peak_bytes=sum(size for _, size in blocks),
        measured_peak_bytes=done.peak,
        predicted_op="",
        measured_op=done.peak_op,
        matched=len(blocks) - missing.total(),
        predicted=len(blocks),
        measured=real,
        matched_bytes=matched,
        by_op_type=sorted(
            (TypeRow(kind, *sizes) for kind, sizes in rows.items()), key=lambda row: (-row.matched_bytes, row.op_type)
        ),
        differences=sorted(differences, key=lambda row: (-row.bytes * abs(row.count), row.op, row.count)),
        predicted_curve=list(accumulate(size for _, size in blocks)),
        measured_curve=done.curve,
    )
