"""What stands below a picture in a paper: what it shows, of which model, run by what, and the figure."""

from __future__ import annotations

from graphmem.render.words import PHASE_WORDS, common_prefix, headline_range, short_target
from graphmem.report.report import Report
from graphmem.units import format_bytes

_SHOWS = {
    "table": "Memory needed at the peak",
    "frontier": "Tensors alive at the memory peak",
    "dag": "All tensors, coloured by when they are alive,",
    "timeline": "Memory alive over the schedule",
    "lifetimes": "Memory by address over the schedule, as TensorFlow's allocator (BFC) places it,",
}
_PLANNED = "Temporary memory by address over the schedule, as XLA planned it,"
_STEPS = {"train": "training step", "test": "test step", "predict": "prediction step"}
_DEVICES = {"cpu": "a CPU", "gpu": "a GPU"}


def caption(report: Report, kind: str, by: str = "role") -> str:
    """A paragraph of plain text.

    Args:
        kind: which picture, one of `graphmem.render.choices.KINDS`, or "table".
        by: what a timeline is stacked by.
    """
    batch = f", batch {report.batch}" if report.batch is not None else ""
    stacked = f", stacked by {'layer' if by == 'scope' else by}" if kind == "timeline" else ""
    shows = _PLANNED if kind == "lifetimes" and report.runtime == "xla" else _SHOWS[kind]
    sentences = [
        f"{shows} of one {_STEPS.get(report.step, 'step')} of {short_target(report.target)}{batch}{stacked}",
        f"{_set_up(report)}; predicted by graphmem {_versions(report)}",
        _peak(report),
        _moment(report) if report.frontier and kind != "lifetimes" else "",
        _lines(report) if kind in ("timeline", "lifetimes") else "",
    ]
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences if sentence)


def _set_up(report: Report) -> str:
    """The facts that decide the figure."""
    facts = [f"{name} {report.facts[name]}" for name in ("optimizer", "dtype policy") if name in report.facts]
    device = report.card or _DEVICES.get(report.device, report.device)
    runs = f"compiled by XLA for {device}" if report.runtime == "xla" else f"run op by op on {device}"
    return ", ".join([*facts, runs, *([] if report.runtime == "xla" else [f"{report.order} order"])])


def _versions(report: Report) -> str:
    names = {"tensorflow": "TensorFlow", "keras": "Keras", "tf_keras": "tf_keras"}
    others = [f"{names.get(name, name)} {version}" for name, version in report.versions.items() if name != "graphmem"]
    return report.versions.get("graphmem", "") + (f" for {' and '.join(others)}" if others else "")


def _peak(report: Report) -> str:
    spread = headline_range(report)
    held = [
        ("variables", report.variables_bytes),
        ("constants", report.constant_bytes),
        ("inputs", report.argument_bytes),
        ("outputs", report.output_bytes),
        ("the step itself", report.step_peak_bytes),
    ]
    parts = ", ".join(f"{name} {format_bytes(size)}" for name, size in held if size)
    bound = "at least " if report.at_least else ""
    return f"peak {bound}{format_bytes(report.needed_bytes)}{f' ({spread})' if spread else ''}, of which {parts}"


def _moment(report: Report) -> str:
    peak = report.peak
    layer = f" in {peak.scope.removeprefix(common_prefix(report))}" if peak.scope else ""
    return f"At the peak {peak.op_type} runs{layer}, in the {PHASE_WORDS.get(peak.phase, peak.phase)}"


def _lines(report: Report) -> str:
    limit = report.allocator.get("limit_bytes")
    return f"{format_bytes(limit)} are allowed" if limit is not None else ""
