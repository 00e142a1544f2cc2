"""What TensorFlow's allocator does while something runs, as the profiler reports it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphmem.measure.events import Event

_ALLOCATION, _RELEASE = "MemoryAllocation", "MemoryDeallocation"


def record(run: Callable[[], Any]) -> list[Event]:
    """The events of the CPU device's allocator while `run` runs, in the order of time.

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
            for event in line.events:
                kind = kinds[event.metadata_id]
                if kind.startswith((_ALLOCATION, _RELEASE)):
                    time = line.timestamp_ns * 1000 + event.offset_ps
                    found.append((time, _event(kind.startswith(_ALLOCATION), _statistics(event, names))))
    return [event for _, event in sorted(found, key=lambda item: item[0])]


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
