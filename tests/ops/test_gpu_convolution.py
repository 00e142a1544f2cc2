"""Scratch and workspace of convolutions on a GPU: conv_ops_impl.h, conv_grad_{input,filter}_ops.cc, conv_ops_gpu.cc."""

from __future__ import annotations

from math import prod

import pytest

from graphmem.errors import TargetError
from graphmem.graph.model import Tensor
from graphmem.ops.gpu_convolution import RED_ZONES, stays_nhwc, tried_first
from graphmem.ops.machine import CUDNN_WORKSPACE_LIMIT, workspace_limit
from graphmem.ops.registry import Env, lookup
from tests.ops.predict import make_op, make_tensor

SIZES = make_tensor("int32", (4,))
AMPERE, TURING, PASCAL = (Env(device="gpu", architecture=name) for name in ("8.0", "7.5", "6.1"))


class Case:
    """A convolution of an image by a filter, and its gradients."""

    def __init__(
        self, image: tuple[int, ...], taps: int, out: int, stride: int = 1, dtype: str = "float32", nchw: bool = False
    ) -> None:
        self.dtype, self.item = dtype, {"float64": 8, "float32": 4}.get(dtype, 2)
        made = tuple(-(-size // stride) for size in image[1:-1])
        self.shapes = image, (*[taps] * len(made), image[-1], out), (image[0], *made, out)
        strides = [1, *[stride] * len(made), 1]
        self.attrs = {"padding": "SAME", "strides": strides, "data_format": "NHWC"}
        if nchw:
            first = [(shape[0], shape[-1], *shape[1:-1]) for shape in (image, self.shapes[2])]
            self.shapes = first[0], self.shapes[1], first[1]
            self.attrs |= {"data_format": "NCHW", "strides": [1, 1, *[stride] * len(made)]}

    def op(self, kind: str) -> tuple:
        x, w, y = (make_tensor(self.dtype, shape) for shape in self.shapes)
        tensors: tuple[list[Tensor], Tensor] = ([x, w], y)
        if "BackpropInput" in kind:
            tensors = [SIZES, w, y], x
        elif "BackpropFilter" in kind:
            tensors = [x, SIZES, y], w
        return make_op(kind, (tensors[1],), self.attrs), tuple(tensors[0])

    def scratch(self, kind: str, env: Env = AMPERE) -> list[int | None]:
        rule = lookup(kind)
        assert rule is not None
        assert rule.gpu_scratch is not None
        return rule.gpu_scratch(*self.op(kind), env)

    def workspace(self, kind: str, env: Env) -> int:
        rule = lookup(kind)
        assert rule is not None
        assert rule.workspace is not None
        return rule.workspace(*self.op(kind), env)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(prod(shape) * self.item for shape in self.shapes)


@pytest.mark.parametrize(
    ("dtype", "from_"), [("float16", "7.0"), ("bfloat16", "8.0"), ("float32", "8.0"), ("float64", None)]
)
def test_tensor_cores_take_nhwc(dtype: str, from_: str | None) -> None:
    known = ("5.2", "6.1", "7.0", "7.5", "8.0", "8.9", "9.0", "12.0")
    wanted = [name for name in known if from_ and float(name) >= float(from_)]
    assert [name for name in known if stays_nhwc(dtype, name)] == wanted


@pytest.mark.parametrize("name", ["", "8", "eight.six", "8.x"])
def test_what_is_no_capability_is_refused(name: str) -> None:
    with pytest.raises(TargetError, match="compute capability"):
        stays_nhwc("float32", name)


def test_the_filter_is_always_copied() -> None:
    case = Case((2, 8, 8, 4), 3, 16)
    assert case.scratch("Conv2D") == [case.sizes[1]]
    assert Case((2, 8, 8, 4), 3, 16, nchw=True).scratch("Conv2D", PASCAL) == [case.sizes[1]]
    assert case.scratch("Conv2DBackpropFilter") == [case.sizes[1]]


def test_the_input_gradient_is_made_beside_its_output() -> None:
    case = Case((2, 8, 8, 4), 3, 16)
    assert case.scratch("Conv2DBackpropInput") == [case.sizes[1], case.sizes[0]]


@pytest.mark.parametrize(("taps", "stride"), [(3, 2), (2, 1)])
def test_uneven_padding_copies_the_image(taps: int, stride: int) -> None:
    case = Case((2, 8, 8, 4), taps, 16, stride)
    padded = 2 * 9 * 9 * 4 * 4
    assert case.scratch("Conv2D") == [padded, case.sizes[1]]
    assert case.scratch("Conv2DBackpropFilter") == [padded, case.sizes[1]]
    assert case.scratch("Conv2DBackpropInput") == [case.sizes[1], padded, case.sizes[0]]


def test_nhwc_goes_through_nchw_without_tensor_cores() -> None:
    case = Case((2, 8, 8, 4), 3, 16)
    image, filters, out = case.sizes
    assert case.scratch("Conv2D", TURING) == [image, filters, out]
    assert case.scratch("Conv2DBackpropFilter", TURING) == [filters, out, image]
    assert case.scratch("Conv2DBackpropInput", TURING) == [filters, out, image]
    half = Case((2, 8, 8, 4), 3, 16, dtype="float16")
    assert half.scratch("Conv2D", TURING) == [half.sizes[1]]
    assert half.scratch("Conv2D", PASCAL) == list(half.sizes)


def test_a_single_channel_needs_no_transposition() -> None:
    case = Case((2, 8, 8, 1), 3, 16)
    assert case.scratch("Conv2D", TURING) == [case.sizes[1], case.sizes[2]]
    assert case.scratch("Conv2DBackpropFilter", TURING) == [case.sizes[1], case.sizes[2]]


def test_bfloat16_is_emulated_before_ampere() -> None:
    case = Case((2, 8, 8, 4), 3, 16, dtype="bfloat16")
    image, filters, out = (size * 2 for size in case.sizes)
    assert case.scratch("Conv2D", TURING) == [image, filters, out, image, filters, out]
    assert case.scratch("Conv2D", AMPERE) == [case.sizes[1]]


@pytest.mark.parametrize("kind", ["Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput"])
def test_a_matrix_product_needs_nothing(kind: str) -> None:
    full = Env(device="gpu", conv_workspace="limit")
    case = Case((2, 8, 8, 4), 1, 16)
    assert case.scratch(kind) == []
    assert case.workspace(kind, full) == 0
    assert tried_first(*case.op(kind)) == 0
    assert case.scratch(kind, PASCAL) == []
    assert Case((2, 8, 8, 4), 1, 16, nchw=True).scratch(kind) != []
    assert Case((2, 8, 8, 4), 1, 16, stride=2).scratch(kind) != []


def test_three_dimensions_are_as_two() -> None:
    case = Case((2, 4, 8, 8, 4), 3, 16)
    assert case.scratch("Conv3D") == [case.sizes[1]]
    assert case.scratch("Conv3D", TURING) == list(case.sizes)
    assert case.scratch("Conv3DBackpropInputV2") == [case.sizes[1], case.sizes[0]]


def test_grouped_convolutions_are_no_product() -> None:
    case = Case((2, 8, 8, 4), 1, 16)
    image, _, out = case.shapes
    case.shapes = image, (1, 1, 2, 16), out
    assert case.scratch("Conv2D") == [2 * 16 * 4]


class TestWorkspace:
    """No step needs it: none, what is usual, or what the limit allows."""

    def test_usual_are_copies_for_tensor_cores(self) -> None:
        typical = Env(device="gpu", conv_workspace="typical")
        nchw = Case((2, 8, 8, 4), 3, 16, nchw=True)
        assert nchw.workspace("Conv2D", typical) == sum(nchw.sizes)
        assert Case((2, 8, 8, 4), 3, 16).workspace("Conv2D", typical) == 0
        assert nchw.workspace("Conv2D", Env(device="gpu", conv_workspace="typical", architecture="7.5")) == 0

    def test_none_and_the_limit(self) -> None:
        case = Case((2, 8, 8, 4), 3, 16, nchw=True)
        assert case.workspace("Conv2D", AMPERE) == 0
        assert case.workspace("Conv2D", Env(device="gpu", conv_workspace="limit")) == CUDNN_WORKSPACE_LIMIT == 8 << 30
        assert case.workspace("Conv2D", Env(device="gpu", conv_workspace="limit", workspace_limit=512)) == 512

    def test_tensorflows_variable_is_heard(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TF_CUDNN_WORKSPACE_LIMIT_IN_MB", "64")
        assert workspace_limit() == Env().workspace_limit == 64 << 20
        monkeypatch.setenv("TF_CUDNN_WORKSPACE_LIMIT_IN_MB", "many")
        assert workspace_limit() == CUDNN_WORKSPACE_LIMIT

    def test_the_first_call_writes_beside_the_result(self) -> None:
        case = Case((2, 8, 8, 4), 3, 16)
        image, filters, out = case.sizes
        assert tried_first(*case.op("Conv2D")) == out + 2 * RED_ZONES
        assert tried_first(*case.op("Conv2DBackpropFilter")) == filters + 2 * RED_ZONES
        assert tried_first(*case.op("Conv2DBackpropInput")) == image + 2 * RED_ZONES
