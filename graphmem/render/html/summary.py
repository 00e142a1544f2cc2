"""What the page says without its scripts: figures and sentences, ready to be set."""

from __future__ import annotations

from dataclasses import dataclass

from graphmem.graph.model import PHASES
from graphmem.render.colours import in_role_order
from graphmem.render.timeline import held_of
from graphmem.report.report import Report
from graphmem.units import format_bytes


@dataclass(frozen=True)
class Layer:
    """A line of the sum that `needed_bytes` is, with its share of it."""

    name: str
    role: str
    bytes: int
    share: float


@dataclass(frozen=True)
class Guess:
    """A bar of the comparison.

    Attributes:
        ratio: to the peak, as text; "" for the peak itself.
        width: of the bar (%).
        says: what it leaves out or counts twice.
        peak: whether it is the peak itself.
    """

    name: str
    bytes: int
    ratio: str
    width: float
    says: str
    peak: bool = False


def layers(report: Report) -> list[Layer]:
    """What is held all along, then the step peak by role; together `needed_bytes`."""
    names = {"weight": "weights", "input": "inputs", "constant": "constants", "output": "outputs"}
    parts = [(names.get(role, role), role, size) for role, size in held_of(report).items()]
    parts += [(f"{role} of the step", role, size) for role, size in in_role_order(report.by_role)]
    return [Layer(name, role, size, size / max(1, report.needed_bytes)) for name, role, size in parts]


def phases(report: Report) -> list[tuple[str, list[int]]]:
    """Rows of the table of the step peak: a role, its bytes by the phase that made them, their sum."""
    rows = []
    for role, size in in_role_order(report.by_role):
        made = report.by_role_phase.get(role, {})
        rows.append((role, [*(made.get(phase, 0) for phase in PHASES), size]))
    return rows


def guesses(report: Report) -> tuple[list[Guess], dict[str, list[str]]]:
    """Estimates that people use beside the peak, and why -> names of those that give no figure for this step.

    Without the step's graph the sum of all tensors is the only one.
    """
    found, no_figure = _estimates(report)
    peak = report.needed_bytes
    most = max([peak, *(size for _, size, _ in found), 1])
    bars = [Guess("simulated peak", peak, "", 100 * peak / most, "", peak=True)]
    for name, size, says in found:
        bars.append(Guess(name, size, f"{size / peak:.2f}×" if peak else "", 100 * size / most, says))
    return bars, no_figure


def _estimates(report: Report) -> tuple[list[tuple[str, int, str]], dict[str, list[str]]]:
    from graphmem.answers.compare import compare_report

    if report.simulation is None:
        says = "Counts every tensor as if none were ever freed, shared or updated in place; leaves out the variables."
        return [("all tensors of the step", report.naive_sum_bytes, says)], {}
    estimates = compare_report(report).estimates
    no_figure: dict[str, list[str]] = {}
    for item in estimates:
        if item.bytes is None:
            no_figure.setdefault(item.says, []).append(item.name)
    return [(item.name, item.bytes, item.says) for item in estimates if item.bytes is not None], no_figure


def allocator(report: Report) -> list[tuple[str, str]]:
    """What the allocator says, each a (title, figure)."""
    found = report.allocator
    used = "Allocated by XLA" if found.get("name") == "xla" else "In use, as TensorFlow counts"
    sizes = [
        (used, found.get("peak_in_use_bytes")),
        ("Pool that it holds", found.get("pool_bytes")),
        ("Allowed", found.get("limit_bytes")),
    ]
    return [(title, format_bytes(size)) for title, size in sizes if size is not None]
