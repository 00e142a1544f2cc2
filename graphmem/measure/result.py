"""What a verification finds: plain data. All sizes are integers in bytes."""

from __future__ import annotations

import dataclasses
import statistics
from dataclasses import dataclass, field
from typing import Any

SCHEMA = 1


@dataclass(frozen=True)
class Layer:
    """One kind of memory: what was predicted and what was measured (bytes)."""

    name: str
    predicted_bytes: int
    measured_bytes: int

    @property
    def error(self) -> float:
        """The prediction's signed relative error; below 0 it is too low."""
        if self.predicted_bytes == self.measured_bytes:
            return 0.0
        return self.predicted_bytes / self.measured_bytes - 1 if self.measured_bytes else float("inf")


@dataclass(frozen=True)
class MeasuredRun:
    """One measured step.

    Attributes:
        step_peak_bytes: the most that it held at one moment, as requested.
        inside: whether that is within the range predicted, give or take 0.5 %, which counts as the same peak.
        peak_op: the op that was running then.
        in_use_before_bytes, in_use_peak_bytes: what the allocator called in use, before the step and at most.
        allocations: how many there were.
        seconds: how long the recorded call took.
    """

    step_peak_bytes: int
    inside: bool
    peak_op: str
    in_use_before_bytes: int
    in_use_peak_bytes: int
    allocations: int
    seconds: float


@dataclass(frozen=True)
class TypeRow:
    """The buffers alive at the peak that ops of one type made, in bytes: in both, predicted only, measured only."""

    op_type: str
    matched_bytes: int
    predicted_only_bytes: int
    measured_only_bytes: int


@dataclass(frozen=True)
class Difference:
    """Buffers alive at only one side's peak: of one op and size; `count` is below 0 if they were predicted only."""

    op: str
    op_type: str
    bytes: int
    count: int


@dataclass(frozen=True)
class Tensors:
    """The buffers alive at the peak of one run beside those of the order predicted that comes nearest to it.

    A buffer is matched by one that the same op made and that has the same size.

    Attributes:
        run: number of the run, from 0.
        predicted_peak_bytes, measured_peak_bytes: of that order and that run.
        predicted_op, measured_op: the op that was running at each peak.
        matched, predicted, measured: how many buffers.
        matched_bytes: bytes of the matched ones.
        by_op_type: rows, most bytes first.
        differences: what is alive on one side only, most bytes first.
        predicted_curve, measured_curve: bytes alive after each allocation.
    """

    run: int
    predicted_peak_bytes: int
    measured_peak_bytes: int
    predicted_op: str
    measured_op: str
    matched: int
    predicted: int
    measured: int
    matched_bytes: int
    by_op_type: list[TypeRow]
    differences: list[Difference]
    predicted_curve: list[int] = field(repr=False)
    measured_curve: list[int] = field(repr=False)

    @property
    def matched_share(self) -> float:
        """The share of the measured bytes that is matched."""
        return self.matched_bytes / self.measured_peak_bytes if self.measured_peak_bytes else 1.0


@dataclass(frozen=True)
class Verification:
    """A prediction and the measurements that it was compared with.

    Attributes:
        target, step, runtime, batch, order, orders, versions, facts: as in the report.
        layers: variables, inputs and step peak; the measured step peak is the median of the runs. That of a step that
            XLA compiled is what it asks the allocator for: its temporary memory, and the results.
        range_bytes: lowest and highest step peak predicted.
        runs: one per process.
        tensors: the comparison at the peak; for a step that XLA compiled of blocks, by what they are for.
        in_use_peak_bytes: what the allocator is predicted to call in use at its peak; `None` where not simulated.
        tolerance: relative error up to which prediction and measurement agree.
        notes: what the reader must know, one sentence each.
    """

    target: str
    step: str
    runtime: str
    batch: int | None
    order: str
    orders: int
    versions: dict[str, str]
    facts: dict[str, str]
    layers: list[Layer]
    range_bytes: tuple[int, int]
    runs: list[MeasuredRun]
    tensors: Tensors
    in_use_peak_bytes: int | None
    tolerance: float
    notes: list[str]

    @property
    def step_peak(self) -> Layer:
        """The last layer."""
        return self.layers[-1]

    @property
    def allocator(self) -> Layer | None:
        """What the allocator has in use at its peak, the median of the runs; `None` where it was not simulated."""
        if self.in_use_peak_bytes is None:
            return None
        measured = statistics.median_low(run.in_use_peak_bytes for run in self.runs)
        return Layer("allocator", self.in_use_peak_bytes, int(measured))

    @property
    def agrees(self) -> bool:
        """Whether every layer's error is within the tolerance."""
        return all(abs(layer.error) <= self.tolerance for layer in self.layers)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data, schema 1; the curves are left out."""
        data = {"schema": SCHEMA, **dataclasses.asdict(self)}
        for layer, made in zip(data["layers"], self.layers, strict=True):
            layer["error"] = made.error if made.measured_bytes or not made.error else None
        tensors = data["tensors"]
        del tensors["predicted_curve"], tensors["measured_curve"]
        tensors["matched_share"] = self.tensors.matched_share
        return data | {"range_bytes": list(self.range_bytes), "agrees": self.agrees}
