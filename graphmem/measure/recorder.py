"""What TensorFlow's allocator does while something runs, as the profiler reports it."""

from __future__ import annotations

import re
import tempfile
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphmem.measure.events import Event

_ALLOCATION, _RELEASE = "MemoryAllocation", "MemoryDeallocation"
_KERNEL = re.compile(r"([^:]+):\w+")
"""How the profiler names a kernel that runs: the op and its type."""


def record(run: Callable[[], Any]) -> list[Event]:
    """The events of the CPU device's allocator while `run` runs, in the order of time.

    The allocator hears no name of what a kernel asks for besides its outputs: that is the kernel's which runs in the
    same thread then.

    Only TensorFlow's BFC allocator reports any: `TF_CPU_ALLOCATOR_USE_BFC=true` when TensorFlow is imported.
    """
    import tensorflow as tf
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    with tempfile.TemporaryDirectory() as folder:
        options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=3, python_tracer_level=0)
        with tf.profiler.experimental.Profile(folder, options):
            run()
        space = xplane_pb2.XSpace()
        space.ParseFromString(next(Path(folder).glob("plugins/profile/*/*.xplane.pb")).read_bytes())
    found = []
    for plane in space.planes:
        kinds = {key: value.name for key, value in plane.event_metadata.items()}
        names = {key: value.name for key, value in plane.stat_metadata.items()}
        for line in plane.lines:
            kernels = sorted(
                (event.offset_ps, event.offset_ps + event.duration_ps, match[1])
                for event in line.events
                if (match := _KERNEL.fullmatch(kinds[event.metadata_id]))
            )
            for event in line.events:
                kind = kinds[event.metadata_id]
                if kind.startswith((_ALLOCATION, _RELEASE)):
                    made = _event(kind.startswith(_ALLOCATION), _statistics(event, names))
                    if made.allocates and not made.op:
                        made = made._replace(op=_running(kernels, event.offset_ps))
                    found.append((line.timestamp_ns * 1000 + event.offset_ps, made))
    return [event for _, event in sorted(found, key=lambda item: item[0])]


def _running(kernels: list[tuple[int, int, str]], time: int) -> str:
    """The op whose kernel runs at a time, "" if none does; a thread runs one after another."""
    place = bisect_right(kernels, time, key=lambda kernel: kernel[0]) - 1
    return kernels[place][2] if place >= 0 and time < kernels[place][1] else ""


def _event(allocates: bool, values: dict[str, Any]) -> Event:
    address, requested, granted, in_use = (
        int(values.get(name, 0)) for name in ("addr", "requested_bytes", "allocation_bytes", "bytes_allocated")
    )
    return Event(allocates, address, requested, granted, in_use, str(values.get("tf_op", "")))


def _statistics(event: Any, names: dict[int, str]) -> dict[str, Any]:
    """The event's statistics by name; texts are kept once per profile, as names."""
    values = {}
    for stat in event.stats:
        kind = stat.WhichOneof("value")
        value = getattr(stat, kind)
        values[names[stat.metadata_id]] = names[value] if kind == "ref_value" else value
    return values
