"""A prediction beside the measurements of the same step, and the limits that both have to keep."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One case; sizes in bytes, errors in percent of the median measurement, `None` where nothing was measured.

    Attributes:
        name: of the case, with its variant.
        predicted: step peak in the typical order; `low` and `high` are those of all orders drawn.
        median, lowest, highest: the measured step peaks.
        error: of the predicted step peak, with its sign.
        inside: whether every measurement lies in the predicted range, widened.
        exact: whether the bytes of variables and of arguments are predicted to the byte.
        at_least: whether graphmem says that something is unknown.
        bfc_error: of the bytes that TensorFlow's allocator has in use at its peak.
        deterministic_error: of the step peak in TensorFlow's deterministic order.
        matched: percent of the measured bytes at the peak that the prediction has alive there in the same op's name.
    """

    name: str
    predicted: int
    low: int
    high: int
    median: int
    lowest: int
    highest: int
    error: float
    inside: bool
    exact: bool
    at_least: bool
    bfc_error: float | None
    deterministic_error: float | None
    matched: float


@dataclass(frozen=True)
class Limits:
    """The largest errors allowed, in percent.

    Attributes:
        median, worst: of the step peak, typical order against the median of the default measurements.
        under: largest under-estimate of the step peak.
        widen: by how much the predicted range is widened before every measurement must lie in it.
        deterministic_median: of the step peak in the deterministic order.
        bfc_median, bfc_worst: of what the allocator has in use at its peak.
    """

    median: float = 0.5
    worst: float = 3.0
    under: float = 1.0
    widen: float = 1.0
    deterministic_median: float = 1.0
    bfc_median: float = 1.5
    bfc_worst: float = 5.0


@dataclass(frozen=True)
class Verdict:
    """One limit: what it says, what is allowed, what was found, and the cases that exceed it."""

    what: str
    allowed: str
    found: str
    passed: bool
    cases: tuple[str, ...] = ()


def compare(name: str, reports: dict[str, Any], measured: dict[str, Any], widen: float) -> Row:
    """The row of a case; `reports` and `measured` have the keys "default" and, if known, "deterministic"."""
    report, runs = reports["default"], measured["default"]
    peaks = sorted(run["step_peak_bytes"] for run in runs)
    median, predicted = int(statistics.median(peaks)), report["step_peak_bytes"]
    low, high = report["step_peak_range_bytes"]
    in_use = int(statistics.median(run["bfc_peak_in_use_bytes"] for run in runs))
    other, settled = reports.get("deterministic"), measured.get("deterministic")
    return Row(
        name=name,
        predicted=predicted,
        low=low,
        high=high,
        median=median,
        lowest=peaks[0],
        highest=peaks[-1],
        error=percent(predicted, median),
        inside=low * (1 - widen / 100) <= peaks[0] and peaks[-1] <= high * (1 + widen / 100),
        exact=all(report[key] == run[key] for run in runs for key in ("variables_bytes", "argument_bytes")),
        at_least=report["at_least"],
        bfc_error=percent(report["allocator"]["peak_in_use_bytes"] + _besides(report, runs), in_use),
        deterministic_error=_error(other, settled) if other and settled else None,
        matched=100.0 * matched_bytes(report, runs),
    )


def percent(predicted: int, measured: int) -> float:
    """The error of a prediction, in percent of the measurement."""
    return 100 * (predicted / measured - 1) if measured else 0.0 if predicted == measured else float("inf")


def _error(report: dict[str, Any], run: dict[str, Any]) -> float:
    return percent(report["step_peak_bytes"], run["step_peak_bytes"])


def _besides(report: dict[str, Any], runs: list[dict[str, Any]]) -> int:
    """What the measured process held in the same allocator besides the step's own: other variables, eager tensors."""
    held = int(statistics.median(run["base_requested_bytes"] for run in runs))
    return max(0, held - report["variables_bytes"] - report["argument_bytes"] - report["constant_bytes"])


