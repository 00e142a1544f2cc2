"""Scratch of GPU kernels, each rule as TensorFlow's source has it; see docs/gpu.md for the sources."""

from __future__ import annotations

import pytest

from graphmem.graph.model import Tensor
from graphmem.ops.registry import Env, lookup
from tests.ops.predict import make_op, make_tensor

GPU = Env(device="gpu")


def scratch(
    kind: str, inputs: list[Tensor], outputs: list[Tensor], attrs: dict | None = None, env: Env = GPU
) -> list[int | None]:
    rule = lookup(kind)
    assert rule is not None
    assert rule.gpu_scratch is not None
    return rule.gpu_scratch(make_op(kind, tuple(outputs), attrs), tuple(inputs), env)


def outputs_of(kind: str, inputs: list[Tensor], outputs: list[Tensor], attrs: dict | None = None) -> dict:
    rule = lookup(kind)
    assert rule is not None
    assert rule.gpu_outputs is not None
    return rule.gpu_outputs(make_op(kind, tuple(outputs), attrs), tuple(inputs), GPU)


def f32(*shape: int | None) -> Tensor:
    return make_tensor("float32", shape)


def f16(*shape: int | None) -> Tensor:
    return make_tensor("float16", shape)


def bf16(*shape: int | None) -> Tensor:
    return make_tensor("bfloat16", shape)


def test_softmax_holds_the_logits_twice() -> None:
    assert scratch("Softmax", [f32(10, 100)], [f32(10, 100)]) == [4000, 4000]
    assert scratch("Softmax", [f16(10, 100)], [f16(10, 100)]) == [2000, 4000]


def test_bias_gradient_only_in_nchw() -> None:
    assert scratch("BiasAddGrad", [f32(2, 8, 8, 4)], [f32(4)], {"data_format": "NHWC"}) == []
    assert scratch("BiasAddGrad", [f32(2, 4, 8, 8)], [f32(4)], {"data_format": "NCHW"}) == [2048]


def test_average_pool_gradient_makes_up_what_cudnn_asks_for() -> None:
    found = scratch("AvgPoolGrad", [make_tensor("int32", (4,)), f32(2, 4, 4, 4)], [f32(2, 4, 8, 8)])
    assert found == [2 * 4 * 8 * 8 * 4, 2 * 4 * 4 * 4 * 4]


def test_depthwise_filter_gradient_casts_float16_only() -> None:
    def of(kind: str) -> list[int | None]:
        x, dy, dw = (make_tensor(kind, shape) for shape in ((2, 8, 8, 4), (2, 8, 8, 4), (3, 3, 4, 1)))
        return scratch("DepthwiseConv2dNativeBackpropFilter", [x, make_tensor("int32", (4,)), dy], [dw])

    assert of("float16") == [2048, 2048, 144]
    assert of("float32") == []


class TestBatchNorm:
    """fused_batch_norm_op.cc: cuDNN computes in NCHW while training, and bfloat16 only where the card does."""

    @pytest.mark.parametrize(
        ("tensor", "attrs", "architecture", "found"),
        [
            (f32(2, 8, 8, 4), {"data_format": "NHWC", "is_training": True}, "8.0", [2048, 2048]),
            (f32(2, 4, 8, 8), {"data_format": "NCHW", "is_training": True}, "8.0", []),
            (f32(2, 8, 8, 4), {"data_format": "NHWC", "is_training": False}, "8.0", []),
            (f16(2, 8, 8, 4), {"data_format": "NHWC", "is_training": True}, "7.0", [1024, 1024]),
            (bf16(2, 8, 8, 4), {"data_format": "NHWC", "is_training": True}, "8.0", [1024, 1024]),
            (bf16(2, 8, 8, 4), {"data_format": "NHWC", "is_training": True}, "7.5", [2048] * 4),
            (bf16(2, 8, 8, 4), {"data_format": "NHWC", "is_training": False}, "7.5", [2048] * 2),
        ],
    )
    def test_copies(self, tensor: Tensor, attrs: dict, architecture: str, found: list[int]) -> None:
        env = Env(device="gpu", architecture=architecture)
        assert scratch("FusedBatchNormV3", [tensor], [tensor], attrs, env) == found

    def test_gradient_copies_three_tensors(self) -> None:
        x = f32(2, 8, 8, 4)
        assert scratch("FusedBatchNormGradV3", [x, x], [x], {"data_format": "NHWC"}) == [2048] * 3
        assert scratch("FusedBatchNormGradV3", [x, x], [x], {"data_format": "NCHW"}) == []

    def test_reserve_space_is_one_element(self) -> None:
        c = f32(4)
        unknown = make_tensor("float32", None)
        assert outputs_of("FusedBatchNormV3", [f16(2, 8, 8, 4)], [f16(2, 8, 8, 4), c, c, c, c, unknown]) == {5: 4}


class TestCudnnRnn:
    """Reserve space, from the two sizes that are published; the workspace is unknown."""

    @pytest.mark.parametrize(("mode", "published"), [("lstm", 736_000_000), ("gru", 864_000_000)])
    def test_published_sizes(self, mode: str, published: int) -> None:
        x, state = f32(500, 50, 123), f32(4, 50, 320)  # 4 layers of 320 units on 123 features, 25,000 steps
        assert outputs_of("CudnnRNNV2", [x, state], [], {"rnn_mode": mode}) == {3: published}

    def test_batch_major_states_have_their_layers_second(self) -> None:
        x, state = f32(32, 100, 16), f32(32, 1, 64)
        found = outputs_of("CudnnRNNV3", [x, state], [], {"rnn_mode": "lstm", "time_major": False})
        assert found == {3: 32 * 100 * 64 * 5 * 4}

    def test_two_directions_keep_twice_as_much(self) -> None:
        x, state = f16(100, 32, 16), f16(2, 32, 64)
        found = outputs_of("CudnnRNNV3", [x, state], [], {"rnn_mode": "gru", "direction": "bidirectional"})
        assert found == {3: 2 * 32 * 100 * 64 * 6 * 2}

    def test_inference_keeps_nothing(self) -> None:
        assert outputs_of("CudnnRNNV3", [f32(9, 2, 4), f32(1, 2, 8)], [], {"is_training": False}) == {3: 0}

    def test_other_networks_are_unknown(self) -> None:
        assert outputs_of("CudnnRNNV3", [f32(9, 2, 4), f32(1, 2, 8)], [], {"rnn_mode": "rnn_tanh"}) == {3: None}

    @pytest.mark.parametrize("kind", ["CudnnRNNV3", "CudnnRNNBackpropV3"])
    def test_workspace_is_unknown(self, kind: str) -> None:
        assert scratch(kind, [f32(9, 2, 4)], [f32(9, 2, 8)]) == [None]
