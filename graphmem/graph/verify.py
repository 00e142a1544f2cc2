"""What a legal `StepGraph` is, as a list of named laws; it shares no helper with the code that builds one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from graphmem.errors import InternalError
from graphmem.graph.model import DTYPE_BITS, MAKING, PHASES, ROLES, Op, StepGraph

Broken = tuple["Op | str", str]
"""Who broke a law (an op, or the name of a variable or argument), and how."""

Law = Callable[[StepGraph], Iterator[Broken]]

_RESIDENT_ROLES = ("weight", "optimizer state", "other state", "constant")
"""What a capture may be; a constant is a tensor that the traced function holds on to."""

_HANDLES = ("resource", "variant")


def verify(graph: StepGraph) -> None:
    """Check every law in order.

    Raises:
        InternalError: a law is broken; names the law, the op with its sources, and what is wrong.
    """
    for law, check in LAWS:
        for culprit, what in check(graph):
            who = culprit if isinstance(culprit, str) else _describe(graph, culprit)
            raise InternalError(f"the graph breaks the law {law!r}: {who}: {what}")


def _describe(graph: StepGraph, op: Op) -> str:
    """`op 'a' (MatMul of 'x':0, 'w':0, after 'c')`, whatever is wrong with the indices."""

    def name(index: int) -> str:
        return repr(graph.ops[index].name) if 0 <= index < len(graph.ops) else f"#{index}"

    sources = ", ".join(f"{name(producer)}:{slot}" for producer, slot in op.inputs) or "nothing"
    controls = ", ".join(name(index) for index in op.controls)
    return f"op {op.name!r} ({op.type} of {sources}{', after ' if controls else ''}{controls})"


def _names_unique(graph: StepGraph) -> Iterator[Broken]:
    seen: set[str] = set()
    for op in graph.ops:
        if not op.name or not op.type:
            yield op, "its name or its type is empty"
        if op.name in seen:
            yield op, "another op has the same name"
        seen.add(op.name)


def _inputs_exist(graph: StepGraph) -> Iterator[Broken]:
    slots = [len(op.outputs) for op in graph.ops]
    for op in graph.ops:
        for position, (producer, slot) in enumerate(op.inputs):
            if not 0 <= producer < len(slots):
                yield op, f"input {position} names op #{producer} of {len(slots)}"
            elif not 0 <= slot < slots[producer]:
                yield op, f"input {position} reads output {slot} of an op that has {slots[producer]}"


def _controls_exist(graph: StepGraph) -> Iterator[Broken]:
    for op in graph.ops:
        for index in op.controls:
            if not 0 <= index < len(graph.ops):
                yield op, f"a control input names op #{index} of {len(graph.ops)}"


def _acyclic(graph: StepGraph) -> Iterator[Broken]:
    """Kahn's algorithm, leaving out the back edges of while loops (NextIteration to Merge)."""
    readers: list[list[int]] = [[] for _ in graph.ops]
    waiting = [0] * len(graph.ops)
    back = {index for index, op in enumerate(graph.ops) if op.type in ("NextIteration", "RefNextIteration")}
    for index, op in enumerate(graph.ops):
        merge = op.type in ("Merge", "RefMerge")
        for producer in [producer for producer, _ in op.inputs] + list(op.controls):
            if merge and producer in back:
                continue
            readers[producer].append(index)
            waiting[index] += 1
    ready = [index for index, count in enumerate(waiting) if count == 0]
    for index in ready:
        for reader in readers[index]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                ready.append(reader)
    for index, count in enumerate(waiting):
        if count:
            yield graph.ops[index], "it waits for itself, directly or through other ops"


def _labels_known(graph: StepGraph) -> Iterator[Broken]:
    for op in graph.ops:
        if op.phase not in PHASES:
            yield op, f"its phase is {op.phase!r}"
        if op.role not in ROLES:
            yield op, f"its role is {op.role!r}"
        if op.device not in ("cpu", "gpu"):
            yield op, f"its device is {op.device!r}"


