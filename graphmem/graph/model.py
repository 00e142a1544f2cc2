"""The nouns: what a traced step is, as plain data.

A `StepGraph` is what a runtime would execute: ops in the order of the executed GraphDef, each with the
tensors that it writes. Nothing here knows TensorFlow, a schedule, or how much is alive when.

The worked example of the tests and of docs/architecture.md is `y = relu(x @ w)` with its update of `w`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

ROLES = (
    "weight",
    "optimizer state",
    "other state",
    "input",
    "constant",
    "activation",
    "gradient",
    "update",
    "scratch",
    "output",
)
"""Why a buffer exists, in the order of every table and picture."""

PHASES = ("forward", "backward", "update")
"""When in the step an op runs."""

#: Bits of one element; `None`: the element has no fixed size (its tensors' sizes are unknown or tiny handles).
DTYPE_BITS: dict[str, int | None] = {
    "bool": 8, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64, "uint64": 64,
    "int4": 8, "uint4": 8, "int2": 8, "uint2": 8,  # one byte an element in TensorFlow's tensors, measured
    "float16": 16, "bfloat16": 16, "float32": 32, "float64": 64, "complex64": 64, "complex128": 128,
    "float8_e5m2": 8, "float8_e4m3fn": 8, "float8_e4m3fnuz": 8, "float8_e4m3b11fnuz": 8, "float8_e5m2fnuz": 8,
    "qint8": 8, "quint8": 8, "qint16": 16, "quint16": 16, "qint32": 32,
    "resource": None, "variant": None, "string": None,
}  # fmt: skip


def tensor_bytes(dtype: str, shape: tuple[int | None, ...] | None) -> int | None:
    """Bytes that a dense tensor of this dtype and shape holds; `None` where that is unknown.

    Handles (`resource`, `variant`) are references on the host and hold no tensor memory of their own: 0.

    >>> tensor_bytes("float32", (8, 3)), tensor_bytes("float32", (None, 3)), tensor_bytes("string", ())
    (96, None, None)
    """
    if dtype in ("resource", "variant"):
        return 0
    bits = DTYPE_BITS.get(dtype)
    if bits is None or shape is None:
        return None
    count = 1
    for dim in shape:
        if dim is None:
            return None
        count *= dim
    return (count * bits + 7) // 8


@dataclass(slots=True)
class Tensor:
    """One output of an op.

    Attributes:
        dtype: TensorFlow's name of the element type.
        shape: dimensions; `None` for one that the trace does not know, and for an unknown rank.
        nbytes: bytes that a buffer for it would hold; `None` if unknown.
        host: on a GPU, whether the tensor lives in host memory.
    """

    dtype: str
    shape: tuple[int | None, ...] | None
    nbytes: int | None
    host: bool = False


@dataclass(slots=True)
class Op:
    """One node of the executed graph.

    Attributes:
        name: the node's name, unique in the graph.
        type: the op type, such as `MatMul`.
        inputs: the tensors read: (index of the producing op, its output slot).
        controls: indices of the ops that must finish first without passing data.
        outputs: the tensors written.
        attrs: the attributes that memory rules read, as plain Python values. Eight keys are graphmem's own:
            `_arg` = ["variable" | "argument", index] on `_Arg` ops, `_value` = a small constant's value (nested lists),
            `_const_inputs` = input position as text -> the value of a small constant there, and `_folded` = true on a
            `Const` that TensorFlow makes of an op whose inputs are all constants, with that op's type in `_made_by`,
            `_from_replaced` = position as text of an input from an op that took another's place -> which one's,
            `_blocks` = bytes of each block that an `XlaLaunch` asks for besides its outputs, and `_ran_as` = the name
            that an op has in the function that it is in, where that is called and not inlined.
        scope: the model's path to the layer that made it, "" at the top.
        phase: one of `PHASES`.
        role: one of `ROLES`: why its output buffers exist.
        source: "file.py:12" of the user's code, or "".
        device: "cpu" or "gpu": where its kernel runs.
    """

    name: str
    type: str
    inputs: tuple[tuple[int, int], ...]
    controls: tuple[int, ...]
    outputs: tuple[Tensor, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    scope: str = ""
    phase: str = "forward"
    role: str = "activation"
    source: str = ""
    device: str = "cpu"


@dataclass(slots=True)
class Variable:
    """A variable that the step captures; resident before, during and after the step.

    Attributes:
        name: the variable's own path, such as `conv1/kernel`.
        role: "weight", "optimizer state" or "other state".
        trainable: whether the optimizer may change it.
        slot_of: for optimizer state, the name of the weight that it belongs to, "" if of none.
        scope: the layer that owns it.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None
    nbytes: int | None
    role: str = "weight"
    trainable: bool = True
    slot_of: str = ""
    scope: str = ""


@dataclass(slots=True)
class Argument:
    """An input tensor of the step; the caller holds it for the whole step."""

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None
    nbytes: int | None


MAKING = ("filled", "scaled", "drawn", "orthogonal", "given", "batch")
"""How initial values are made: filled with a number; ones times a number; random numbers, scaled and shifted; such a
matrix made orthogonal; a tensor that is there already. "batch" is no variable, but all the step's arguments."""


@dataclass(slots=True)
class Made:
    """A variable that the program made before the step, or its batch.

    Attributes:
        variable: its index in `StepGraph.variables`; -1: none of the step's, but dropped since, or small.
        nbytes: of its value.
        how: one of `MAKING`.
        until: how many of the variables listed had been made when it was dropped; -1: it was not.
    """

    variable: int
    nbytes: int
    how: str
    until: int = -1


@dataclass(slots=True)
class StepGraph:
    """A traced training step.

    Attributes:
        ops: in the order of the executed graph; `Op.inputs` and `Op.controls` index this list.
        variables: all that the step captures, and the model's own that it never reads.
        arguments: the step's inputs.
        info: what was traced and how, for the report: see `graphmem.trace.tracer.trace`.
        made: in order, the step's variables as far as it is known how they were made, those that were dropped, small
            ones that the step does not use, and the batch if it is known when it was made.
        kept_constants: how many small constants TensorFlow keeps of the traced function: see
            `graphmem.trace.kept_constants`.
    """

    ops: list[Op]
    variables: list[Variable] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    info: dict[str, Any] = field(default_factory=dict)
    made: list[Made] = field(default_factory=list)
    kept_constants: int = 0

    def __len__(self) -> int:
        return len(self.ops)

    def consumers(self) -> list[list[tuple[int, int, int]]]:
        """For each op, who reads it: (output slot, reading op, its input position), in trace order."""
        table: list[list[tuple[int, int, int]]] = [[] for _ in self.ops]
        for reader, op in enumerate(self.ops):
            for position, (producer, slot) in enumerate(op.inputs):
                table[producer].append((slot, reader, position))
        return table

    def tensors(self) -> Iterator[tuple[int, int, Tensor]]:
        """Every tensor as (op index, slot, tensor)."""
        for index, op in enumerate(self.ops):
            for slot, tensor in enumerate(op.outputs):
                yield index, slot, tensor
