"""Normalisation and losses that have kernels of their own."""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Env, Rule, register
from graphmem.ops.sizes import copy_of, itemsize, times


def per_example(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """One number for each row of the logits."""
    shape = inputs[0].shape
    return [None] if not shape else [times(shape[0], itemsize(inputs[0].dtype))]


def batch_norm_grad(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """One number for each channel in training, two in inference; a float32 copy of a 16-bit image."""
    widened = [] if inputs[1].dtype == "float32" else [copy_of(inputs[1], "float32")]
    return [inputs[2].nbytes] * (1 if op.attrs.get("is_training", True) else 2) + widened


register(
    "SparseSoftmaxCrossEntropyWithLogits",
    Rule(
        forward=((1, (0,)),),
        cpu_scratch=per_example,
        gpu_scratch=per_example,
        scratch_first=True,
        source="sparse_xent_op.cc",
    ),
)
register(
    "SoftmaxCrossEntropyWithLogits",
    Rule(
        forward=((1, (0,)),),
        cpu_scratch=per_example,
        gpu_scratch=per_example,
        scratch_first=True,
        source="xent_op.cc",
    ),
)
register("BiasAddGrad", Rule(source="bias_op.cc: measured"))
register(
    "FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 _FusedBatchNormEx",
    Rule(forward=((1, (3,)), (2, (4,))), output_bytes=((5, 4),), source="fused_batch_norm_op.cc"),
)
register(
    "FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3",
    Rule(cpu_scratch=batch_norm_grad, output_bytes=((3, 0), (4, 0)), source="fused_batch_norm_op.cc"),
)
register("L2Loss", Rule(source="l2loss_op.cc"))
register("InTopK InTopKV2 TopK TopKV2 ApproxTopK", Rule(source="topk_op.cc: measured"))
register("CTCLoss CTCLossV2 CTCGreedyDecoder CTCBeamSearchDecoder", Rule(source="ctc_loss_op.cc"))
