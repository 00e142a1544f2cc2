"""Where a model can be cut so that what lies between two cuts is computed again in the backward pass."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphmem.target.live import layers_of


@dataclass(frozen=True)
class Part:
    """A run of layers.

    Attributes:
        layers: names of what is in it, in the order in which it runs.
        inputs, outputs: names of the layers whose outputs it takes, and of those whose outputs it gives.
        again: whether it is computed again: not if it draws random numbers, nor at the end, where nothing is freed.
    """

    layers: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    again: bool


@dataclass(frozen=True)
class Unit:
    """One operation of a model in the order in which they run."""

    name: str
    takes: tuple[str, ...]
    is_layer: bool
    random: bool
    nbytes: int


class NoParts(Exception):
    """A model that cannot be cut; why, as the end of a sentence."""


def kind_of(model: Any) -> str:
    """How a model can be cut: "chain" for Sequential, "graph" for Functional, "blocks" with a `call` of its own."""
    of_keras = [base for base in type(model).__mro__ if base.__module__.partition(".")[0] in ("keras", "tf_keras")]
    names = {base.__name__ for base in of_keras}
    if "call" in vars(model) or any("call" in vars(base) for base in type(model).__mro__ if base not in of_keras):
        return "blocks"
    return "chain" if "Sequential" in names else "graph" if "Functional" in names else "blocks"


def blocks_of(model: Any, nbytes: Mapping[str, int]) -> list[str]:
    """Layers made of layers that hold most at the peak, and draw no random numbers: attributes of a subclassed model.

    Raises:
        NoParts: there are none.
    """
    blocks = [layer for layer in model.layers if layers_of(layer)]
    found = [layer for layer in blocks if nbytes.get(layer.name, 0)]
    calm = [layer.name for layer in found if not _random(layer)]
    if calm:
        return calm
    if found:
        raise NoParts(f"what would be computed again draws random numbers ({found[0].name}), and would draw others")
    what = "that is made of layers holds anything at the peak" if blocks else "is made of layers"
    raise NoParts(f"no layer {what}")


def parts_of(model: Any, nbytes: Mapping[str, int], count: int) -> list[Part]:
    """A Sequential or Functional model in about so many parts that hold about the same.

    Args:
        nbytes: layer -> bytes of its activations that are alive at the peak.

    Raises:
        NoParts: the model cannot be cut.
    """
    if kind_of(model) == "chain":
        units = _chain(model, nbytes)
        ends = frozenset({units[-1].name} if units else ())
    else:
        units, ends = _graph(model, nbytes)
    parts = cut(units, ends, count)
    if not any(part.again for part in parts):
        raise NoParts("no place was found where it can be cut into parts that draw no random numbers")
    return parts


def cut(units: Sequence[Unit], ends: frozenset[str], count: int) -> list[Part]:
    """Runs of units with about the same bytes each, cut where few tensors are alive; random ones by themselves.

    Args:
        units: in the order in which they run.
        ends: those whose outputs are the model's.
        count: how many parts.
    """
    last_use = {name: index for index, unit in enumerate(units) for name in unit.takes}
    last_use |= dict.fromkeys(ends, len(units))
    places = [i for i in range(len(units) - 1) if _can_cut(units, last_use, i)]
    total = sum(unit.nbytes for unit in units) or 1
    sums, so_far = [], 0
    for unit in units:
        so_far += unit.nbytes
        sums.append(so_far)

    def misfit(place: int, share: float) -> float:
        alive = sum(unit.nbytes for unit in units[: place + 1] if last_use.get(unit.name, -1) > place)
        return abs(sums[place] / total - share) + alive / total

    chosen = {min(places, key=lambda place: misfit(place, k / count)) for k in range(1, count)} if places else set()
    for index, unit in enumerate(units):
        if unit.random:
            chosen |= {place for place in (index - 1, index) if place in places}
    bounds = [-1, *sorted(chosen), len(units) - 1]
    return [_part(units, a + 1, b + 1, last_use) for a, b in itertools.pairwise(bounds)]


def _can_cut(units: Sequence[Unit], last_use: Mapping[str, int], place: int) -> bool:
    """Whether all that is alive after a unit is the output of a layer, which can be named."""
    return all(unit.is_layer for unit in units[: place + 1] if last_use.get(unit.name, -1) > place)


def _part(units: Sequence[Unit], a: int, b: int, last_use: Mapping[str, int]) -> Part:
    inside = [unit.name for unit in units[a:b]]
    takes = dict.fromkeys(name for unit in units[a:b] for name in unit.takes if name not in inside)
    gives = tuple(name for name in inside if last_use.get(name, -1) >= b)
    again = b < len(units) and not any(unit.random for unit in units[a:b])
    return Part(tuple(inside), tuple(takes), gives, again)


def best_counts(layers: int) -> tuple[int, ...]:
    """How many parts are tried: about the square root of the layers keeps least, where all hold the same."""
    root = max(2, round(math.sqrt(layers)))
    return tuple(sorted({max(2, root // 2), root, min(2 * root, max(2, layers // 2))}))


def ends_of(model: Any) -> tuple[list[str], list[str]]:
    """The names of the layers that make a Functional model's inputs and outputs, in their order."""
    made = _makers(model)
    return [made[id(tensor)] for tensor in model.inputs], [made[id(tensor)] for tensor in model.outputs]


def _makers(model: Any) -> dict[int, str]:
    """Id of a symbolic tensor -> name of the operation that makes it."""
    import tensorflow as tf

    operations = getattr(model, "operations", model.layers)
    return {id(tensor): operation.name for operation in operations for tensor in tf.nest.flatten(operation.output)}


def _chain(model: Any, nbytes: Mapping[str, int]) -> list[Unit]:
    layers = list(model.layers)
    before = [(), *((layer.name,) for layer in layers)]
    return [
        Unit(layer.name, takes, True, _random(layer), nbytes.get(layer.name, 0))
        for layer, takes in zip(layers, before, strict=False)
    ]


def _graph(model: Any, nbytes: Mapping[str, int]) -> tuple[list[Unit], frozenset[str]]:
    import tensorflow as tf

    operations = list(getattr(model, "operations", model.layers))
    shared = [op.name for op in operations if len(op._inbound_nodes) > 1]
    if shared:
        raise NoParts(f"layer {shared[0]} is used several times")
    made = _makers(model)
    layers = {layer.name for layer in model.layers}
    units = []
    for op in operations:
        if type(op).__name__ == "InputLayer":
            continue
        takes = [made.get(id(t)) for t in tf.nest.flatten(op.input)]
        if None in takes:
            raise NoParts(f"what layer {op.name} takes is made by no layer of the model")
        single = len(tf.nest.flatten(op.output)) == 1
        units.append(
            Unit(op.name, tuple(dict.fromkeys(filter(None, takes))), op.name in layers and single, _random(op),
                 nbytes.get(op.name, 0))
        )  # fmt: skip
    ends = frozenset(made[id(t)] for t in model.outputs)
    if not ends <= layers:
        raise NoParts("an output is made by no layer")
    return units, ends


def _random(layer: Any) -> bool:
    """Whether a layer, or one inside it, draws random numbers: a second run would draw others."""
    for one in (layer, *layers_of(layer)):
        draws = getattr(one, "_seed_generators", None) or getattr(one, "seed_generator", None)
        draws = draws or any(base.__name__ == "BaseRandomLayer" for base in type(one).__mro__)  # tf_keras
        if draws and getattr(one, "rate", None) != 0:
            return True
    return False
