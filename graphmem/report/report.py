"""The report: plain data about one analysed step. Renderers only read it; nothing here computes a peak.

All sizes are integers in bytes. The JSON of a report is `Report.to_json()`: keys are added between versions, never
renamed; `schema` tells the version. `docs/json.md` documents each key.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphmem.errors import InternalError, TargetError

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes

    from graphmem.runtime.simulate import Simulation

SCHEMA = 1


@dataclass(frozen=True)
class FrontierBuffer:
    """One buffer alive at the peak.

    Attributes:
        tensor: name of the tensor it was made for, `op:slot`; scratch is named `op (scratch)`.
        bytes: its size; `None` if unknown (counted nowhere; the report then says "at least").
        shape: the tensor's dimensions; `None` for scratch and unknown ranks.
        dtype: TensorFlow's name; "" for scratch.
        role: one of `graphmem.graph.model.ROLES`.
        phase: phase of the op that made it.
        scope: the layer path that made it; "" at the top.
        made_by: op type that made it.
        last_reader: name of the op that reads it last, "" if nobody does after the peak op or it is held to the end.
        last_reader_type, last_reader_scope: the type and scope of that op.
        born, freed: schedule positions, half-open.
        source: "file.py:12" of the user's code, or "".
        op: name of the op that made it.
    """

    tensor: str
    bytes: int | None
    shape: tuple[int | None, ...] | None
    dtype: str
    role: str
    phase: str
    scope: str
    made_by: str
    last_reader: str
    last_reader_type: str
    last_reader_scope: str
    born: int
    freed: int
    source: str = ""
    op: str = ""


@dataclass(frozen=True)
class ScopeRow:
    """Bytes of the step peak under one scope. `bytes` includes everything below it; `own` only its own buffers.

    The top row has scope "" and holds the whole step peak; children follow their parent, largest first.
    """

    scope: str
    depth: int
    bytes: int
    own: int
    tensors: int


@dataclass(frozen=True)
class PeakPoint:
    """Where the peak is: the op that runs then, its type, scope and phase, and its schedule position of `positions`."""

    op: str
    op_type: str
    scope: str
    phase: str
    position: int
    positions: int


@dataclass(frozen=True)
class Timeline:
    """Bytes that the step has alive at every schedule position.

    Attributes:
        total: one figure per position.
        by_role: role -> one figure per position; they add up to `total`.
        phases: (phase, first position, last position + 1) of each run of positions.
        held: role -> bytes that are there for the whole step, which `total` leaves out; empty in reports of an older
            graphmem.
    """

    total: list[int]
    by_role: dict[str, list[int]]
    phases: list[tuple[str, int, int]]
    held: dict[str, int] = field(default_factory=dict)

    def plot(self, ax: Axes | None = None, *, theme: str = "light") -> Axes:
        """Draw it with matplotlib: bytes alive at each position, stacked by role, what is held all along at the foot.

        Args:
            ax: axes to draw into; `None`: those of a new figure of pyplot.
            theme: "light", "dark" or "print".

        Raises:
            TargetError: an unknown theme.
        """
        from graphmem.render.timeline import plot

        return plot(self, ax, theme)


@dataclass(frozen=True)
class Report:
    """Everything that graphmem says about one step.

    Attributes:
        target: as the user named it.
        step: "train", "test", "predict" or "custom".
        runtime: "graph": TensorFlow's op-by-op executor; "xla": the step as one program that XLA compiled.
        device: "cpu" or "gpu".
        order: name of the order reported: "default", "deterministic", "graph", "breadth-first"; "compiled" for the
            only one of XLA.
        orders: how many legal orders the range was taken over.
        batch: samples per step; `None` if unknown.
        versions: of graphmem, tensorflow, keras.
        facts: what else decides the figure, each a short text: optimizer, loss, dtype policy, threads, oneDNN…
        ops: number of ops executed (loop bodies counted once per iteration are in `positions`).
        unknown_ops: op types without a row in the table -> how many ops.
        unknown_sizes: tensors whose size is unknown and that no figure includes.
        at_least: whether anything unknown makes the figures lower bounds.
        weight_bytes, optimizer_bytes, other_state_bytes: resident variables by role; `variables_bytes` is their sum.
        argument_bytes: inputs of the step.
        constant_bytes: constants that live as long as the executor does.
        output_bytes: what XLA allocates for results before the step starts; on the other runtime results are part of
            the step's own memory, and this is 0.
        step_peak_bytes: what the step itself has alive at its worst moment, in the order reported.
        step_peak_range_bytes: lowest and highest over the orders tried.
        naive_sum_bytes: all tensors of the step added up, as if nothing were ever freed or shared.
        peak: where the peak is.
        by_role: step peak by role (bytes; adds up to the step peak).
        by_phase: step peak by the phase that made the buffers.
        by_role_phase: role -> phase -> bytes.
        by_op_type: op type -> bytes of the step peak.
        by_source: "file.py:12" -> bytes of the step peak ("" for what has no line).
        by_scope: rows of the scope tree.
        frontier: the buffers alive at the peak, largest first.
        not_counted: what the figures leave out, one sentence each.
        notes: findings and assumptions, one sentence each.
        allocator: "name", "peak_in_use_bytes", "pool_bytes", "fragmentation", "fails" and more, see `docs/json.md`;
            `None` values where not simulated.
        timeline: bytes over the schedule; `None` when the report was saved without it.
        variables_by_scope: scope -> role -> bytes of the resident variables of that layer, optimizer state with the
            weight that it belongs to; they add up to `variables_bytes`. Empty in reports of an older graphmem.
        output_bytes: what the step returns, where it is not part of the step peak: with XLA.
        conv_workspace: cuDNN's workspace for convolutions, see `graphmem.report.workspace`; empty if there is none.
        runtime_reason: why this runtime was modelled, "" if it was asked for.
        card: name of the GPU's card, "" if none was named.
        host_pipeline: what the input pipeline holds in the host's memory, see `docs/pipeline.md`; empty unless asked
            for.
        simulation: the graph and its lifetimes, for `dag` and pictures; `None` in a loaded report.
    """

    target: str
    step: str
    runtime: str
    device: str
    order: str
    orders: int
    batch: int | None
    versions: dict[str, str]
    facts: dict[str, str]
    ops: int
    unknown_ops: dict[str, int]
    unknown_sizes: list[str]
    at_least: bool
    weight_bytes: int
    optimizer_bytes: int
    other_state_bytes: int
    argument_bytes: int
    constant_bytes: int
    step_peak_bytes: int
    step_peak_range_bytes: tuple[int, int]
    naive_sum_bytes: int
    peak: PeakPoint
    by_role: dict[str, int]
    by_phase: dict[str, int]
    by_role_phase: dict[str, dict[str, int]]
    by_op_type: dict[str, int]
    by_source: dict[str, int]
    by_scope: list[ScopeRow]
    frontier: list[FrontierBuffer]
    not_counted: list[str]
    notes: list[str]
    allocator: dict[str, Any] = field(default_factory=lambda: {"name": "exact"})
    timeline: Timeline | None = None
    output_bytes: int = 0
    runtime_reason: str = ""
    conv_workspace: dict[str, Any] = field(default_factory=dict)
    card: str = ""
    variables_by_scope: dict[str, dict[str, int]] = field(default_factory=dict)
    host_pipeline: dict[str, Any] = field(default_factory=dict)
    simulation: Simulation | None = field(default=None, compare=False, repr=False)

    @property
    def variables_bytes(self) -> int:
        """Weights, optimizer state and other state (bytes)."""
        return self.weight_bytes + self.optimizer_bytes + self.other_state_bytes

    @property
    def resident_bytes(self) -> int:
        """What stays allocated between steps: variables and constants (bytes)."""
        return self.variables_bytes + self.constant_bytes

    @property
    def needed_bytes(self) -> int:
        """The figure of line one: resident + inputs + outputs + step peak (bytes)."""
        return self.resident_bytes + self.argument_bytes + self.output_bytes + self.step_peak_bytes

    @property
    def needed_range_bytes(self) -> tuple[int, int]:
        """Needed bytes for the lowest and the highest of the orders tried."""
        rest = self.needed_bytes - self.step_peak_bytes
        return rest + self.step_peak_range_bytes[0], rest + self.step_peak_range_bytes[1]

    @property
    def peak_bytes(self) -> int:
        """Same as `needed_bytes`: "the peak" of line one."""
        return self.needed_bytes

    @property
    def dag(self) -> networkx.DiGraph:
        """The step as a networkx DAG of tensors with lifetimes (see `graphmem.graph.as_networkx`).

        Raises:
            TargetError: this report was loaded from JSON, which does not hold the graph.
        """
        from graphmem.graph.as_networkx import as_networkx

        if self.simulation is None:
            raise TargetError(
                "this report was loaded from JSON, which holds no graph; analyse the saved trace instead."
            )
        return as_networkx(self.simulation)

    def to_dict(self, *, timeline: bool = False) -> dict[str, Any]:
        """The report as JSON-ready data, schema 1; with the timeline if asked for (it can be large)."""
        data: dict[str, Any] = {"schema": SCHEMA}
        for item in dataclasses.fields(self):
            if item.name in ("simulation", "timeline"):
                continue
            value = getattr(self, item.name)
            data[item.name] = _plain(value)
        data["unknown_ops"] = sorted(self.unknown_ops)
        data["unknown_op_counts"] = dict(sorted(self.unknown_ops.items()))
        for name in ("variables_bytes", "resident_bytes", "needed_bytes", "peak_bytes"):
            data[name] = getattr(self, name)
        data["needed_range_bytes"] = list(self.needed_range_bytes)
        if timeline and self.timeline is not None:
            data["timeline"] = _plain(self.timeline)
        return data

    def to_json(self, *, timeline: bool = False, indent: int | None = 1) -> str:
        """The report as JSON text, schema 1 (see `docs/json.md`)."""
        return json.dumps(self.to_dict(timeline=timeline), indent=indent)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Report:
        """The report that `to_dict` wrote.

        Raises:
            TargetError: the data is no report, or one of a schema this version does not read.
        """
        if not isinstance(data, dict) or "schema" not in data or "step_peak_bytes" not in data:
            raise TargetError("this JSON is not a graphmem report.")
        if data["schema"] != SCHEMA:
            raise TargetError(f"this report has schema {data['schema']!r}; this version of graphmem reads {SCHEMA}.")
        try:
            names = {item.name for item in dataclasses.fields(cls)} - {"simulation"}
            values = {name: data[name] for name in names if name in data}
            values["unknown_ops"] = dict(data["unknown_op_counts"])
            values["step_peak_range_bytes"] = tuple(data["step_peak_range_bytes"])
            values["peak"] = PeakPoint(**data["peak"])
            values["by_scope"] = [ScopeRow(**row) for row in data["by_scope"]]
            values["frontier"] = [_buffer(row) for row in data["frontier"]]
            if data.get("timeline") is not None:
                values["timeline"] = _timeline(data["timeline"])
            return cls(**values)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise TargetError(f"this graphmem report is damaged: {error}.") from error

    def render(
        self, path: str, *, force: bool = False, picture: str = "frontier", by: str = "role", theme: str = "light",
        width: float | None = None, depth: int | None = None, direction: str | None = None,
        caption: bool = False,
    ) -> None:  # fmt: skip
        """Write the report to a file; its ending decides the format, see `docs/report.md`.

        Args:
            path: the file; "x.timeline.svg" and "x.lifetimes.svg" say which picture they are.
            force: whether an existing file is replaced.
            picture: "frontier", "timeline", "lifetimes" or "dag", for a picture whose name does not say.
            by: what a timeline is stacked by, "role" or "scope".
            theme: "light", "dark" or "print", of a picture.
            width: of a picture, in millimetres; `None`: 84, one column of a paper.
            depth: components of the scopes that make a frame of a frontier; `None`: as gives a handful of frames.
            direction: where arrows go, "tb" (down) or "lr" (right); `None`: right in a frontier, down in a dag.
            caption: whether a caption is written beside a picture.

        Raises:
            TargetError: unknown ending, existing file without `force`, unwritable place, a choice that changes nothing.
        """
        from graphmem.render.choices import Choices
        from graphmem.render.output import write_report

        choices = Choices(
            picture=picture, by=by, theme=theme, width=width, depth=depth, direction=direction, caption=caption
        )
        write_report(self, path, force=force, choices=choices)

    def _repr_html_(self) -> str:
        from graphmem.render.notebook import as_html

        return as_html(self)

    def __str__(self) -> str:
        from graphmem.render.text import as_text

        return as_text(self)


def _plain(value: Any) -> Any:
    """Dataclasses to dicts and tuples to lists, all the way down."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise InternalError(f"{type(value).__name__} cannot be written as JSON")


def _buffer(row: dict[str, Any]) -> FrontierBuffer:
    shape = row["shape"]
    return FrontierBuffer(**{**row, "shape": None if shape is None else tuple(shape)})


def _timeline(data: dict[str, Any]) -> Timeline:
    phases = [(str(name), int(first), int(last)) for name, first, last in data["phases"]]
    held = dict(data.get("held", {}))
    return Timeline(total=list(data["total"]), by_role=dict(data["by_role"]), phases=phases, held=held)
