"""Recurrent layers as one op: TensorFlow's block cells; for cuDNN's networks see `gpu_recurrent`."""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Env, Rule, register
from graphmem.ops.sizes import itemsize, known, times


def _sizes(inputs: tuple[Tensor, ...], x: int, state: int) -> tuple[int | None, int | None]:
    """Bytes of a batch of inputs joined with a state, and of a batch of states."""
    given, shape, item = known(inputs[x].shape), known(inputs[state].shape), itemsize(inputs[state].dtype)
    if not given or not shape:
        return None, None
    return times(shape[0], given[-1] + shape[1], item), times(*shape, item)


def lstm_block(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The input joined with the state, and the four gates of one time step."""
    joined, state = _sizes(inputs, *((1, 3) if op.type.startswith("Block") else (0, 2)))
    return [joined, times(state, 4)]


def lstm_block_gradient(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The input joined with the state and its gradient, four gates, and seven gradients of a state."""
    joined, state = _sizes(inputs, 1, 3)
    return [joined, joined, times(state, 4), *[state] * 7]


def lstm_cell_gradient(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """Five gradients of a state."""
    return [_sizes(inputs, 0, 2)[1]] * 5


def gru_cell(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The input joined with the state, and with the state that the reset gate lets through; two gates."""
    joined, state = _sizes(inputs, 0, 1)
    return [joined, joined, times(state, 2)]


def gru_cell_gradient(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """Two gradients of the input joined with a state, and three of a state."""
    joined, state = _sizes(inputs, 0, 1)
    return [joined, joined, state, state, state]


register("BlockLSTM BlockLSTMV2", Rule(cpu_scratch=lstm_block, source="lstm_ops.cc: measured"))
register("BlockLSTMGrad BlockLSTMGradV2", Rule(cpu_scratch=lstm_block_gradient, source="lstm_ops.cc: measured"))
register("LSTMBlockCell", Rule(forward=((0, (2,)), (3, (1,))), cpu_scratch=lstm_block, source="lstm_ops.cc: measured"))
register(
    "LSTMBlockCellGrad", Rule(forward=((0, (14,)),), cpu_scratch=lstm_cell_gradient, source="lstm_ops.cc: measured")
)
register("GRUBlockCell", Rule(forward=((0, (1,)),), cpu_scratch=gru_cell, source="gru_ops.cc: measured"))
register(
    "GRUBlockCellGrad",
    Rule(forward=((0, (0,)), (1, (1,))), cpu_scratch=gru_cell_gradient, source="gru_ops.cc: measured"),
)
register(
    "CudnnRNN CudnnRNNV2 CudnnRNNV3 CudnnRNNBackprop CudnnRNNBackpropV2 CudnnRNNBackpropV3",
    Rule(source="cudnn_rnn_ops.cc: workspace and reserve space are cuDNN's to decide"),
)
register(
    "CudnnRNNParamsSize CudnnRNNParamsToCanonical CudnnRNNParamsToCanonicalV2 CudnnRNNCanonicalToParams"
    " CudnnRNNCanonicalToParamsV2",
    Rule(source="cudnn_rnn_ops.cc"),
)
