"""Sizes of a compiled program's allocations."""

from __future__ import annotations

from graphmem.xla.proto import parse


def temp_bytes(proto: bytes) -> int:
    """Bytes of the allocations that are temporary."""
    return sum(
        allocation.size
        for allocation in parse(proto).buffer_assignment.buffer_allocations
        if not (
            allocation.is_thread_local
            or allocation.is_entry_computation_parameter
            or allocation.is_constant
            or allocation.maybe_live_out
        )
    )
