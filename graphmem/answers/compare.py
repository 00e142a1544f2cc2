"""The estimates that people use beside the simulated peak: how wrong each is, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from graphmem.answers import estimates
from graphmem.answers.estimates import HandRow, Sum
from graphmem.graph.layers import Layers, layers_of
from graphmem.graph.model import StepGraph
from graphmem.report.report import Report

SCHEMA = 1

_SO = "https://stackoverflow.com/q/43137288"

STATIC = "static_peak"
"""Key of `StepGraph.info`: bytes that TensorFlow's own static estimate says, or why it says nothing."""

_NOT_TRACED = "it is made while a step is traced, by `graphmem compare` and for `graphmem peak -o page.html`"

NO_MODEL = "The step has no Keras model whose layers could be counted."
NO_OUTPUT = "The model declares the output of none of its layers."


@dataclass(frozen=True)
class Estimate:
    """One way to guess a step's memory.

    Attributes:
        number: its place in the list, from 1.
        name: what it is called.
        bytes: what it gives; `None` if it cannot be computed for this step.
        ratio: bytes / simulated peak; `None` without either.
        says: what it leaves out or counts twice, or why there is no figure.
        source: where it is defined.
        at_least: whether outputs that the model does not declare are missing from it.
        prints: the figure as the published function gives it, with its unit; "" if there is no such function.
    """

    number: int
    name: str
    bytes: int | None
    ratio: float | None
    says: str
    source: str
    at_least: bool = False
    prints: str = ""


