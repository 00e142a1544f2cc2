"""What a report says of the allocator: its count of the bytes in use, and whether a limit is enough."""

from __future__ import annotations

from typing import Any

from graphmem.graph.model import StepGraph
from graphmem.runtime.allocations import Allocations
from graphmem.runtime.replay import Failure
from graphmem.units import format_bytes

#: What fails, by `Failure.step`.
_WHEN = ("making the variables", "the first step", "a step after the first")


def allocator_fields(graph: StepGraph, allocations: Allocations | None) -> dict[str, Any]:
    """`Report.allocator`: see `docs/json.md` for its keys."""
    if allocations is None:
        return {
            "name": "exact", "limit_bytes": None, "base_in_use_bytes": None, "peak_in_use_bytes": None,
            "peak_in_use_range_bytes": None, "pool_bytes": None, "fragmentation": None, "fails": None,
            "failing_orders": 0,
        }  # fmt: skip
    typical = allocations.typical
    pooled = typical.name == "bfc"
    return {
        "name": typical.name,
        "limit_bytes": allocations.limit,
        "base_in_use_bytes": typical.base_bytes,
        "peak_in_use_bytes": typical.peak.bytes_in_use,
        "peak_in_use_range_bytes": list(allocations.range_bytes),
        "pool_bytes": typical.peak.pool_bytes if pooled else None,
        "fragmentation": round(typical.peak.fragmentation, 4) if pooled else None,
        "fails": None if typical.fails is None else _failure(graph, typical.fails),
        "failing_orders": allocations.failing,
    }


def _failure(graph: StepGraph, failure: Failure) -> dict[str, Any]:
    op = None if failure.op is None else graph.ops[failure.op]
    return {
        "when": _WHEN[failure.step],
        "op": op.name if op else "",
        "op_type": op.type if op else "",
        "scope": op.scope if op else "",
        "requested_bytes": failure.requested,
        "free_bytes": failure.free,
        "largest_free_bytes": failure.largest_free,
    }


def allocation_notes(graph: StepGraph, allocations: Allocations | None) -> list[str]:
    """Whether the limit is enough, in a sentence, if there is one."""
    if allocations is None or allocations.limit is None:
        return []
    limit = format_bytes(allocations.limit)
    of_orders = f"in {allocations.failing} of {allocations.orders} orders" if allocations.orders > 1 else ""
    failure = allocations.typical.fails
    if failure is None:
        unless = f", though not {of_orders}" if allocations.failing else ""
        return [f"{limit} are enough for the {allocations.typical.name} allocator{unless}"]
    op = None if failure.op is None else graph.ops[failure.op]
    place = f", at op {op.name} ({op.type})" if op else ""
    asks = f"asking for {format_bytes(failure.requested)} with {format_bytes(failure.free)} free"
    if failure.largest_free < failure.free:
        asks += f", {format_bytes(failure.largest_free)} of it in one piece"
    share = f" ({of_orders})" if of_orders and allocations.failing < allocations.orders else ""
    return [f"{limit} are not enough: {_WHEN[failure.step]} would raise ResourceExhaustedError{place}, {asks}{share}"]
