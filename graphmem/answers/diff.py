"""What changed between two reports: by memory, role, layer and tensor, and what is set differently.

All sizes are integers in bytes. The JSON of a diff is `Diff.to_dict()`, documented in `docs/diff.md`: keys are added
between versions, never renamed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graphmem.answers.align import align
from graphmem.answers.pairing import pairs
from graphmem.errors import TargetError
from graphmem.graph.model import PHASES, ROLES
from graphmem.report.report import FrontierBuffer, Report

SCHEMA = 1

MEMORY = {
    "weights": "weight_bytes",
    "optimizer state": "optimizer_bytes",
    "other state": "other_state_bytes",
    "constants": "constant_bytes",
    "inputs": "argument_bytes",
    "outputs": "output_bytes",
    "step peak": "step_peak_bytes",
    "needed": "needed_bytes",
}
"""Line of the memory table -> attribute of the report; the last is the sum of the others."""

SETTINGS = ("target", "step", "batch", "runtime", "device", "card", "order", "orders", "ops")
"""Attributes of a report that are settings, or tell that it is of another step."""


@dataclass(frozen=True)
class Change:
    """One figure in both reports (bytes)."""

    name: str
    before: int
    after: int

    @property
    def change(self) -> int:
        """After less before (bytes)."""
        return self.after - self.before


@dataclass(frozen=True)
class LayerChange:
    """What one layer holds in both, layers below it apart.

    Attributes:
        scope: its path, as the report has it that is compared (`after`), or as only `before` has it.
        was: its path in `before`, "" also at the top; `None` if it is not there.
        now: its path in `after`; `None` if it is not there.
        step_before, step_after: bytes of the step peak.
        variables_before, variables_after: bytes of its variables: weights, and the optimizer state of these.
    """

    scope: str
    was: str | None
    now: str | None
    step_before: int
    step_after: int
    variables_before: int
    variables_after: int

    @property
    def before(self) -> int:
        """Step peak and variables (bytes)."""
        return self.step_before + self.variables_before

    @property
    def after(self) -> int:
        """Step peak and variables (bytes)."""
        return self.step_after + self.variables_after

    @property
    def change(self) -> int:
        """After less before (bytes)."""
        return self.after - self.before


@dataclass(frozen=True)
class TensorChange:
    """One buffer of either peak, and its counterpart in the other; `None` on the side whose peak does not have it."""

    before: FrontierBuffer | None
    after: FrontierBuffer | None

    @property
    def any(self) -> FrontierBuffer:
        """The buffer as the newer report has it, else the older one."""
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def change(self) -> int | None:
        """After less before (bytes); `None` if a size is unknown."""
        sizes = [0 if buffer is None else buffer.bytes for buffer in (self.before, self.after)]
        return None if None in sizes else (sizes[1] or 0) - (sizes[0] or 0)

    @property
    def status(self) -> str:
        """"moved in", "moved out", "grew", "shrank", "same" or "unknown"."""
        if self.before is None:
            return "moved in"
        if self.after is None:
            return "moved out"
        change = self.change
        if change is None:
            return "same" if self.before.bytes == self.after.bytes else "unknown"
        return "grew" if change > 0 else "shrank" if change < 0 else "same"


@dataclass(frozen=True)
class Difference:
    """Something that is set, or found, differently; `None` where one report does not say."""

    name: str
    before: str | int | None
    after: str | int | None


@dataclass(frozen=True)
class Diff:
    """What changed from one report to another.

    Attributes:
        before, after: the reports.
        memory: the lines of the memory table; the last, "needed", is the sum of the others.
        roles, phases, op_types: the step peak by these; each adds up to its change.
        layers: what each layer holds, largest change first; their step parts add up to the change of the step peak.
        tensors: every buffer of both peaks, largest change first.
        settings: what differs beside the figures.
        notes: what makes the comparison less than exact, one sentence each.
    """

    before: Report
    after: Report
    memory: list[Change]
    roles: list[Change]
    phases: list[Change]
    op_types: list[Change]
    layers: list[LayerChange]
    tensors: list[TensorChange]
    settings: list[Difference]
    notes: list[str]

    @property
    def change(self) -> int:
        """How much more the second needs (bytes)."""
        return self.after.needed_bytes - self.before.needed_bytes

    def moved(self, status: str) -> list[TensorChange]:
        """The buffers of one status, such as "moved in"."""
        return [tensor for tensor in self.tensors if tensor.status == status]

    def to_dict(self) -> dict[str, Any]:
        """The diff as JSON-ready data, schema 1 (see `docs/diff.md`)."""
        return {
            "schema": SCHEMA,
            "before": _summary(self.before),
            "after": _summary(self.after),
            "change_bytes": self.change,
            "memory": [_change(item) for item in self.memory],
            "by_role": [_change(item) for item in self.roles],
            "by_phase": [_change(item) for item in self.phases],
            "by_op_type": [_change(item) for item in self.op_types],
            "by_scope": [_layer(item) for item in self.layers],
            "tensors": [_tensor(item) for item in self.tensors],
            "settings": [{"name": item.name, "before": item.before, "after": item.after} for item in self.settings],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        from graphmem.answers.diff_text import as_text

        return as_text(self)


def diff_reports(before: Report, after: Report) -> Diff:
    """What changed from one report to another; layers and buffers are matched also where their names differ."""
    scopes = align(before, after)
    tensors = [TensorChange(*pair) for pair in pairs(before.frontier, after.frontier, scopes)]
    return Diff(
        before=before,
        after=after,
        memory=[Change(name, getattr(before, key), getattr(after, key)) for name, key in MEMORY.items()],
        roles=_changes(before.by_role, after.by_role, ROLES),
        phases=_changes(before.by_phase, after.by_phase, PHASES),
        op_types=sorted(_changes(before.by_op_type, after.by_op_type), key=lambda item: (-abs(item.change), item.name)),
        layers=_layers(before, after, scopes),
        tensors=sorted(tensors, key=_rank),
        settings=_settings(before, after),
        notes=_notes(before, after),
    )


def _changes(before: Mapping[str, int], after: Mapping[str, int], order: Iterable[str] = ()) -> list[Change]:
    names = dict.fromkeys([*(name for name in order if name in before or name in after), *before, *after])
    return [Change(name, before.get(name, 0), after.get(name, 0)) for name in names]


def _layers(before: Report, after: Report, scopes: Mapping[str, str]) -> list[LayerChange]:
    """Every layer that holds something in either report."""
    old_step, new_step = ({row.scope: row.own for row in report.by_scope if row.own} for report in (before, after))
    old_kept, new_kept = (
        {scope: sum(roles.values()) for scope, roles in report.variables_by_scope.items()} for report in (before, after)
    )
    names_now = {was: now for now, was in scopes.items()}
    rows = dict.fromkeys(
        [(scopes.get(scope), scope) for scope in (*new_step, *new_kept)]
        + [(scope, names_now.get(scope)) for scope in (*old_step, *old_kept)]
    )
    found = [
        LayerChange(
            scope=now if now is not None else was or "",
            was=was,
            now=now,
            step_before=0 if was is None else old_step.get(was, 0),
            step_after=0 if now is None else new_step.get(now, 0),
            variables_before=0 if was is None else old_kept.get(was, 0),
            variables_after=0 if now is None else new_kept.get(now, 0),
        )
        for was, now in rows
    ]
    return sorted(found, key=lambda layer: (-abs(layer.change), -layer.after, layer.scope))


def _rank(tensor: TensorChange) -> tuple[bool, int, int, str]:
    """Largest change first, then the largest; unknown sizes last."""
    change = tensor.change
    return change is None, -abs(change or 0), -(tensor.any.bytes or 0), tensor.any.tensor


def _settings(before: Report, after: Report) -> list[Difference]:
    found = [Difference(name, getattr(before, name), getattr(after, name)) for name in SETTINGS]
    found.append(Difference("allocator", before.allocator.get("name"), after.allocator.get("name")))
    facts = dict.fromkeys([*before.facts, *after.facts])
    found += [Difference(name, before.facts.get(name), after.facts.get(name)) for name in facts]
    versions = dict.fromkeys([*before.versions, *after.versions])
    found += [Difference(f"{name} version", before.versions.get(name), after.versions.get(name)) for name in versions]
    return [item for item in found if item.before != item.after]


def _notes(before: Report, after: Report) -> list[str]:
    notes = []
    open_ended = [name for name, report in (("before", before), ("after", after)) if report.at_least]
    if open_ended:
        one = f"the figure {open_ended[0]} is a lower bound"
        which = "both figures are lower bounds" if len(open_ended) == 2 else one
        notes.append(f"{which}, as something is unknown: the true change may be another.")
    if any(report.variables_bytes and not report.variables_by_scope for report in (before, after)):
        notes.append("a report of an older graphmem does not say which layer has which variables: they count as none.")
    low, high = before.step_peak_range_bytes, after.step_peak_range_bytes
    if before.step_peak_bytes != after.step_peak_bytes and low[0] <= high[1] and high[0] <= low[1]:
        notes.append("the ranges of the step peak over the legal orders overlap: another order may move it as much.")
    return notes


def _summary(report: Report) -> dict[str, Any]:
    return {
        "target": report.target, "step": report.step, "batch": report.batch, "runtime": report.runtime,
        "device": report.device, "needed_bytes": report.needed_bytes, "step_peak_bytes": report.step_peak_bytes,
        "needed_range_bytes": list(report.needed_range_bytes), "at_least": report.at_least,
        "peak_op": report.peak.op, "peak_op_type": report.peak.op_type, "peak_scope": report.peak.scope,
        "peak_phase": report.peak.phase,
    }  # fmt: skip


def _change(item: Change) -> dict[str, Any]:
    return {"name": item.name, "before_bytes": item.before, "after_bytes": item.after, "change_bytes": item.change}


def _layer(layer: LayerChange) -> dict[str, Any]:
    return {
        "scope": layer.scope, "before_scope": layer.was, "after_scope": layer.now, "before_bytes": layer.before,
        "after_bytes": layer.after, "change_bytes": layer.change,
        "step_before_bytes": layer.step_before, "step_after_bytes": layer.step_after,
        "variables_before_bytes": layer.variables_before, "variables_after_bytes": layer.variables_after,
    }  # fmt: skip


def _tensor(item: TensorChange) -> dict[str, Any]:
    def side(buffer: FrontierBuffer | None) -> dict[str, Any] | None:
        if buffer is None:
            return None
        shape = None if buffer.shape is None else list(buffer.shape)
        return {"tensor": buffer.tensor, "scope": buffer.scope, "bytes": buffer.bytes, "shape": shape,
                "dtype": buffer.dtype, "last_reader": buffer.last_reader}  # fmt: skip

    return {
        "status": item.status, "scope": item.any.scope, "role": item.any.role, "phase": item.any.phase,
        "made_by": item.any.made_by, "change_bytes": item.change,
        "before": side(item.before), "after": side(item.after),
    }  # fmt: skip


def diff(before: Any, after: Any, **how: Any) -> Diff:
    """What changed from one step to another.

    Args:
        before, after: a `Report` each, the file of one (".json"), or what `graphmem.analyze` takes.
        how: options of `graphmem.analyze`, for what is analysed.

    Raises:
        TargetError: as `graphmem.analyze`, or options are given and nothing is analysed.
    """
    if how and all(_is_report(side) for side in (before, after)):
        raise TargetError(f"both are reports, which {', '.join(how)} cannot change; leave it out.")
    return diff_reports(*(_report_of(side, how) for side in (before, after)))


def _is_report(side: Any) -> bool:
    return isinstance(side, Report) or (isinstance(side, (str, os.PathLike)) and os.fspath(side).endswith(".json"))


def _report_of(side: Any, how: dict[str, Any]) -> Report:
    from graphmem.api import analyze, load

    if isinstance(side, Report):
        return side
    return load(side) if _is_report(side) else analyze(side, **how)
