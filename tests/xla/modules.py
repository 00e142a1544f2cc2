"""Tiny compiled modules by hand: what XLA writes, with sizes that tell buffers apart.

Every array is a float32 vector; sizes are bytes. A module is built instruction by instruction, and so are its
allocations and the heap simulator's trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphmem.xla.compiled import CompiledHlo
from graphmem.xla.proto import parse

ALLOC, FREE, SHARE = range(3)
FLOAT, TUPLE, BYTES = 11, 13, 6

Sizes = int | list[Any]
"""Bytes of an array, or a list for a tuple."""


class Module:
    """One module; ids of instructions, computations and logical buffers are counted from 1."""

    def __init__(self) -> None:
        self.proto: Any = parse(b"")
        self.hlo = self.proto.hlo_module
        self.assignment = self.proto.buffer_assignment
        self.shapes: dict[int, Sizes] = {}
        self.trace: Any = None
        self.into: Any = None

    def computation(self, name: str, *, scheduled: bool = True) -> int:
        """Start a computation: the next instructions go into it, and into its schedule; the last is its root."""
        self.into = self.hlo.computations.add(name=name, id=len(self.hlo.computations) + 1)
        self.sequence = None
        if scheduled:
            self.sequence = self.hlo.schedule.sequences.add(key=self.into.id).value
            self.hlo.entry_computation_id = self.into.id
        return int(self.into.id)

    def op(
        self,
        name: str,
        opcode: str,
        shape: Sizes,
        operands: Sequence[int] = (),
        *,
        op_name: str = "",
        op_type: str = "",
        dtype: int = FLOAT,
        calls: Sequence[int] = (),
        **fields: Any,
    ) -> int:
        """Add an instruction; its id."""
        number = len(self.shapes) + 1
        item = self.into.instructions.add(name=name, opcode=opcode, id=number, operand_ids=operands, **fields)
        item.called_computation_ids.extend(calls)
        item.metadata.op_name, item.metadata.op_type = op_name, op_type
        _fill(item.shape, shape, dtype)
        self.shapes[number] = shape
        self.into.root_id = number
        if self.sequence is not None:
            self.sequence.instruction_ids.append(number)
        return number

    def allocation(self, size: int, *parts: tuple[int, int, int], **fields: Any) -> None:
        """Add an allocation; each part is (logical buffer, offset, size)."""
        made = self.assignment.buffer_allocations.add(
            index=len(self.assignment.buffer_allocations), size=size, **fields
        )
        for number, offset, part in parts:
            made.assigned.add(logical_buffer_id=number, offset=offset, size=part)

    def buffer(self, instruction: int, *index: int, size: int) -> int:
        """Define a logical buffer; its id."""
        number = len(self.assignment.logical_buffers) + 1
        made = self.assignment.logical_buffers.add(id=number, size=size)
        made.defined_at.instruction_id = instruction
        made.defined_at.shape_index.extend(index)
        return number

    def events(self, *events: tuple[int, int] | tuple[int, int, int]) -> None:
        """Add a trace of (kind, buffer) or (`SHARE`, buffer, the one that it is shared with)."""
        trace = self.assignment.heap_simulator_traces.add()
        for kind, number, *shared in events:
            trace.events.add(kind=kind, buffer_id=number, share_with_canonical_id=shared[0] if shared else 0)

    def alias(self, output: int, parameter: int) -> None:
        """Say that an element of the result is written over a parameter."""
        self.hlo.input_output_alias.entries.add(output_shape_index=[output], parameter_number=parameter)

    def compiled(self, platform: str = "gpu") -> CompiledHlo:
        """What a compiler would hand over."""
        return CompiledHlo(self.proto.SerializeToString(), platform, "a card", "a compiler 1.0", (), None, 0.0)


def _fill(shape: Any, sizes: Sizes, dtype: int) -> None:
    if isinstance(sizes, list):
        shape.element_type = TUPLE
        for inner in sizes:
            _fill(shape.tuple_shapes.add(), inner, dtype)
    else:
        shape.element_type = dtype
        shape.dimensions.append(sizes // (1 if dtype == BYTES else 4))


def training_step() -> Module:
    """`y = relu(x @ w)`, its gradient, and the update of w: a step that updates a variable in place.

    x: 128 bytes, w: 256, y: 512. The gradient `dw` is made in `dy`'s place, which is of the same size here for that
    purpose; the result is the loss, of 4 bytes.
    """
    made = Module()
    made.computation("step")
    x = made.op("x", "parameter", 128, parameter_number=0, op_name="XLA_Args")
    w = made.op("w", "parameter", 256, parameter_number=1, op_name="XLA_Args")
    y = made.op("y", "dot", 512, [x, w], op_name="model_1/dense_1/MatMul", op_type="MatMul")
    dy = made.op("dy", "multiply", 256, [y], op_name="gradient_tape/model_1/dense_1/Mul", op_type="Mul")
    dw = made.op("dw", "add", 256, [dy], op_name="gradient_tape/model_1/dense_1/MatMul/MatMul_1", op_type="MatMul")
    loss = made.op("loss", "reduce", 4, [y], op_name="loss/Sum", op_type="Sum")
    new = made.op("new", "subtract", 256, [w, dw], op_name="sgd/AssignSubVariableOp", op_type="AssignSubVariableOp")
    root = made.op("root", "tuple", [4, 256], [loss, new])
    made.alias(1, 1)
    b = [
        made.buffer(item, size=size)
        for item, size in ((x, 128), (w, 256), (y, 512), (dy, 256), (dw, 256), (loss, 4), (new, 256), (root, 16))
    ]
    made.allocation(128, (b[0], 0, 128), is_entry_computation_parameter=True, parameter_number=0)
    made.allocation(
        256, (b[1], 0, 256), (b[6], 0, 256), is_entry_computation_parameter=True, parameter_number=1,
        maybe_live_out=True,
    )  # fmt: skip
    made.allocation(4, (b[5], 0, 4), maybe_live_out=True)
    made.allocation(16, (b[7], 0, 16), maybe_live_out=True)
    made.allocation(1024, (b[2], 0, 512), (b[3], 512, 256), (b[4], 512, 256))
    made.events((ALLOC, b[2]), (ALLOC, b[3]), (FREE, b[3]), (SHARE, b[4], b[3]), (FREE, b[2]), (FREE, b[4]))
    return made


def loop() -> Module:
    """A loop that doubles what it carries, and counts.

    The loop carries a counter (4 bytes) and a value (64); its body makes a temporary of 32. All that is carried stays
    in one place; the loop's parameters are defined when its computations start.
    """
    made = Module()
    condition = made.computation("condition")
    c_in = made.op("c_in", "parameter", [4, 64])
    c_count = made.op("c_count", "get-tuple-element", 4, [c_in], tuple_index=0)
    made.op("less", "compare", 4, [c_count])
    body = made.computation("body")
    b_in = made.op("b_in", "parameter", [4, 64])
    b_count = made.op("b_count", "get-tuple-element", 4, [b_in], tuple_index=0)
    b_value = made.op("b_value", "get-tuple-element", 64, [b_in], tuple_index=1)
    half = made.op("half", "slice", 32, [b_value], op_name="model/while/half")
    count = made.op("count", "add", 4, [b_count], op_name="model/while/count")
    value = made.op("value", "dynamic-update-slice", 64, [b_value, half], op_name="model/while/value")
    made.op("b_out", "tuple", [4, 64], [count, value])
    made.computation("step")
    x = made.op("x", "parameter", 64, parameter_number=0)
    zero = made.op("zero", "copy", 4, [x], op_name="model/zero")
    start = made.op("start", "copy", 64, [x], op_name="model/start")
    init = made.op("init", "tuple", [4, 64], [zero, start])
    loop = made.op("loop", "while", [4, 64], [init], calls=[body, condition], op_name="model/while")
    last = made.op("last", "get-tuple-element", 64, [loop], tuple_index=1)
    made.op("result", "negate", 64, [last], op_name="model/result")

    b = {
        name: made.buffer(item, *index, size=size)
        for name, item, index, size in (
            ("x", x, (), 64), ("zero", zero, (), 4), ("start", start, (), 64),
            ("c0", c_in, (0,), 4), ("c1", c_in, (1,), 64), ("b0", b_in, (0,), 4), ("b1", b_in, (1,), 64),
            ("half", half, (), 32), ("count", count, (), 4), ("value", value, (), 64),
            ("l0", loop, (0,), 4), ("l1", loop, (1,), 64), ("result", made.hlo.computations[2].root_id, (), 64),
        )
    }  # fmt: skip
    made.allocation(64, (b["x"], 0, 64), is_entry_computation_parameter=True, parameter_number=0)
    made.allocation(64, (b["result"], 0, 64), maybe_live_out=True)
    counters = [(b[name], 64, 4) for name in ("zero", "c0", "b0", "count", "l0")]
    values = [(b[name], 0, 64) for name in ("start", "c1", "b1", "value", "l1")]
    made.allocation(128, *counters, *values, (b["half"], 96, 32))
    made.events(
        (ALLOC, b["zero"]), (ALLOC, b["start"]),
        (SHARE, b["c0"], b["zero"]), (SHARE, b["c1"], b["start"]), (FREE, b["zero"]), (FREE, b["start"]),
        (SHARE, b["b0"], b["zero"]), (SHARE, b["b1"], b["start"]), (FREE, b["c0"]), (FREE, b["c1"]),
        (ALLOC, b["half"]), (SHARE, b["count"], b["zero"]), (FREE, b["b0"]),
        (SHARE, b["value"], b["start"]), (FREE, b["b1"]), (FREE, b["half"]),
        (SHARE, b["l0"], b["zero"]), (SHARE, b["l1"], b["start"]), (FREE, b["count"]), (FREE, b["value"]),
        (FREE, b["l0"]), (FREE, b["l1"]),
    )  # fmt: skip
    return made