@dataclass(frozen=True)
class Comparison:
    """The estimates beside the peak.

    Attributes:
        estimates: nine, in a fixed order.
        report: the analysis that they are compared with.
        measured_bytes: variables, inputs and step peak of a real step, measured on this CPU; `None` if none was run.
        by_hand: the table that estimate 5 adds up.
        notes: what the reader must know, one sentence each.
    """

    estimates: tuple[Estimate, ...]
    report: Report
    measured_bytes: int | None = None
    by_hand: tuple[HandRow, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def peak_bytes(self) -> int:
        """The simulated peak: variables, constants, inputs and what the step holds at its worst moment."""
        return self.report.needed_bytes

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data, schema 1: see docs/compare.md."""
        report = self.report
        return {
            "schema": SCHEMA,
            "target": report.target,
            "step": report.step,
            "batch": report.batch,
            "device": report.device,
            "runtime": report.runtime,
            "peak_bytes": self.peak_bytes,
            "at_least": report.at_least,
            "measured_bytes": self.measured_bytes,
            "estimates": [
                {
                    "number": item.number,
                    "name": item.name,
                    "bytes": item.bytes,
                    "ratio": item.ratio,
                    "at_least": item.at_least,
                    "prints": item.prints,
                    "says": item.says,
                    "source": item.source,
                }
                for item in self.estimates
            ],
            "layers": [
                {
                    "layer": row.layer,
                    "class": row.kind,
                    "shape": None if row.shape is None else list(row.shape),
                    "activations": row.activations,
                    "parameters": row.params,
                }
                for row in self.by_hand
            ],
            "notes": list(self.notes),
            "versions": dict(report.versions),
        }

    def render(self, path: str, *, force: bool = False) -> None:
        """Write it to a file whose ending decides the format: .csv .tex .md .json .txt, or a chart as .svg .png .pdf.

        Raises:
            TargetError: unknown ending, existing file without `force`, unwritable place.
        """
        from graphmem.answers.compare_text import write_comparison

        write_comparison(self, [path], force=force)

    def __str__(self) -> str:
        from graphmem.answers.compare_text import as_text

        return as_text(self)


def compare_report(report: Report, measured_bytes: int | None = None) -> Comparison:
    """All estimates for a report with its graph.

    Args:
        report: of an analysis in this process or of a saved trace.
        measured_bytes: what a real step was measured to need.
    """
    assert report.simulation is not None, "a report loaded from JSON has no graph"
    graph = report.simulation.graph
    layers = layers_of(graph)
    batch = report.batch or 1
    found = [*_from_layers(layers, batch, report), _all_tensors(report), _grappler(report, graph.info.get(STATIC))]
    found.append(_parameters_only(graph, layers, report))
    rows = tuple(estimates.by_hand_table(layers)) if layers else ()
    return Comparison(tuple(found), report, measured_bytes, rows, tuple(_notes(layers, report)))


@dataclass(frozen=True)
class _Formula:
    """An estimate that is made of the layers alone."""

    name: str
    compute: Callable[[Layers, int], Sum]
    says: str
    source: str
    prints: Callable[[int], str] = lambda size: ""


_FORMULAS = (
    _Formula(
        "all outputs and parameters × batch",
        estimates.all_times_batch,
        "Multiplies the weights by the batch and keeps every output to the end; leaves out gradients, optimizer "
        "states and all that is inside a layer.",
        _SO,
    ),
    _Formula(
        "get_model_memory_usage",
        estimates.model_memory_usage,
        "Keeps every layer's output to the end, in-place ones too, and counts the weights of nested models again; "
        "leaves out gradients, optimizer states and all that is inside a layer.",
        "https://stackoverflow.com/a/46216013",
        lambda size: f"{round(size / 2**30, 3)} GiB",
    ),
    _Formula(
        "keras_model_memory_usage_in_bytes",
        estimates.keras_model_memory_usage_in_bytes,
        "As get_model_memory_usage, but counts one byte for each parameter, and in mixed precision takes outputs to be "
        "of the type of the weights.",
        "https://stackoverflow.com/a/64359137",
        lambda size: f"{size} bytes",
    ),
    _Formula(
        "model_mem",
        lambda layers, batch: Sum(*_bytes_of_bits(estimates.model_mem_bits(layers, batch))),
        "Adds one gradient for each parameter, none for outputs; leaves out optimizer states and all that is inside a "
        "layer, and keeps every output to the end.",
        _SO,
        lambda size: f"{8 * size} bits",
    ),
    _Formula(
        "by hand, as course notes do",
        estimates.by_hand,
        "Keeps a gradient of every output to the end though few are alive together, and takes any optimizer to have "
        "one state; leaves out all that is inside a layer.",
        "https://cs231n.github.io/convolutional-networks/#computational-considerations",
    ),
    _Formula(
        "two largest outputs in a row",
        estimates.two_largest_in_a_row,
        "Holds for inference through a chain; in training the backward pass needs nearly all outputs; leaves out "
        "weights, gradients and optimizer states.",
        _SO,
    ),
)


def _bytes_of_bits(found: Sum) -> tuple[int, tuple[str, ...]]:
    return found.value // 8, found.unknown


def _from_layers(layers: Layers | None, batch: int, report: Report) -> list[Estimate]:
    """Estimates 1 to 6."""
    made = []
    for number, formula in enumerate(_FORMULAS, 1):
        if layers is None:
            made.append(Estimate(number, formula.name, None, None, NO_MODEL, formula.source))
            continue
        found = formula.compute(layers, batch)
        if found.unknown and not found.value:
            made.append(Estimate(number, formula.name, None, None, NO_OUTPUT, formula.source))
            continue
        made.append(
            Estimate(
                number, formula.name, found.value, _ratio(found.value, report), formula.says, formula.source,
                bool(found.unknown), formula.prints(found.value),
            )
        )  # fmt: skip
    return made


def _all_tensors(report: Report) -> Estimate:
    says = (
        "Counts every tensor as if none were ever freed, shared or updated in place; leaves out weights, states and "
        "what ops need while they run."
    )
    size = report.naive_sum_bytes
    name, source = "all tensors of the step", "graphmem's own trace"
    return Estimate(7, name, size, _ratio(size, report), says, source, bool(report.unknown_sizes))


def _grappler(report: Report, static: int | str | None) -> Estimate:
    name, source = "Grappler's static estimate", "tensorflow.python.grappler.cluster.Cluster.DeterminePeakMemoryUsage"
    if isinstance(static, int):
        says = (
            "Knows lifetimes, but in an order of its own, with a new buffer for every output, views and updates in "
            "place too; leaves out variables, but takes each reading of one to be a copy."
        )
        return Estimate(8, name, static, _ratio(static, report), says, source)
    reason = static or ("the step is compiled by XLA" if report.runtime == "xla" else _NOT_TRACED)
    return Estimate(8, name, None, None, f"Not run: {reason.rstrip('.')}.", source)


def _parameters_only(graph: StepGraph, layers: Layers | None, report: Report) -> Estimate:
    """Estimate 9: 4 bytes for the weight, 4 for its gradient where the step trains, 4 for each optimizer state."""
    source = "https://deepspeed.readthedocs.io/en/latest/memory.html"
    each = 4
    kept = "weights"
    if report.step == "train" or report.optimizer_bytes:
        slots = _slots(graph)
        each += 4 + 4 * slots
        kept = f"weights, gradients and {slots or 'no'} optimizer state{'' if slots == 1 else 's'}"
    name = f"{each} bytes per parameter"
    if layers is None:
        return Estimate(9, name, None, None, NO_MODEL, source)
    size = estimates.parameters_only(layers, each).value
    says = f"Counts {kept} in float32 for every parameter; leaves out all outputs, which grow with the batch."
    return Estimate(9, name, size, _ratio(size, report), says, source)


def _slots(graph: StepGraph) -> int:
    """How many full-size optimizer states most weights have."""
    sizes = {variable.name: variable.shape for variable in graph.variables if variable.role == "weight"}
    slots = Counter(
        variable.slot_of
        for variable in graph.variables
        if variable.role == "optimizer state" and sizes.get(variable.slot_of) == variable.shape
    )
    return Counter(slots.values()).most_common(1)[0][0] if slots else 0


def _ratio(size: int | None, report: Report) -> float | None:
    return None if size is None or not report.needed_bytes else size / report.needed_bytes


def _notes(layers: Layers | None, report: Report) -> list[str]:
    """What is unknown, and what was assumed."""
    found = []
    if report.at_least:
        found.append("The simulated peak is a lower bound: `graphmem peak` tells what is unknown.")
    if layers is None:
        return found
    unknown = dict.fromkeys(
        layer.name
        for model in layers.models
        for layer in model.layers
        if layer.outputs is None
    )  # fmt: skip
    if unknown:
        found.append(
            f"The model declares no output of {_some(list(unknown))}: estimates from layers leave "
            f"{'it' if len(unknown) == 1 else 'them'} out (≥)."
        )
    if open_ones := list(dict.fromkeys(estimates.open_layers(layers))):
        found.append(
            f"Estimates from layers count open dimensions as 1, as the published functions do: {_some(open_ones)}."
        )
    if report.batch is None:
        found.append("The step has no batch size that is known: estimates from layers are for a batch of 1.")
    return found


def _some(names: list[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
