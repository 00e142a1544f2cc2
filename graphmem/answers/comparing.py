"""Analyse a step, have TensorFlow estimate it, measure it if asked to, and put the estimates beside it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from graphmem.answers.compare import STATIC, Comparison, compare_report
from graphmem.errors import TargetError
from graphmem.report.report import Report
from graphmem.settings import Settings
from graphmem.target.step import Options

Progress = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Verify:
    """How to measure the step.

    Attributes:
        runs: processes, each of which measures one step.
        force: whether to run what is predicted not to fit into the machine's free memory.
    """

    runs: int = 3
    force: bool = False


def compare(target: Any, *specs: Any, verify: bool = False, **settings: Any) -> Comparison:
    """The estimates of memory that people use, beside the simulated peak of a step.

    Args:
        target, specs, settings: as for `graphmem.analyze`.
        verify: whether one real step is run and measured as well, on this machine's CPU; for targets that are named by
            a text.

    Raises:
        TargetError: as `graphmem.analyze`; or `verify` for an object, a saved trace, a GPU.
        UserCodeError: the user's code raised, or its step cannot be traced.
        CheckFailed: the step could not be measured.
    """
    from graphmem.api import analyze

    if not verify:
        return _compared(lambda: analyze(target, *specs, **settings))
    if not isinstance(target, (str, os.PathLike)):
        raise TargetError("verify=True runs the step in processes of their own: name the target by a text.")
    kept = {item.name for item in dataclasses.fields(Settings)}
    names = {"step": "kind"} | {item.name: item.name for item in dataclasses.fields(Options)}
    options = Options(**{names[name]: value for name, value in settings.items() if name not in kept})
    chosen = Settings(**{name: value for name, value in settings.items() if name in kept})
    return compare_target(os.fspath(target), options, chosen, Verify())


def compare_target(
    target: str,
    options: Options,
    settings: Settings,
    verify: Verify | None = None,
    progress: Progress = lambda text: None,
) -> Comparison:
    """As `compare`, for what a text names.

    Args:
        verify: how to measure the step; `None`: not at all.
        progress: told what goes on, a few words each.
    """
    from graphmem.api import analyze_target

    if verify is None:
        return _compared(lambda: analyze_target(target, options, settings, progress))
    settings = _measurable(target, settings)
    result = _compared(lambda: analyze_target(target, options, settings, progress))
    measured = _measure(result.report, target, options, settings, verify, progress)
    return dataclasses.replace(result, measured_bytes=measured)


def _compared(analysed: Callable[[], Report]) -> Comparison:
    with with_static_estimate():
        return compare_report(analysed())


def with_static_estimate() -> AbstractContextManager[None]:
    """Within the block, have TensorFlow estimate each step that is traced: `compare_report` finds what it says."""
    from graphmem.trace.examine import examined_by

    def examine(graph_def: Any, device: str) -> dict[str, Any]:
        from graphmem.trace.static_estimate import static_peak

        return {STATIC: static_peak(graph_def, device)}

    return examined_by(examine)


def _measurable(target: str, settings: Settings) -> Settings:
    """The settings under which a step can be measured here.

    Raises:
        TargetError: it cannot.
    """
    from graphmem.measure.verify import ORDERS, check_target
    from graphmem.ops.machine import l3_cache_bytes

    check_target(target)
    if settings.device not in ("auto", "cpu"):
        raise TargetError(f"a step is measured on this machine's CPU, not on {settings.device}: pass --device cpu.")
    if settings.runtime == "xla":
        raise TargetError("a step that XLA compiled is not measured: pass --runtime graph.")
    if settings.order not in ORDERS:
        raise TargetError(f"TensorFlow cannot be made to run in {settings.order} order; pass --order {ORDERS[0]}.")
    if not settings.rewrite:
        raise TargetError("a step is measured as TensorFlow runs it, with its rewrites: leave out --no-rewrite.")
    threads = settings.threads or os.cpu_count() or 1
    return dataclasses.replace(
        settings, device="cpu", runtime="graph", threads=threads, l3_bytes=l3_cache_bytes(),
        warmup=max(settings.warmup, 1), allocator="bfc",
    )  # fmt: skip


def _measure(
    report: Report, target: str, options: Options, settings: Settings, verify: Verify, progress: Progress
) -> int:
    """Bytes of variables, inputs and step peak as measured, and of the constants, which are not measured apart."""
    from graphmem.measure.machine import free_bytes
    from graphmem.measure.verify import Effort, check_memory
    from graphmem.measure.verify import verify as measured

    free = free_bytes()
    if not verify.force:
        check_memory(report, free)
    effort = Effort(runs=verify.runs, warmup=settings.warmup)
    found = measured(report, target, options, settings, effort, free, progress)
    return sum(layer.measured_bytes for layer in found.layers) + report.constant_bytes
