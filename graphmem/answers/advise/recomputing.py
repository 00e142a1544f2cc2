"""Computing parts of a model again in the backward pass, as a snippet that works in `fit()`.

`keras.RematScope` fails there on TensorFlow: its functions get `training=True`, and a custom gradient takes no keyword
arguments in a graph. `tf.recompute_grad` around a function of positional arguments works, in both Kerases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphmem.answers.advise.changes import Change, Proposal, Untried
from graphmem.target.advice.parts import NoParts, Part, best_counts, blocks_of, ends_of, kind_of, parts_of

KIND, NAME = "recompute", "recompute"
COSTS = "Part of the forward pass is run twice"
TWICE = "; batch normalization in it updates its averages twice a step"

_GRAPH = '''\
def recompute(model, parts):
    """Keep what lies between the parts; compute again what is inside: (layers before, last layers, whether again)."""

    def outputs(layers):
        return [model.layers[layer].output for layer in layers]

    runs = [(a, b, keras.Model(outputs(a), outputs(b)), again) for a, b, again in parts]
    single = len(model.outputs) == 1

    def call(inputs, training=None, mask=None):
        values = dict(zip({inputs}, tf.nest.flatten(inputs)))
        for before, after, part, again in runs:
            def run(*tensors, part=part):
                return part(list(tensors), training=training)

            run = tf.recompute_grad(run) if again else run
            values.update(zip(after, tf.nest.flatten(run(*(values[layer] for layer in before)))))
        made = [values[layer] for layer in {outputs}]
        return made[0] if single else tf.nest.pack_sequence_as(model.output, made)

    model.call = call


recompute(model, [
{parts}])
'''

_CHAIN = '''\
def recompute(model, parts):
    """Keep what lies between the parts, and compute again what is inside: (first layer, last layer, whether again)."""
    runs = [(keras.Sequential(model.layers[first : last + 1]), again) for first, last, again in parts]

    def call(inputs, training=None, mask=None):
        for part, again in runs:
            def run(tensor, part=part):
                return part(tensor, training=training)

            inputs = (tf.recompute_grad(run) if again else run)(inputs)
        return inputs

    model.call = call


recompute(model, [
{parts}])
'''

_BLOCKS = '''\
def recompute(layer):
    """Compute a layer again in the backward pass instead of keeping what is inside it."""
    call = layer.call

    def again(*inputs, **options):
        return tf.recompute_grad(lambda *tensors: call(*tensors, **options))(*inputs)

    layer.call = again


for layer in {layers}:  # {names}
    recompute(model.layers[layer])
'''


def proposals(model: Any, nbytes: Mapping[str, int], normalizes_batch: bool) -> list[Proposal]:
    """Ways to compute parts of a Keras model again.

    Args:
        nbytes: layer -> bytes of its activations that are alive at the peak.
        normalizes_batch: whether a layer normalizes over the batch.
    """
    costs = f"{COSTS}{TWICE if normalizes_batch else ''}."
    if not any(nbytes.values()):
        return [Untried(KIND, NAME, "No layer's activations are alive at the peak.")]
    try:
        if kind_of(model) == "blocks":
            names = blocks_of(model, nbytes)
            code = _BLOCKS.replace("{layers}", repr(_places(model, names))).replace("{names}", ", ".join(names))
            return [Change(KIND, f"{NAME} {_some(names)}", costs, code, True)]
        found: dict[str, Change] = {}
        for count in best_counts(sum(1 for size in nbytes.values() if size)):
            parts = parts_of(model, nbytes, count)
            again = sum(part.again for part in parts)
            name = f"{NAME} {again} part{'s' * (again > 1)}"
            code = _code(model, parts)
            found.setdefault(code, Change(KIND, name, costs, code, True))
        return list(found.values())
    except NoParts as why:
        return [Untried(KIND, NAME, f"{str(why)[0].upper()}{str(why)[1:]}.")]


def _code(model: Any, parts: list[Part]) -> str:
    """The snippet; it names layers by their places, as names that Keras made up differ from process to process."""
    if kind_of(model) == "chain":
        ends = [_places(model, (part.layers[0], part.layers[-1])) for part in parts]
        rows = [(first, last, part.again) for (first, last), part in zip(ends, parts, strict=True)]
        names = [f"{part.layers[0]} … {part.layers[-1]}" for part in parts]
        return _CHAIN.replace("{parts}", _listed(rows, names))
    inputs, outputs = (_places(model, names) for names in ends_of(model))
    code = _GRAPH.replace("{inputs}", repr(inputs)).replace("{outputs}", repr(outputs))
    taken = [(_places(model, part.inputs), _places(model, part.outputs), part.again) for part in parts]
    return code.replace("{parts}", _listed(taken, [f"up to {', '.join(part.outputs)}" for part in parts]))


def _places(model: Any, names: Sequence[str]) -> list[int]:
    every = [layer.name for layer in model.layers]
    return [every.index(name) for name in names]


def _listed(rows: Sequence[tuple[Any, ...]], names: Sequence[str]) -> str:
    return "".join(f"    {row!r},  # {name}\n" for row, name in zip(rows, names, strict=True))


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
