"""What the table says of one op: the buffers that it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphmem.graph.model import Op, Tensor, tensor_bytes
from graphmem.ops.registry import Env, Rule, lookup


@dataclass
class Prediction:
    """Bytes of each new buffer; `None`: unknown size.

    Attributes:
        outputs: of outputs that are neither views nor take an input over.
        scratch: of temporaries.
    """

    outputs: list[int | None]
    scratch: list[int | None]


def make_tensor(dtype: str, shape: Any) -> Tensor:
    dims = None if shape is None else tuple(shape)
    return Tensor(dtype, dims, tensor_bytes(dtype, dims))


def make_op(kind: str, outputs: tuple[Tensor, ...], attrs: Any = None, consts: Any = None) -> Op:
    known = {str(position): value for position, value in (consts or {}).items()}
    return Op("op", kind, (), (), outputs, {**(attrs or {}), "_const_inputs": known})


def predict(node: dict[str, Any], dying: bool, threads: int) -> Prediction:
    """Apply the op's row. `dying`: no input has another holder, save the constants."""
    inputs = tuple(make_tensor(*spec) for spec in node["inputs"])
    op = make_op(node["type"], tuple(make_tensor(*spec) for spec in node["outputs"]), node["attrs"], node["consts"])
    rule = lookup(op.type)
    assert rule is not None, f"no row for {op.type}"
    free = {place for place in range(len(inputs)) if dying and str(place) not in node["consts"]}
    if rule.view_if and rule.view_if(op, inputs) is not None:
        return Prediction([], [])
    views = dict(rule.view)
    sizes = dict(rule.output_bytes)
    new = []
    for slot, tensor in enumerate(op.outputs):
        if slot not in views and not take_over(rule, slot, tensor, inputs, free):
            new.append(sizes.get(slot) if tensor.nbytes is None else tensor.nbytes)
    scratch = rule.cpu_scratch(op, inputs, Env(threads)) if rule.cpu_scratch else []
    over = {index for index, place in rule.scratch_over if place in free}
    return Prediction(new, [size for index, size in enumerate(scratch) if index not in over])


def take_over(rule: Rule, slot: int, tensor: Tensor, inputs: tuple[Tensor, ...], free: set[int]) -> bool:
    """Whether the output takes over an input that dies; if so that input is free no more."""
    for forwarded, places in rule.forward:
        if forwarded == slot:
            for place in range(len(inputs)) if places == (-1,) else places:
                given = inputs[place]
                if place in free and (given.dtype, given.nbytes) == (tensor.dtype, tensor.nbytes):
                    free.remove(place)
                    return True
    return False
