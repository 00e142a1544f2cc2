"""Einsum: transposed operands, the product, and its transposition are all scratch or the output."""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Env, Rule, register


def equation(op: Op) -> tuple[list[str], str]:
    """The label strings of the operands and of the result."""
    left, _, right = str(op.attrs["equation"]).replace(" ", "").partition("->")
    return left.split(","), right


def kinds(operands: list[str], result: str) -> dict[str, int]:
    """For each label its group in a batched product: 1 batch, 2 free, 3 contracted, 4 summed away."""
    table = {}
    for label in "".join(operands):
        shared = all(label in operand for operand in operands) and len(operands) == 2
        shared = shared or (any(operand.count(label) > 1 for operand in operands) and len(operands) == 1)
        removed = label not in result
        table[label] = {(False, True): 1, (False, False): 2, (True, True): 3, (True, False): 4}[removed, shared]
    return table


def in_order(labels: str, kind: dict[str, int], swap: bool) -> bool:
    """Whether the labels stand grouped by kind (free and contracted exchanged if `swap`), by first use within one."""
    rank = {1: 1, 2: 3, 3: 2, 4: 4} if swap else {1: 1, 2: 2, 3: 3, 4: 4}
    order = list(kind)
    keys = [(rank[kind[label]], order.index(label)) for label in labels]
    return keys == sorted(keys)


def einsum_parts(op: Op) -> tuple[list[bool], bool] | None:
    """(per operand: whether it is transposed first, whether the product is transposed), `None` for ellipses."""
    operands, result = equation(op)
    if "." in "".join(operands):
        return None
    kind = kinds(operands, result)
    transposed = [
        not in_order(labels, kind, swap=True) and not in_order(labels, kind, swap=False) for labels in operands
    ]
    order = list(kind)
    made = [label for label in order if kind[label] == 1]
    for labels in operands:
        made += sorted((label for label in set(labels) if kind[label] == 2), key=order.index)
    return transposed, "".join(made) != result


def einsum_scratch(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """Transposed operands, and the product if a transposition follows."""
    parts = einsum_parts(op)
    if parts is None:
        return [None]
    transposed, last = parts
    scratch = [tensor.nbytes for tensor, copied in zip(inputs, transposed, strict=True) if copied]
    return scratch + ([op.outputs[0].nbytes] if last and len(inputs) == 2 else [])


register("Einsum", Rule(cpu_scratch=einsum_scratch, gpu_scratch=einsum_scratch, source="einsum_op_impl.h"))
