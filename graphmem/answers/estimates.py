"""The estimates of a model's memory that people use, as their authors define them: plain functions of plain data.

Formulas, not code, are taken from the sources named; docs/compare.md tells each with the error that it makes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from graphmem.graph.layers import Layers, Model, Output
from graphmem.graph.model import DTYPE_BITS


@dataclass(frozen=True)
class Sum:
    """A number of bytes, and what is missing from it.

    Attributes:
        value: bytes, or bits where a formula says so.
        unknown: names of the layers whose outputs are not in it, as the model does not declare their shapes.
    """

    value: int
    unknown: tuple[str, ...] = ()

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.value + other.value, (*self.unknown, *other.unknown))

    def times(self, factor: int) -> Sum:
        """So many times as much."""
        return Sum(factor * self.value, self.unknown)


def total(sums: Iterator[Sum]) -> Sum:
    """All of them together."""
    return sum(sums, Sum(0))


def all_times_batch(layers: Layers, batch: int) -> Sum:
    """(outputs of all layers + parameters) × 4 bytes × batch: the oldest; a model inside counts as one layer."""

    def of(model: Model) -> Sum:
        return _outputs(model, batch, all_of_them, lambda dtype: 1) + Sum(batch * model.params)

    return total(of(layers.models[root]) for root in layers.roots).times(4)


def model_memory_usage(layers: Layers, batch: int) -> Sum:
    """`get_model_memory_usage`: floatx bytes × (batch × outputs + parameters), and as much for each model inside.

    The published function finds models inside by the class name `Model`, which today's Keras calls `Functional`; here
    they are found as it means them to be. Of several outputs of a layer it takes the first.
    """

    def of(model: Model) -> Sum:
        return _outputs(model, batch, first, lambda dtype: 1) + Sum(model.params)

    return _with_models_inside(layers, of).times(_bits(layers.floatx) // 8)


def keras_model_memory_usage_in_bytes(layers: Layers, batch: int) -> Sum:
    """Of the same name: batch × outputs × size of `layer.dtype`, models inside likewise, a byte for each parameter."""

    def of(model: Model) -> Sum:
        return _outputs(model, batch, first, lambda dtype: _bits(dtype) // 8) + Sum(model.params)

    return _with_models_inside(layers, of)


def model_mem_bits(layers: Layers, batch: int) -> Sum:
    """`model_mem`: (parameters + gradients + output) × bits of the layer's dtype, over all layers, in bits.

    A model inside is replaced by its own layers; gradients are as many as the parameters that may be trained.
    """

    def of(model: Model) -> Sum:
        found = Sum(0)
        for layer in model.layers:
            if layer.model is not None:
                found += of(layers.models[layer.model])
                continue
            elements = Sum(layer.params + layer.trainable)
            if layer.outputs is None:
                elements += Sum(0, (layer.name,))
            else:
                elements += Sum(sum(count(output, batch) for output in layer.outputs))
            found += elements.times(_bits(layer.dtype))
        return found

    return total(of(layers.models[root]) for root in layers.roots)


@dataclass(frozen=True)
class HandRow:
    """A line of the table that one makes by hand.

    Attributes:
        layer: its path.
        kind: its class, "" for an operation that is no layer.
        shape: of one sample's output; `None` if unknown, as for a layer with several outputs.
        activations: elements of one sample's output; `None` if unknown.
        params: elements of its weights, in the line of its first call.
    """

    layer: str
    kind: str
    shape: tuple[int | None, ...] | None
    activations: int | None
    params: int


def by_hand_table(layers: Layers) -> list[HandRow]:
    """The table of the course notes: activations and parameters of each layer for one sample; models inside opened."""
    rows: list[HandRow] = []
    counted: set[tuple[int, int]] = set()

    def visit(index: int, path: str) -> None:
        model = layers.models[index]
        for name, place, outputs in _called(model):
            layer = None if place is None else model.layers[place]
            if layer is not None and layer.model is not None:
                visit(layer.model, f"{path}{name}/")
                continue
            params = 0
            if place is not None and layer is not None and (index, place) not in counted:
                counted.add((index, place))
                params = layer.params
            several = outputs is None or len(outputs) != 1
            shape = None if several or not outputs or outputs[0].shape is None else outputs[0].shape[1:]
            elements = None if outputs is None else sum(_of_one_sample(output) for output in outputs)
            rows.append(HandRow(f"{path}{name}", layer.kind if layer else "", shape, elements, params))

    for root in layers.roots:
        visit(root, "")
    return rows


def by_hand(layers: Layers, batch: int) -> Sum:
    """The course notes: activations twice (forward, backward) × batch, parameters thrice (gradient, optimizer)."""
    rows = by_hand_table(layers)
    unknown = tuple(row.layer for row in rows if row.activations is None)
    elements = 2 * batch * sum(row.activations or 0 for row in rows) + 3 * sum(row.params for row in rows)
    return Sum(elements, unknown).times(_bits(layers.floatx) // 8)


def two_largest_in_a_row(layers: Layers, batch: int) -> Sum:
    """The largest sum of a layer's output and the output that it was made from, in bytes of their own types."""
    largest, unknown = 0, list[str]()
    for model in layers.models:
        if model.calls is None:
            unknown += [layer.name for layer in model.layers if layer.outputs is None]
            continue
        sizes = [sum(_nbytes(output, batch) for output in call.outputs) for call in model.calls]
        for size, call in zip(sizes, model.calls, strict=True):
            largest = max(largest, size + max((sizes[source] for source in call.inputs), default=0))
    return Sum(largest, tuple(unknown))


