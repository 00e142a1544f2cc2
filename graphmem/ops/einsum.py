"""Einsum: the kernel puts each operand's axes in order, sums some away, multiplies, and puts the product's in order.

Every tensor that this makes on the way is a temporary; the last one becomes the output.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Env, Rule, register
from graphmem.ops.sizes import itemsize, known, times

BROADCAST, BATCH, FREE, CONTRACTED, SUMMED = range(5)
"""What becomes of an axis, in the order in which the batched product wants them."""

Labels = tuple[int, ...]


@dataclass(frozen=True)
class Equation:
    """An equation with the ellipses opened, labels numbered by first use.

    Attributes:
        operands: the labels of each operand's axes.
        result: the labels of the result's axes.
        kinds: what becomes of each label.
    """

    operands: tuple[Labels, ...]
    result: Labels
    kinds: dict[int, int]


def parse(equation: str, ranks: tuple[int, ...]) -> Equation:
    """Read an equation such as `...ab,bc->...ac` for operands of these ranks."""
    left, _, right = equation.replace(" ", "").replace("...", ".").partition("->")
    terms = left.split(",")
    numbers: dict[str, int] = {}
    for label in left.replace(",", "").replace(".", ""):
        numbers.setdefault(label, len(numbers))
    hidden = [rank - len(term) + 1 if "." in term else 0 for term, rank in zip(terms, ranks, strict=True)]

    def labels(term: str, opened: int) -> Labels:
        found: list[int] = []
        for label in term:
            found += range(len(numbers), len(numbers) + opened) if label == "." else [numbers[label]]
        return tuple(found)

    operands = tuple(labels(term, opened) for term, opened in zip(terms, hidden, strict=True))
    result = labels(right, max(hidden))
    kinds = dict.fromkeys(range(len(numbers), len(numbers) + max(hidden)), BROADCAST)
    for number in numbers.values():
        shared = len(operands) == 2 and all(number in operand for operand in operands)
        kept = number in result
        kinds[number] = (BATCH if shared else FREE) if kept else (CONTRACTED if shared else SUMMED)
    return Equation(operands, result, kinds)


def ordered(labels: Labels, kinds: dict[int, int]) -> Labels:
    """The labels in the order that the product wants; free and contracted ones may stand exchanged already."""
    exchanged = {BROADCAST: 0, BATCH: 1, FREE: 3, CONTRACTED: 2, SUMMED: 4}
    if list(labels) == sorted(labels, key=lambda label: (exchanged[kinds[label]], label)):
        return labels
    return tuple(sorted(labels, key=lambda label: (kinds[label], label)))


def made_tensors(equation: Equation, shapes: tuple[tuple[int, ...], ...]) -> list[int] | None:
    """Elements of each tensor that the kernel makes, the output last; empty if the output is a view.

    `None` for repeated labels within an operand or the result (diagonals), which are not worked out.
    """
    if any(len(set(labels)) < len(labels) for labels in (*equation.operands, equation.result)):
        return None
    made: list[int] = []
    product: list[int] = []
    sizes: dict[int, int] = {}
    for labels, shape in zip(equation.operands, shapes, strict=True):
        for label, dim in zip(labels, shape, strict=True):
            sizes[label] = max(sizes.get(label, 1), dim)
        order = ordered(labels, equation.kinds)
        count = times(*shape) or 0
        if order != labels:
            made.append(count)
        summed = times(*(sizes[label] for label in order if equation.kinds[label] == SUMMED)) or 1
        if summed > 1:
            made.append(count // summed)
        product += [label for label in order if equation.kinds[label] in (BROADCAST, BATCH, FREE)]
    product = sorted(dict.fromkeys(product), key=lambda label: equation.kinds[label])
    total = times(*(sizes[label] for label in product)) or 0
    if len(equation.operands) == 2:
        made.append(total)
    if tuple(product) != equation.result and len(product) > 1:
        made.append(total)
    return made


def _made(op: Op, inputs: tuple[Tensor, ...]) -> list[int] | None:
    shapes = [shape for shape in (known(tensor.shape) for tensor in inputs) if shape is not None]
    if len(shapes) < len(inputs):
        return None
    equation = parse(str(op.attrs["equation"]), tuple(map(len, shapes)))
    return made_tensors(equation, tuple(shapes))


def einsum_view(op: Op, inputs: tuple[Tensor, ...]) -> int | None:
    """If there is one operand and its axes stay in order."""
    return 0 if _made(op, inputs) == [] else None


def einsum_scratch(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """Operands and product with their axes put in order, where they are not yet."""
    made, item = _made(op, inputs), itemsize(inputs[0].dtype)
    if made is None or item is None:
        return [None]
    return [count * item for count in made[:-1]]


register(
    "Einsum",
    Rule(
        view_if=einsum_view,
        cpu_scratch=einsum_scratch,
        gpu_scratch=einsum_scratch,
        scratch_first=True,
        source="einsum_op_impl.h",
    ),
)
