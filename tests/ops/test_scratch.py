"""Scratch formulas with tuples; the sizes of real models are those that TensorFlow's allocator was asked for."""

from __future__ import annotations

import pytest

from graphmem.graph.model import Tensor
from graphmem.ops import convolution, einsum
from graphmem.ops.registry import Env, lookup
from tests.ops.predict import make_op, make_tensor

MIB = 1 << 20


def scratch(kind: str, inputs: list[Tensor], outputs: list[Tensor], env: Env, attrs: dict | None = None) -> list:
    rule = lookup(kind)
    assert rule is not None
    formula = rule.gpu_scratch if env.device == "gpu" else rule.cpu_scratch
    assert formula is not None
    return formula(make_op(kind, tuple(outputs), attrs), tuple(inputs), env)


def f32(*shape: int | None) -> Tensor:
    return make_tensor("float32", shape)


def f16(*shape: int | None) -> Tensor:
    return make_tensor("float16", shape)


SIZES = make_tensor("int32", (4,))


@pytest.mark.parametrize(
    ("grad", "filters", "images"),
    [
        ((2, 256, 256, 64), (3, 3, 128, 64), 1),  # U-Net's last block
        ((8, 14, 14, 32), (3, 3, 128, 32), 30),  # DenseNet121 conv4_block24_2
        ((8, 17, 17, 192), (1, 4, 192, 192), 19),
        ((4, 12, 12, 4), (4, 4, 16, 4), 205),
    ],
)
def test_filter_gradient_takes_images_for_30_mib(grad: tuple[int, ...], filters: tuple[int, ...], images: int) -> None:
    area, patch = grad[1] * grad[2], filters[0] * filters[1] * filters[2]
    image = f32(grad[0], grad[1], grad[2], filters[2])
    found = scratch("Conv2DBackpropFilter", [image, SIZES, f32(*grad)], [f32(*filters)], Env(2))
    assert found == [images * area * patch * 4]


def test_input_gradient_of_unet_holds_302_mb() -> None:
    inputs = [SIZES, f32(3, 3, 128, 64), f32(2, 256, 256, 64)]
    assert scratch("Conv2DBackpropInput", inputs, [f32(2, 256, 256, 128)], Env(2)) == [301_989_888]


def test_input_gradient_of_densenet_holds_83_images_of_columns() -> None:
    inputs = [SIZES, f32(3, 3, 128, 32), f32(8, 7, 7, 32)]
    assert scratch("Conv2DBackpropInput", inputs, [f32(8, 7, 7, 128)], Env(2)) == [18_740_736]


@pytest.mark.parametrize(("threads", "images"), [(1, 1), (2, 1), (3, 45)])
def test_input_gradient_depends_on_threads(threads: int, images: int) -> None:
    """175,488 elements of work: 65,536 for each of two threads, but not of three."""
    assert convolution.columns(1024, 144, 24, 4, 8, threads) == images * 1024 * 144 * 4


def test_input_gradient_of_one_image_takes_one() -> None:
    assert convolution.columns(16, 72, 8, 4, 1, 2) == 16 * 72 * 4
    assert convolution.columns(16, 72, 8, 4, 2, 2) == 4238 * 16 * 72 * 4


def test_half_precision_doubles_the_images() -> None:
    grad, filters = f16(2, 16, 16, 32), f16(3, 3, 64, 32)
    assert scratch("Conv2DBackpropInput", [SIZES, filters, grad], [f16(2, 16, 16, 64)], Env(2)) == [26_836_992]


@pytest.mark.parametrize(("l3", "images"), [(256 * MIB, 12), (320 * MIB, 15)])
def test_3d_filter_gradient_depends_on_the_cache(l3: int, images: int) -> None:
    inputs = [f32(2, 32, 64, 64, 1), SIZES, f32(2, 32, 64, 64, 16)]
    found = scratch("Conv3DBackpropFilterV2", inputs, [f32(3, 3, 3, 1, 16)], Env(2, "cpu", l3))
    assert found == [images * 131_072 * 27 * 4]


def test_3d_gradient_without_columns_if_they_were_too_large() -> None:
    inputs = [f32(2, 8, 16, 16, 8), SIZES, f32(2, 8, 16, 16, 16)]
    assert scratch("Conv3DBackpropFilterV2", inputs, [f32(3, 3, 3, 8, 16)], Env(2, "cpu", 256 * MIB)) == [0]


def test_unknown_sizes_stay_unknown() -> None:
    inputs = [f32(None, 8, 8, 4), SIZES, f32(None, 8, 8, 4)]
    assert scratch("Conv2DBackpropFilter", inputs, [f32(3, 3, 4, 4)], Env(2)) == [None]
    assert scratch("MaxPoolGrad", [inputs[0], f32(None, 4, 4, 4), f32(None, 4, 4, 4)], [inputs[0]], Env()) == [
        None,
        None,
    ]
    assert scratch("Einsum", [f32(None, 4), f32(4, 4)], [f32(None, 4)], Env(), {"equation": "ab,bc->ac"}) == [None]
    assert scratch("Sum", [f32(2, 3, 4)], [f32(3)], Env()) == [None]  # its axes are not constant


def test_depthwise_pads_channels_to_vectors() -> None:
    forward = scratch("DepthwiseConv2dNative", [f32(2, 8, 8, 67), f32(3, 3, 67, 1)], [f32(2, 8, 8, 67)], Env(2))
    assert forward == [9 * 72 * 4] * 3
    assert scratch("DepthwiseConv2dNative", [f32(2, 8, 8, 64), f32(3, 3, 64, 1)], [f32(2, 8, 8, 64)], Env(2)) == (
        [9 * 64 * 4] * 2
    )
    inputs = [f32(2, 8, 8, 67), SIZES, f32(2, 8, 8, 67)]
    assert scratch("DepthwiseConv2dNativeBackpropFilter", inputs, [f32(3, 3, 67, 1)], Env(2)) == [
        2 * 9 * 72 * 4,
        9 * 72 * 4,
    ]


