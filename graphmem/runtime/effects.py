"""What each op of a graph does to memory, worked out once from the table of ops: sizes, views, forwarding, scratch.

Nothing here depends on an order, so all orders of a graph share it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from graphmem.graph.model import Op, StepGraph, Tensor
from graphmem.ops.registry import Env, Rule, lookup

COMPUTE, ARGUMENT, CONSTANT, VARIABLE, LIST, MERGE, OBJECT = range(7)

#: Elementwise ops that also take lists, element by element (variant_op_registry).
_ON_LISTS = frozenset({"AddN", "ZerosLike"})


class Made(NamedTuple):
    """What is known of a buffer before anything runs.

    Attributes:
        nbytes: its size; `None`: unknown.
        op: the op that asks for it.
        slot: the output it is for, or a mark for scratch and copies of variables.
        resident: whether it lives outside of the step.
        host: whether it is not in the memory of the device looked at.
    """

    nbytes: int | None
    op: int
    slot: int
    resident: bool
    host: bool


class Output(NamedTuple):
    """One output of an op.

    Attributes:
        slot: which.
        view: input position whose buffer it always shares, -1: none.
        takes: input positions whose buffer it may take over, in the order tried.
        made: a buffer of its own; of 0 bytes: it needs none.
    """

    slot: int
    view: int
    takes: tuple[int, ...]
    made: Made


@dataclass(slots=True)
class Effect:
    """What one op does to memory.

    Attributes:
        action: which of the kinds above.
        outputs: its outputs.
        scratch: (bytes, input position whose buffer it may use instead or -1) of each temporary.
        workspace: bytes that cuDNN takes besides.
        holds: whether it keeps its inputs to the end of the step (`_Retval`).
        rule: its row of the table, if any.
    """

    action: int
    outputs: list[Output]
    scratch: list[tuple[int | None, int]]
    holds: bool
    rule: Rule | None
    workspace: int = 0


def effects(graph: StepGraph, env: Env) -> list[Effect]:
    """The effect of each op on a device."""
    rules = {op_type: lookup(op_type) for op_type in {op.type for op in graph.ops}}
    return [_effect(graph, index, op, rules[op.type], env) for index, op in enumerate(graph.ops)]


def _effect(graph: StepGraph, index: int, op: Op, rule: Rule | None, env: Env) -> Effect:
    action = _action(op, rule)
    on_gpu = env.device == "gpu" and op.device == "gpu"
    elsewhere = env.device == "gpu" and not on_gpu
    resident = action in (ARGUMENT, CONSTANT)
    formula = None if rule is None else rule.gpu_scratch if on_gpu else rule.cpu_scratch
    if rule is None or not (rule.view_if or rule.forward or formula or rule.output_bytes or rule.gpu_outputs):
        views = dict(rule.view) if rule and rule.view else {}
        plain = [
            Output(slot, views.get(slot, -1), (), Made(tensor.nbytes, index, slot, resident, tensor.host or elsewhere))
            for slot, tensor in enumerate(op.outputs)
        ]
        return Effect(action, plain, [], op.type == "_Retval", rule)
    inputs = [graph.ops[producer].outputs[slot] for producer, slot in op.inputs]
    views = _views(op, rule, inputs)
    known: dict[int, int | None] = dict(rule.output_bytes)
    if on_gpu:
        known = rule.gpu_outputs(op, tuple(inputs), env) if rule.gpu_outputs else {}
    outputs = []
    for slot, tensor in enumerate(op.outputs):
        takes = _takes(rule, slot, tensor, inputs) if rule.forward and slot not in views else ()
        nbytes = known.get(slot) if tensor.nbytes is None else tensor.nbytes
        made = Made(nbytes, index, slot, resident, tensor.host or elsewhere)
        outputs.append(Output(slot, views.get(slot, -1), takes, made))
    scratch: list[tuple[int | None, int]] = []
    if formula:
        over = {} if on_gpu else dict(rule.scratch_over)
        sizes = formula(op, tuple(inputs), env)
        scratch = [(size, over.get(number, -1)) for number, size in enumerate(sizes) if size != 0]
    workspace = rule.workspace(op, tuple(inputs), env) if rule.workspace and on_gpu else 0
    return Effect(action, outputs, scratch, op.type == "_Retval", rule, workspace)


def _action(op: Op, rule: Rule | None) -> int:
    if op.type == "_Arg":
        return ARGUMENT
    if op.type == "Const":
        return CONSTANT
    if rule is None:
        return COMPUTE
    if rule.variable:
        return VARIABLE
    if "object" in rule.list_op:
        return OBJECT
    if rule.list_op or (op.type in _ON_LISTS and op.outputs and op.outputs[0].dtype == "variant"):
        return LIST
    return MERGE if rule.control == "merge" else COMPUTE


def _views(op: Op, rule: Rule, inputs: list[Tensor]) -> dict[int, int]:
    if rule.view_if is not None:
        source = rule.view_if(op, tuple(inputs))
        if source is not None:
            return dict.fromkeys(range(len(op.outputs)), source)
    return dict(rule.view)


def _takes(rule: Rule, slot: int, tensor: Tensor, inputs: list[Tensor]) -> tuple[int, ...]:
    """Inputs of the same dtype and size, among those that the kernel tries (`OpKernelContext::forward_input`)."""
    if not tensor.nbytes:
        return ()
    for forwarded, places in rule.forward:
        if forwarded == slot:
            tried: Iterable[int] = range(len(inputs)) if places == (-1,) else places
            return tuple(
                place
                for place in tried
                if place < len(inputs) and inputs[place].nbytes == tensor.nbytes and inputs[place].dtype == tensor.dtype
            )
    return ()