def parameters_only(layers: Layers, bytes_per_parameter: int) -> Sum:
    """Weights, gradients and optimizer states: a fixed number of bytes for each parameter, and nothing else."""
    return Sum(bytes_per_parameter * sum(layers.models[root].params for root in layers.roots))


def open_layers(layers: Layers) -> list[str]:
    """Layers with a dimension open beside the batch, which the formulas count as 1."""
    return [
        layer.name
        for model in layers.models
        for layer in model.layers
        if layer.outputs and any(output.shape is None or None in output.shape[1:] for output in layer.outputs)
    ]


def count(output: Output, batch: int) -> int:
    """Elements of an output as the published functions count them: an open batch is the batch, other open dims 1.

    A batch that the model fixes is in the shape already and is not multiplied again.

    >>> [count(Output(shape, "float32"), batch=4) for shape in ((None, 8, 3), (2, 8), (None, None))]
    [96, 16, 4]
    """
    shape = output.shape or ()
    times = batch if shape[:1] == (None,) else 1
    return times * math.prod(dim for dim in shape if dim is not None)


Outputs = tuple[Output, ...]


def first(outputs: Outputs) -> Outputs:
    """The first output only."""
    return outputs[:1]


def all_of_them(outputs: Outputs) -> Outputs:
    """Every output."""
    return outputs


def _outputs(model: Model, batch: int, taken: Callable[[Outputs], Outputs], size: Callable[[str], int]) -> Sum:
    """Elements of the outputs of a model's layers, each times the size of its layer's dtype."""
    found, unknown = 0, []
    for layer in model.layers:
        if layer.outputs is None:
            unknown.append(layer.name)
        else:
            found += size(layer.dtype) * sum(count(output, batch) for output in taken(layer.outputs))
    return Sum(found, tuple(unknown))


def _with_models_inside(layers: Layers, of: Callable[[Model], Sum]) -> Sum:
    """What a formula gives for the models of a step and, on top, for each layer that is a model itself."""

    def visit(model: Model) -> Sum:
        inside = (visit(layers.models[layer.model]) for layer in model.layers if layer.model is not None)
        return of(model) + total(inside)

    return total(visit(layers.models[root]) for root in layers.roots)


def _called(model: Model) -> Iterator[tuple[str, int | None, Outputs | None]]:
    """A model's calls, or its layers where it is no graph of them: name, index in its layers, outputs."""
    if model.calls is None:
        yield from ((layer.name, index, layer.outputs) for index, layer in enumerate(model.layers))
    else:
        yield from ((call.name, call.layer, call.outputs) for call in model.calls)


def _of_one_sample(output: Output) -> int:
    return math.prod(dim for dim in (output.shape or ())[1:] if dim is not None)


def _bits(dtype: str) -> int:
    return DTYPE_BITS.get(dtype) or 0


def _nbytes(output: Output, batch: int) -> int:
    return count(output, batch) * _bits(output.dtype) // 8
