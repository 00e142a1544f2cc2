"""The graph of a step at any value of what is varied, from its graphs at one or two values, without a trace.

Op for op the graphs must be the same; only numbers may differ: dimensions, and the numbers in attributes. With two
graphs each number follows the simplest law that both obey: constant, proportional, proportional to the square, a
straight line. With one graph, whose value is a prime that nothing else in the step has to do with, a number that the
prime divides is proportional, one that its square divides is proportional to the square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from graphmem.graph.model import Argument, Op, StepGraph, Tensor, Variable, tensor_bytes

Shape = tuple["int | None", ...] | None

_LEFT_ALONE = frozenset({"index", "_arg", "seed", "seed2"})
"""Attributes whose numbers are no sizes."""

Sized = TypeVar("Sized", Tensor, Argument, Variable)


class Unpredicted(Exception):
    """A number follows no law that gives a whole number at a value."""


class Resized:
    """A step's graph at any value.

    Args:
        known: value -> graph, of one value (a prime, see above) or two; `same_ops` holds for them.
    """

    def __init__(self, known: dict[int, StepGraph]) -> None:
        values = sorted(known)
        self.one, self.graph = values[0], known[values[0]]
        self.other: int | None = values[1] if len(values) > 1 else None
        self.second: StepGraph | None = known[values[1]] if len(values) > 1 else None
        self._places = [index for index in range(len(self.graph.ops)) if self._varies(index)]

    def at(self, value: int) -> StepGraph:
        """The graph at a value; ops that are the same there are shared with the graph that is known.

        Raises:
            Unpredicted: something has no size there that the known graphs tell.
        """
        law = _Law(self.one, self.other, value)
        graph, second = self.graph, self.second or self.graph
        ops = list(graph.ops)
        for index in self._places:
            ops[index] = law.op(graph.ops[index], second.ops[index])
        return StepGraph(
            ops,
            [law.sized(a, b) for a, b in zip(graph.variables, second.variables, strict=True)],
            [law.sized(a, b) for a, b in zip(graph.arguments, second.arguments, strict=True)],
            dict(graph.info),
            graph.made,
            graph.kept_constants,
        )

    def _varies(self, index: int) -> bool:
        op = self.graph.ops[index]
        if self.second is not None:
            other = self.second.ops[index]
            return op.outputs != other.outputs or op.attrs != other.attrs
        prime = self.one
        return any(
            any(dim and dim % prime == 0 for dim in tensor.shape or ()) or (tensor.nbytes or 1) % prime == 0
            for tensor in op.outputs
        ) or any(key not in _LEFT_ALONE and _has_multiple(item, prime) for key, item in op.attrs.items())


class _Law:
    """Numbers at one value."""

    def __init__(self, one: int, other: int | None, value: int) -> None:
        self.one, self.other, self.value = one, other, value
        self.shapes: dict[tuple[Shape, Shape], Shape] = {}

    def number(self, a: int, b: int) -> int:
        """What is `a` at the first value known, and `b` at the second.

        Raises:
            Unpredicted: no whole number comes out.
        """
        one, other, value = self.one, self.other, self.value
        if other is None:
            degree = 0 if not a or a % one else 1 if a % one**2 else 2
            return a // one**degree * value**degree
        if a == b:
            return a
        for degree in (1, 2):
            if a * other**degree == b * one**degree:
                return _whole(a * value**degree, one**degree)
        return _whole(a * (other - one) + (b - a) * (value - one), other - one)

    def shape(self, a: Shape, b: Shape) -> Shape:
        """The same of each dimension."""
        if (a, b) not in self.shapes:
            self.shapes[a, b] = None if a is None or b is None else tuple(map(self._dim, a, b))
        return self.shapes[a, b]

    def _dim(self, a: int | None, b: int | None) -> int | None:
        return None if a is None or b is None else self.number(a, b)

    def sized(self, a: Sized, b: Sized) -> Sized:
        """A tensor, argument or variable; its bytes follow its shape where they did."""
        if self.other is None and isinstance(a, Variable):
            return a  # weights do not depend on what a prime was chosen for
        shape = self.shape(a.shape, b.shape)
        if a.nbytes == tensor_bytes(a.dtype, a.shape):
            nbytes = tensor_bytes(a.dtype, shape)
        else:
            nbytes = None if a.nbytes is None or b.nbytes is None else self.number(a.nbytes, b.nbytes)
        return replace(a, shape=shape, nbytes=nbytes)

    def op(self, a: Op, b: Op) -> Op:
        """An op, its outputs and the numbers in its attributes."""
        attrs = {key: item if key in _LEFT_ALONE else self.plain(item, b.attrs[key]) for key, item in a.attrs.items()}
        return replace(a, outputs=tuple(map(self.sized, a.outputs, b.outputs)), attrs=attrs)

    def plain(self, a: Any, b: Any) -> Any:
        """Plain data: the numbers follow their laws, where they have one; all else is as it was."""
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
            return type(a)(map(self.plain, a, b))
        if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
            return {key: self.plain(item, b[key]) for key, item in a.items()}
        if type(a) is int and type(b) is int:
            try:
                return self.number(a, b)
            except Unpredicted:
                return a
        return a


def same_ops(a: StepGraph, b: StepGraph) -> bool:
    """Whether two graphs are the same op for op: types, edges, devices, dtypes, ranks, attributes by name."""
    if len(a.ops) != len(b.ops) or len(a.arguments) != len(b.arguments) or len(a.variables) != len(b.variables):
        return False
    return all(map(_same_op, a.ops, b.ops)) and _same(a.variables, b.variables) and _same(a.arguments, b.arguments)


def _same_op(a: Op, b: Op) -> bool:
    return (
        a.type == b.type
        and a.inputs == b.inputs
        and a.controls == b.controls
        and a.device == b.device
        and a.attrs.keys() == b.attrs.keys()
        and len(a.outputs) == len(b.outputs)
        and _same(a.outputs, b.outputs)
        and all(x.host == y.host for x, y in zip(a.outputs, b.outputs, strict=True))
    )


def _same(a: Sequence[Sized], b: Sequence[Sized]) -> bool:
    """Whether tensors, arguments or variables differ in dimensions at most."""
    return all(
        x.dtype == y.dtype and _rank(x.shape) == _rank(y.shape) and (x.nbytes is None) == (y.nbytes is None)
        for x, y in zip(a, b, strict=True)
    )


def _rank(shape: Shape) -> int | None:
    return None if shape is None else len(shape)


def _whole(numerator: int, denominator: int) -> int:
    number, rest = divmod(numerator, denominator)
    if rest or number < 0:
        raise Unpredicted(f"{numerator} / {denominator}")
    return number


def _has_multiple(item: Any, prime: int) -> bool:
    """Whether a number in plain data is a multiple of a prime."""
    if isinstance(item, (list, tuple)):
        return any(_has_multiple(part, prime) for part in item)
    if isinstance(item, dict):
        return any(_has_multiple(part, prime) for part in item.values())
    return type(item) is int and item != 0 and item % prime == 0
