"""How long a CPU kernel runs, roughly: only to tell which ops TensorFlow comes to run inline.

The executor keeps a moving average of each op's cycles, `estimate = 0.9 * estimate + 0.1 * cycles`, that starts at
100 million (executor.cc, `KernelStats`). An op whose estimate has fallen to 8,000 is no longer expensive: it runs
inline from then on, like an Identity, which changes the order. A cheap op needs some 90 runs for that: a step that has
run as often, or one loop of 90 iterations.

The rates are medians of profiled steps on server CPUs (about 2.4 GHz). What lies near 8,000 cycles goes either way,
from process to process and from op to op. Ops without a row are taken to be expensive unless they are small.
"""

from __future__ import annotations

from graphmem.graph.model import Op, StepGraph

INITIAL_CYCLES, EXPENSIVE_CYCLES, DECAY = 100_000_000, 8_000, 0.9

#: Cycles of any kernel: the call, and the allocation of its output.
_CALL = 600

#: Op types -> cycles per KiB of the largest tensor that they touch.
_PER_KIB = {
    "AddV2 Add Mul Neg Maximum Minimum ReluGrad Relu Relu6 Relu6Grad SigmoidGrad TanhGrad BiasAdd BiasAddGrad Abs"
    " ZerosLike OnesLike Less Greater LessEqual GreaterEqual Equal NotEqual LogicalAnd LogicalOr LogicalNot": 25,
    "Sub RealDiv Div DivNoNan Square Fill Cast ConcatV2 Sqrt Rsqrt Reciprocal AssignAddVariableOp AssignSubVariableOp"
    " AddN Slice StridedSlice Pack Unpack Select Transpose": 110,
    "Tanh Sigmoid Exp Log Log1p Expm1 Elu EluGrad Selu Softplus Erf Sin Cos Sum Mean Max Min Prod": 300,
    "SelectV2 GatherV2 Tile BroadcastTo Softmax ReverseV2": 900,
    "ReadVariableOp VariableShape TensorListPushBack TensorListPopBack TensorListGetItem TensorListSetItem"
    " TensorListElementShape TensorListLength TensorListReserve": 0,
}  # fmt: skip
_RATES = {op_type: rate for types, rate in _PER_KIB.items() for op_type in types.split()}
_OTHER = 2_000
_OUTPUT = 1_500  # each further output of a kernel with several


def cycles(op: Op, graph: StepGraph) -> float | None:
    """Cycles of one run of an op's kernel on a CPU; `None` if unknown, as for what computes with whole lists."""
    rate = _RATES.get(op.type, _OTHER)
    if not rate:
        return _CALL
    if any(tensor.dtype == "variant" for tensor in op.outputs):
        return None
    sizes = [tensor.nbytes for tensor in op.outputs]
    sizes += [graph.ops[producer].outputs[slot].nbytes for producer, slot in op.inputs]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    return _CALL + _OUTPUT * max(0, len(op.outputs) - 1) + rate * max(known, default=0) / 1024


def stays_expensive(per_run: float, runs: int) -> bool:
    """Whether an op that may be expensive still counts as that after so many runs of so many cycles each."""
    if per_run > EXPENSIVE_CYCLES:
        return True
    left = DECAY**runs
    return INITIAL_CYCLES * left + per_run * (1 - left) > EXPENSIVE_CYCLES