def matched_bytes(report: dict[str, Any], runs: list[dict[str, Any]]) -> float:
    """Part of the bytes listed at the middle measurement's peak that a predicted buffer of the same op and size has.

    What Eigen asks for by itself comes without the name of an op: its size has to do.
    """
    top = next(run for run in runs if "top" in run)["top"]
    predicted = Counter((buffer["bytes"], bare(buffer["tensor"])) for buffer in report["frontier"])
    nameless = []
    found = 0
    for size, op, *_ in top:
        if predicted[size, bare(op)]:
            predicted[size, bare(op)] -= 1
            found += size
        elif not op:
            nameless.append(size)
    spare = Counter(size for size, _ in predicted.elements())
    found += sum(size for size in (Counter(nameless) & spare).elements())
    return found / max(1, sum(size for size, *_ in top))


def bare(text: str | None) -> str:
    """An op's name without the output's number or its kind."""
    return (text or "").split(" ")[0].split(":")[0]


def judge(rows: Sequence[Row], limits: Limits) -> list[Verdict]:
    """Each limit, and whether the rows keep it."""
    errors = [(row.name, row.error) for row in rows]
    bfc = [(row.name, row.bfc_error) for row in rows if row.bfc_error is not None]
    settled = [(row.name, row.deterministic_error) for row in rows if row.deterministic_error is not None]
    outside = tuple(row.name for row in rows if not row.inside)
    inexact = tuple(row.name for row in rows if not row.exact)
    verdicts = [
        _median("step peak, median", errors, limits.median),
        _worst("step peak, worst", errors, limits.worst),
        _under("step peak, worst under-estimate", errors, limits.under),
        _all(f"measurements in the range widened by {limits.widen:g} %", outside, len(rows)),
        _all("bytes of variables and arguments exact", inexact, len(rows)),
    ]
    if settled:
        verdicts.append(_median("deterministic order, median", settled, limits.deterministic_median))
    if bfc:
        verdicts.append(_median("allocator's bytes in use, median", bfc, limits.bfc_median))
        verdicts.append(_worst("allocator's bytes in use, worst", bfc, limits.bfc_worst))
    return verdicts


Errors = Sequence[tuple[str, float]]


def _median(what: str, errors: Errors, allowed: float) -> Verdict:
    median = statistics.median(abs(error) for _, error in errors)
    return Verdict(what, f"{allowed:g} %", f"{median:.2f} %", median <= allowed)


def _worst(what: str, errors: Errors, allowed: float) -> Verdict:
    name, worst = max(errors, key=lambda pair: abs(pair[1]))
    over = tuple(name for name, error in errors if abs(error) > allowed)
    return Verdict(what, f"{allowed:g} %", f"{worst:+.2f} % ({name})", not over, over)


def _under(what: str, errors: Errors, allowed: float) -> Verdict:
    name, least = min(errors, key=lambda pair: pair[1])
    under = tuple(name for name, error in errors if error < -allowed)
    return Verdict(what, f"{allowed:g} %", f"{min(least, 0.0):+.2f} % ({name})", not under, under)


def _all(what: str, missing: tuple[str, ...], count: int) -> Verdict:
    return Verdict(what, "all", f"{count - len(missing)} of {count} cases", not missing, missing)


def explanation(report: dict[str, Any], runs: list[dict[str, Any]], least: float = 0.005) -> str:
    """The tensors of at least `least` of the peak that only the measurement or only graphmem has alive there."""
    run = next(run for run in runs if "top" in run)
    floor = least * run["step_peak_bytes"]
    if sum(size for size, *_ in run["top"]) < run["step_peak_bytes"] and run["top"]:  # the list ends: look above that
        floor = max(floor, run["top"][-1][0] + 1)
    measured = [(size, f"{op} {kind}") for size, op, kind, _ in run["top"] if size >= floor]
    predicted = [(row["bytes"], f"{row['tensor']} ({row['made_by']})") for row in report["frontier"] if row["bytes"]]
    predicted = [pair for pair in predicted if pair[0] >= floor]
    lines = [f"    at the peak: measured {run['peak_op']}, predicted {report['peak']['op']}"]
    for sign, these, others in (("measured only", measured, predicted), ("predicted only", predicted, measured)):
        spare = Counter(size for size, _ in others)
        named = Counter((size, bare(text)) for size, text in others)
        left = []
        for size, text in these:
            if named[size, bare(text)]:
                named[size, bare(text)] -= 1
                spare[size] -= 1
            else:
                left.append((size, text))
        for size, text in left:
            if spare[size] > 0:
                spare[size] -= 1
            else:
                lines.append(f"    {sign:15}{size / 1e6:>9.3f}  {text}")
    return "\n".join(lines)