def test_products_of_halves_are_done_in_float32() -> None:
    assert scratch("MatMul", [f16(32, 48), f16(48, 64)], [f16(32, 64)], Env()) == [6144, 12288, 8192]
    assert scratch("MatMul", [f32(32, 48), f32(48, 64)], [f32(32, 64)], Env()) == []


@pytest.mark.parametrize(
    ("equation", "shapes", "made"),
    [
        ("ab,bc->ac", [(32, 48), (48, 64)], [2048]),
        ("ab,bc->ca", [(32, 48), (48, 64)], [2048, 2048]),
        ("ab,cb->ac", [(32, 48), (64, 48)], [2048]),  # contracted before free: the product takes it exchanged
        ("aecd,abcd->acbe", [(2, 16, 4, 8), (2, 12, 4, 8)], [1024, 768, 1536, 1536]),
        ("acbe,aecd->abcd", [(2, 4, 12, 16), (2, 16, 4, 8)], [1024, 768, 768]),
        ("abc,dc->ad", [(32, 4, 16), (24, 16)], [2048, 512, 768]),  # b is summed away first
        ("...ab,bc->...ac", [(4, 16, 32), (32, 24)], [1536]),
        ("a...b,bc->c...a", [(16, 4, 32), (32, 24)], [2048, 1536, 1536]),
        ("abc->acb", [(4, 32, 48)], [6144]),
        ("abc->ab", [(4, 32, 48)], [128]),
        ("abc->abc", [(4, 32, 48)], []),
    ],
)
def test_tensors_that_einsum_makes(equation: str, shapes: list[tuple[int, ...]], made: list[int]) -> None:
    parsed = einsum.parse(equation, tuple(map(len, shapes)))
    assert einsum.made_tensors(parsed, tuple(shapes)) == made


def test_diagonals_of_einsum_are_unknown() -> None:
    assert einsum.made_tensors(einsum.parse("aab->ab", (3,)), ((4, 4, 5),)) is None


@pytest.mark.parametrize(
    ("axes", "copied"),
    [([0, 1, 2], False), ([1, 2], False), ([3], False), ([0], False), ([0, 3], False), ([0, 2], True), ([1, 3], True)],
)
def test_reduction_copies_the_input_for_scattered_axes(axes: list[int], copied: bool) -> None:
    rule = lookup("Mean")
    assert rule is not None
    assert rule.cpu_scratch is not None
    op = make_op("Mean", (f32(),), {}, {1: axes})
    found = rule.cpu_scratch(op, (f32(8, 4, 6, 5), make_tensor("int32", (len(axes),))), Env())
    assert found == ([8 * 4 * 6 * 5 * 4] if copied else [])


def test_block_cells_join_the_input_with_the_state() -> None:
    """8 samples of 16 inputs and 24 states: 8 * 40 floats joined, 8 * 24 a state, four times that in gates."""
    x, state, weights = f32(8, 16), f32(8, 24), [f32(24)] * 13
    assert scratch("LSTMBlockCell", [x, state, state, *weights], [state] * 7, Env()) == [1280, 3072]
    assert scratch("LSTMBlockCellGrad", [x, state, state, *weights], [state], Env()) == [768] * 5
    assert scratch("GRUBlockCell", [x, state, *weights], [state] * 4, Env()) == [1280, 1280, 1536]
    assert scratch("GRUBlockCellGrad", [x, state, *weights], [x], Env()) == [1280, 1280, 768, 768, 768]
    sequence = [make_tensor("int64", ()), f32(5, 8, 16), state, state, *weights]
    assert scratch("BlockLSTM", sequence, [f32(5, 8, 24)] * 7, Env()) == [1280, 3072]
    assert scratch("BlockLSTMGrad", sequence, [f32(5, 8, 16)], Env()) == [1280, 1280, 3072, *[768] * 7]
    assert scratch("LSTMBlockCell", [f32(None, 16), state, state, *weights], [state] * 7, Env()) == [None, None]


@pytest.mark.parametrize("kind", ["While", "SparseTensorToCSRSparseMatrix", "RaggedTensorToVariant"])
def test_what_is_held_elsewhere_is_unknown_rather_than_nothing(kind: str) -> None:
    assert scratch(kind, [f32(4)], [f32(4)], Env()) == [None]


def test_scaling_back_holds_rows_scaled_already() -> None:
    """Of a gradient of 8 x 8 for an image of 4 x 4: rows are done, columns are not."""
    inputs = [f32(2, 8, 8, 64), f32(2, 4, 4, 64), f32(2), f32(2)]
    assert scratch("ScaleAndTranslateGrad", inputs, [f32(2, 4, 4, 64)], Env()) == [2 * 4 * 8 * 64 * 4]
    assert scratch("SparseDenseCwiseMul", [f32(9, 2), f32(9)], [f32(9)], Env()) == [36]


def test_max_pool_gradient_may_put_its_first_temporary_in_the_pooled_output() -> None:
    rule = lookup("MaxPoolGrad")
    assert rule is not None
    assert rule.scratch_over == ((0, 1),)
    inputs = [f32(4, 32, 32, 16), f32(4, 16, 16, 16), f32(4, 16, 16, 16)]
    assert scratch("MaxPoolGrad", inputs, [inputs[0]], Env()) == [65_536, 131_072]
