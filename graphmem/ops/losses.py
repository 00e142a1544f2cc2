"""Normalisation and losses that have kernels of their own."""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.reductions import partial_sums
from graphmem.ops.registry import Env, Rule, register
from graphmem.ops.sizes import copy_of, itemsize, times


def per_example(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """One number for each row of the logits."""
    shape = inputs[0].shape
    return [None] if not shape else [times(shape[0], itemsize(inputs[0].dtype))]


def bias_grad(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """Partial sums, of float16 in float32; with channels first they are no tensor."""
    if op.attrs.get("data_format") == "NCHW":
        return []
    return channel_sums(inputs[0], "float32" if inputs[0].dtype == "float16" else inputs[0].dtype, env)


def channel_sums(tensor: Tensor, dtype: str, env: Env) -> list[int | None]:
    """The buffer for the sums over all axes but the last, if there is one."""
    if not tensor.shape:
        return [None]
    *rows, columns = tensor.shape
    numbers = partial_sums(times(*rows), columns, env.threads)
    return [] if numbers == 0 else [times(numbers, itemsize(dtype))]


def batch_norm_grad(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """One number for each channel in training, two in inference; a float32 copy of a 16-bit image; partial sums.

    The kernel asks for partial sums two or three times, and has dropped the last ones each time.
    """
    widened = [] if inputs[1].dtype == "float32" else [copy_of(inputs[1], "float32")]
    kept = [inputs[2].nbytes] * (1 if op.attrs.get("is_training", True) else 2)
    return kept + widened + channel_sums(inputs[1], "float32", env)


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
register("BiasAddGrad", Rule(cpu_scratch=bias_grad, source="bias_op.cc, redux_functor.h"))
register(
    "FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 _FusedBatchNormEx",
    Rule(forward=((1, (3,)), (2, (4,))), output_bytes=((5, 4),), source="fused_batch_norm_op.cc"),
)
register(
    "FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3",
    Rule(
        cpu_scratch=batch_norm_grad,
        output_bytes=((3, 0), (4, 0)),
        source="fused_batch_norm_op.cc, redux_functor.h",
    ),
)
register("L2Loss", Rule(source="l2loss_op.cc"))
register("InTopK InTopKV2 TopK TopKV2 ApproxTopK", Rule(source="topk_op.cc: measured"))
register("CTCLoss CTCLossV2 CTCGreedyDecoder CTCBeamSearchDecoder", Rule(source="ctc_loss_op.cc"))
