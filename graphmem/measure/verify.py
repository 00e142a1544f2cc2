"""Verify a prediction: refuse what does not fit, run the step in processes of their own, compare."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from graphmem.errors import CheckFailed, TargetError
from graphmem.graph.store import is_trace
from graphmem.measure.compare import compare, nearest_to
from graphmem.measure.compiled import compare_compiled
from graphmem.measure.result import Verification
from graphmem.measure.run import Request, measure
from graphmem.ops.registry import Env
from graphmem.report.report import Report
from graphmem.runtime.simulate import Simulation, draw
from graphmem.runtime.typical import SAME, typical
from graphmem.settings import Settings
from graphmem.target.step import Options
from graphmem.trace.environment import wants_onednn
from graphmem.units import format_bytes

ORDERS = ("default", "deterministic")
"""The orders that TensorFlow's executor can be made to take."""

TENSORFLOW_BYTES = 768 << 20
"""What a process takes before its first tensor: Python, TensorFlow and Keras, measured at 500 to 700 MiB."""


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Attributes:
        runs: processes, each of which measures one step.
        warmup: calls of the step before the one measured.
        timeout: seconds that each process may take.
        tolerance: relative error up to which prediction and measurement agree.
    """

    runs: int = 3
    warmup: int = 1
    timeout: float = 900
    tolerance: float = 0.03


def check_target(target: str) -> None:
    """Refuse a target that cannot be run.

    Raises:
        TargetError: it is a saved trace.
    """
    if is_trace(target):
        raise TargetError(f"{target} is a saved trace, which holds nothing that can be run: name the model itself.")


def check_memory(report: Report, free: int | None) -> None:
    """Refuse a step that is predicted not to fit into the machine's free memory.

    Args:
        free: bytes; `None` if unknown.

    Raises:
        CheckFailed: it does not fit.
    """
    needed = most_needed(report)
    if free is not None and needed + TENSORFLOW_BYTES > free:
        raise CheckFailed(
            f"the step was not run: it needs {format_bytes(needed)} as predicted, TensorFlow itself "
            f"{format_bytes(TENSORFLOW_BYTES)}, and this machine has {format_bytes(free)} free; take a smaller "
            "--batch, or pass --force to run it all the same."
        )


def most_needed(report: Report) -> int:
    """Bytes that the step needs in the worst of the orders drawn, as the allocator counts them if it was simulated."""
    in_use = report.allocator.get("peak_in_use_range_bytes") or (0, 0)
    return max(report.needed_range_bytes[1], in_use[1])


def verify(
    report: Report,
    target: str,
    options: Options,
    settings: Settings,
    effort: Effort,
    free: int | None,
    progress: Callable[[str], None] = lambda text: None,
) -> Verification:
    """Run the step that a report is about, and compare.

    Args:
        report: the prediction; `settings.threads` says for how many threads.
        target, options: what was analysed.
        free: bytes that TensorFlow may take, as far as known; what is predicted is always allowed.
        progress: told what goes on, a few words each.

    Raises:
        CheckFailed, TargetError, UserCodeError: as `graphmem.measure.run.measure`.
    """
    threads = settings.threads or os.cpu_count() or 1
    limit = max(free or 0, 2 * most_needed(report), 1 << 30)
    request = Request(target, options, threads, settings.order, effort.warmup, effort.timeout, limit, report.runtime)
    runs = []
    for number in range(1, effort.runs + 1):
        progress(f"running the step, process {number} of {effort.runs}")
        runs.append(measure(request))
    progress("comparing")
    peaks = [run.replay.peak for run in runs]
    if report.runtime == "xla":
        assert report.simulation is not None  # as it was just made
        xla = report.simulation.graph.info["xla"]
        nearest = nearest_to(xla["temp_bytes"] + xla["output_bytes"], peaks)
        notes = _compiled_notes(report)
        return compare_compiled(report, report.simulation, runs, nearest, effort.tolerance, notes)
    nearest = nearest_to(report.step_peak_bytes, peaks)
    env = Env(threads=threads, l3_bytes=settings.l3_bytes)
    graph = runs[nearest].graph
    assert graph is not None
    drawn = draw(graph, order=settings.order, orders=settings.orders, env=env, trips=options.dims, warmup=effort.warmup)
    notes = _notes(report, drawn)
    return compare(report, runs, drawn, nearest, effort.tolerance, notes)


def _compiled_notes(report: Report) -> list[str]:
    """What the measurement of a compiled step leaves out, and what it assumes."""
    why = f": {report.runtime_reason}" if report.runtime_reason else ""
    return [
        f"The step ran as XLA compiled it{why}.",
        "What matrix products and convolutions allocate for themselves does not come from TensorFlow's allocator, and "
        "is on neither side.",
        "Inputs were made up: random floats, zeros for all else.",
    ]


def _notes(report: Report, drawn: list[Simulation]) -> list[str]:
    """What the measurement leaves out, what it assumes, and what is odd."""
    found = []
    peak = drawn[typical([simulation.peak for simulation in drawn])].peak
    if abs(peak - report.step_peak_bytes) > SAME * report.step_peak_bytes:
        found.append(
            f"Traced where it ran, the step is predicted at {format_bytes(peak)} instead of "
            f"{format_bytes(report.step_peak_bytes)}: the target is not built the same way each time."
        )
    if report.at_least:
        unknown = [*(f"op {name}" for name in report.unknown_ops), *(f"tensor {name}" for name in report.unknown_sizes)]
        listed = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "") or "trip counts of loops"
        found.append(f"The prediction is a lower bound, as these are unknown: {listed}.")
    found.append(
        "Several inter-op threads, TensorFlow's default, would let ops overlap: the peak is then higher, mostly, and "
        "another in each step."
    )
    if os.environ.get("TF_ENABLE_ONEDNN_OPTS", "0").lower() not in ("0", "false"):
        found.append(
            "oneDNN was on, as TF_ENABLE_ONEDNN_OPTS says: its kernels have other scratch than those predicted."
        )
    else:
        here = "TensorFlow's default on this CPU" if wants_onednn() else "TensorFlow's default on other CPUs"
        found.append(f"oneDNN was off; with it, {here}, other kernels with other scratch run.")
    found.append("Inputs were made up: random floats, zeros for all else.")
    return found
