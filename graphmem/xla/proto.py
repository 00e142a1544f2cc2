"""The part of XLA's `hlo.proto`, `buffer_assignment.proto` and `xla_data.proto` that says who needs how much memory.

A compiled step is read without TensorFlow: see `graphmem.protos`.
"""

from __future__ import annotations

from typing import Any

from graphmem.errors import InternalError
from graphmem.protos import message_class

#: Message -> its fields, each "number name type"; a star marks a repeated field.
_MESSAGES = {
    "HloProto": "1 hlo_module HloModule, 3 buffer_assignment BufferAssignment",
    "HloModule": "1 name string, 3 computations* HloComputation, 6 entry_computation_id int64, 7 schedule HloSchedule,"
    " 8 input_output_alias HloInputOutputAlias",
    "HloComputation": "1 name string, 2 instructions* HloInstruction, 5 id int64, 6 root_id int64",
    "HloInstruction": "1 name string, 2 opcode string, 3 shape Shape, 7 metadata OpMetadata, 9 parameter_number int64,"
    " 13 tuple_index int64, 28 custom_call_target string, 35 id int64, 36 operand_ids* int64,"
    " 38 called_computation_ids* int64",
    "OpMetadata": "1 op_type string, 2 op_name string, 3 source_file string, 4 source_line int32",
    "Shape": "2 element_type int32, 3 dimensions* int64, 4 tuple_shapes* Shape, 5 layout Layout",
    "Layout": "7 element_size_in_bits int64",
    "HloSchedule": "1 sequences* Sequence",
    "Sequence": "1 key int64, 2 value InstructionSequence",
    "InstructionSequence": "1 instruction_ids* int64",
    "HloInputOutputAlias": "1 entries* AliasEntry",
    "AliasEntry": "1 output_shape_index* int64, 2 parameter_number int64, 3 parameter_shape_index* int64",
    "BufferAssignment": "1 logical_buffers* LogicalBuffer, 3 buffer_allocations* BufferAllocation,"
    " 4 heap_simulator_traces* HeapSimulatorTrace",
    "LogicalBuffer": "1 id int64, 2 size int64, 3 defined_at Location",
    "Location": "3 shape_index* int64, 4 instruction_id int64",
    "BufferAllocation": "1 index int64, 2 size int64, 3 is_thread_local bool, 5 is_entry_computation_parameter bool,"
    " 6 parameter_number int64, 7 maybe_live_out bool, 8 color int64, 9 assigned* Assigned,"
    " 10 parameter_shape_index* int64, 12 is_constant bool",
    "Assigned": "1 logical_buffer_id int64, 2 offset int64, 3 size int64",
    "HeapSimulatorTrace": "1 events* Event",
    "Event": "1 kind int32, 2 buffer_id int64, 5 share_with_canonical_id int64",
}


def parse(data: bytes) -> Any:
    """The `HloProto` that XLA wrote.

    Raises:
        InternalError: the bytes are none.
    """
    return _parse(data, "HloProto")


def parse_module(data: bytes) -> Any:
    """An `HloModuleProto`, as TensorFlow exports one; what is not in the table above stays in it, unseen.

    Raises:
        InternalError: the bytes are none.
    """
    return _parse(data, "HloModule")


def _parse(data: bytes, root: str) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return message_class(f"graphmem.xla.{root}", root, tuple(_MESSAGES.items())).FromString(data)
    except DecodeError as error:
        raise InternalError(f"what the XLA compiler wrote cannot be read as an {root}") from error
