"""Short ways to write specs and families of cases."""

from __future__ import annotations

from typing import Any

from tests.ops.allocator import Case

Spec = tuple[str, tuple[int, ...]]


def f32(*shape: int) -> Spec:
    return "float32", shape


def f16(*shape: int) -> Spec:
    return "float16", shape


def i32(*shape: int) -> Spec:
    return "int32", shape


def boolean(*shape: int) -> Spec:
    return "bool", shape


def unary(ops: str, spec: Spec, name: str = "x") -> list[Case]:
    return [Case(op, {name: spec}) for op in ops.split()]


def binary(ops: str, x: Spec, y: Spec, names: str = "x y") -> list[Case]:
    first, second = names.split()
    return [Case(op, {first: x, second: y}) for op in ops.split()]


def conv(
    op: str, image: tuple[int, ...], filters: tuple[int, ...], stride: int, padding: str, dtype: str = "float32"
) -> Case:
    """A 2D convolution or one of its gradients, from the image's and the filter's shape."""
    batch, high, wide, _ = image
    cut = (0, 0) if padding == "SAME" else (filters[0] - 1, filters[1] - 1)
    deep = filters[3] if "Depthwise" not in op else filters[2] * filters[3]
    out = (batch, -(-(high - cut[0]) // stride), -(-(wide - cut[1]) // stride), deep)
    attrs: dict[str, Any] = {"strides": [1, stride, stride, 1], "padding": padding}
    if op.endswith("Filter"):
        tensors = {"input": (dtype, image), "out_backprop": (dtype, out)}
        return Case(op, tensors, {"filter_sizes": list(filters)}, attrs)
    if op.endswith("Input"):
        tensors = {"filter": (dtype, filters), "out_backprop": (dtype, out)}
        return Case(op, tensors, {"input_sizes": list(image)}, attrs)
    return Case(op, {"input": (dtype, image), "filter": (dtype, filters)}, {}, attrs)


def conv3d(op: str, image: tuple[int, ...], filters: tuple[int, ...], stride: int = 1, padding: str = "SAME") -> Case:
    """A 3D convolution or one of its gradients."""
    cut = [0] * 3 if padding == "SAME" else [k - 1 for k in filters[:3]]
    out = (image[0], *(-(-(d - c) // stride) for d, c in zip(image[1:4], cut, strict=True)), filters[4])
    attrs: dict[str, Any] = {"strides": [1, stride, stride, stride, 1], "padding": padding}
    if op.endswith("FilterV2"):
        return Case(op, {"input": f32(*image), "out_backprop": f32(*out)}, {"filter_sizes": list(filters)}, attrs)
    if op.endswith("InputV2"):
        return Case(op, {"filter": f32(*filters), "out_backprop": f32(*out)}, {"input_sizes": list(image)}, attrs)
    return Case(op, {"input": f32(*image), "filter": f32(*filters)}, {}, attrs)