def _size_error(dtype: str, shape: Any, nbytes: Any) -> str:
    """What is wrong with the size of a dense tensor, or ""."""
    if not dtype:
        return "its dtype is empty"
    if shape is not None and any(dim is not None and not 0 <= dim < 2**63 for dim in shape):
        return f"its shape is {list(shape)}"
    if nbytes is None:
        return ""
    bits = DTYPE_BITS.get(dtype)
    known = bits is not None and shape is not None and None not in shape
    right = 0 if dtype in _HANDLES else -(-math.prod(shape) * (bits or 0) // 8) if known else None
    if nbytes == right:
        return ""
    text = "unknown" if right is None else f"{right} bytes"
    return f"it claims {nbytes} bytes; {dtype} of shape {'unknown' if shape is None else list(shape)} is {text}"


def _sizes_agree(graph: StepGraph) -> Iterator[Broken]:
    seen: dict[Any, str] = {}
    for op in graph.ops:
        for slot, tensor in enumerate(op.outputs):
            key = (tensor.dtype, tensor.shape, tensor.nbytes)
            if key not in seen:
                seen[key] = _size_error(*key)
            if seen[key]:
                yield op, f"output {slot}: {seen[key]}"
    for kind, items in (("variable", graph.variables), ("argument", graph.arguments)):
        for item in items:
            error = _size_error(item.dtype, item.shape, item.nbytes)
            if error:
                yield f"{kind} {item.name!r}", error


def _args_refer(graph: StepGraph) -> Iterator[Broken]:
    held = {"variable": len(graph.variables), "argument": len(graph.arguments)}
    for op in graph.ops:
        if "_arg" not in op.attrs:
            continue
        match op.attrs["_arg"]:
            case (str(kind), int(index)) if kind in held:
                if not 0 <= index < held[kind]:
                    yield op, f"it stands for {kind} {index} of {held[kind]}"
            case other:
                yield op, f"its _arg is {other!r}"


def _variables_owned(graph: StepGraph) -> Iterator[Broken]:
    names = {variable.name for variable in graph.variables}
    for variable in graph.variables:
        who = f"variable {variable.name!r}"
        if variable.role not in _RESIDENT_ROLES:
            yield who, f"its role is {variable.role!r}"
        if variable.slot_of and variable.slot_of not in names:
            yield who, f"it is a slot of {variable.slot_of!r}, which is no variable of the step"


def _made_once(graph: StepGraph) -> Iterator[Broken]:
    numbers = [one.variable for one in graph.made if one.variable >= 0]
    if len(set(numbers)) < len(numbers):
        yield "the program", "it makes a variable twice"
    for place, one in enumerate(graph.made):
        if not -1 <= one.variable < len(graph.variables) or one.nbytes < 0:
            yield "the program", f"it makes {one.nbytes} bytes of variable {one.variable} of {len(graph.variables)}"
        if one.how not in MAKING or (one.how == "batch" and one.variable >= 0):
            yield "the program", f"it makes a variable in the way {one.how!r}"
        if one.until != -1 and not place < one.until <= len(graph.made):
            yield "the program", f"it drops variable {place} after {one.until} of {len(graph.made)}"
    if graph.kept_constants < 0:
        yield "the program", f"it keeps {graph.kept_constants} constants"


LAWS: tuple[tuple[str, Law], ...] = (
    ("names are unique", _names_unique),
    ("inputs exist", _inputs_exist),
    ("control inputs exist", _controls_exist),
    ("only loops have cycles", _acyclic),
    ("phases, roles and devices are known", _labels_known),
    ("sizes follow from dtype and shape", _sizes_agree),
    ("_arg names a variable or an argument", _args_refer),
    ("variables are resident and have a real owner", _variables_owned),
    ("variables are made once and dropped later", _made_once),
)
"""In this order: a law may rely on those above it (indices are in range before edges are followed)."""
