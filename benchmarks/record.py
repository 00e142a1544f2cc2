"""Measure one step with TensorFlow's own allocator: what it really allocates, tensor by tensor.

    python benchmarks/record.py FILE:NAME [-o OUT.json] [--order deterministic]

`NAME()` in FILE returns `(step, args)`: a `tf.function` and the tensors it is called with. The step runs twice on the
CPU; the second call is the one measured. The CPU device is put on TensorFlow's BFC allocator, whose requests and
releases the profiler then reports with op, size and address. One inter-op thread, two intra-op threads, oneDNN off.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Bytes that TensorFlow may take for the CPU device before an allocation fails.
LIMIT_MB = 12_000
INTRA_OP_THREADS = 2
#: Buffers named in the list of what is alive at the peak.
TOP = 40


def main() -> None:
    """Measure the step that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("target", metavar="FILE:NAME")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--order", choices=["default", "deterministic"], default="default")
    given = parser.parse_args()
    path, _, name = given.target.rpartition(":")
    prepare(given.order)
    text = json.dumps(measure(Path(path), name), indent=1) + "\n"
    if given.output:
        given.output.write_text(text)
    else:
        sys.stdout.write(text)


def prepare(order: str) -> None:
    """Say what TensorFlow reads from the environment when it is imported, and import it."""
    os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"
    os.environ["TF_CPU_BFC_MEM_LIMIT_IN_MB"] = str(LIMIT_MB)
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if order == "deterministic":
        os.environ["TF_DETERMINISTIC_ORDER"] = "1"
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(INTRA_OP_THREADS)


def measure(path: Path, name: str) -> dict[str, Any]:
    """What one call of the step does to memory; all sizes are requested bytes, before the allocator rounds them."""
    import tensorflow as tf

    step, args = load(path, name)()
    step(*args)
    replay = Replay()
    replay.run(memory_events(lambda: step(*args)))
    variables = step.get_concrete_function(*args).graph.variables
    alive = sorted(replay.at_peak, key=lambda event: -event["requested_bytes"])
    return {
        "tensorflow": tf.__version__,
        "variables_bytes": sum(variable.shape.num_elements() * variable.dtype.size for variable in variables),
        "argument_bytes": sum(int(tf.size(arg)) * arg.dtype.size for arg in tf.nest.flatten(args)),
        "step_peak_bytes": replay.peak,
        "step_peak_temp_bytes": sum(e["requested_bytes"] for e in alive if e.get("region_type") == "temp"),
        "peak_op": alive and replay.peak_event.get("tf_op"),
        "bfc_peak_in_use_bytes": replay.most_in_use,
        "allocations": replay.allocations,
        "allocated_sum_bytes": replay.allocated,
        "top": [[e["requested_bytes"], e.get("tf_op"), e.get("region_type"), e.get("shape")] for e in alive[:TOP]],
    }


def load(path: Path, name: str) -> Callable[[], tuple[Any, tuple[Any, ...]]]:
    """The function of a file by its name; the file may import its neighbours."""
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


@dataclass
class Replay:
    """Allocations and releases added up in the order in which they happened.

    Attributes:
        peak: the most that was requested and not yet released at one moment (bytes).
        at_peak: the allocations alive then; `peak_event` is the one that made the peak.
        most_in_use: the most that the allocator called in use, what lived before the step included (bytes).
        allocations, allocated: how many there were, and the sum of their bytes.
    """

    peak: int = 0
    at_peak: list[dict[str, Any]] = field(default_factory=list)
    peak_event: dict[str, Any] = field(default_factory=dict)
    most_in_use: int = 0
    allocations: int = 0
    allocated: int = 0

    def run(self, events: Iterable[dict[str, Any]]) -> None:
        """Follow the events; a release of what was allocated before them counts nothing."""
        alive: dict[int, dict[str, Any]] = {}
        now = 0
        for event in events:
            if not event["allocates"]:
                released = alive.pop(event["addr"], None)
                now -= released["requested_bytes"] if released else 0
                continue
            alive[event["addr"]] = event
            now += event["requested_bytes"]
            self.allocations += 1
            self.allocated += event["requested_bytes"]
            self.most_in_use = max(self.most_in_use, event["bytes_allocated"])
            if now > self.peak:
                self.peak, self.at_peak, self.peak_event = now, list(alive.values()), event


def memory_events(run: Callable[[], Any]) -> list[dict[str, Any]]:
    """The allocator's events while `run` runs, in order of time: its statistics, and whether it `allocates`."""
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
        for line in plane.lines:
            for event in line.events:
                kind = plane.event_metadata[event.metadata_id].name
                if kind.startswith(("MemoryAllocation", "MemoryDeallocation")):
                    at = line.timestamp_ns * 1000 + event.offset_ps
                    found.append((at, {"allocates": kind.startswith("MemoryA"), **_statistics(plane, event)}))
    return [event for _, event in sorted(found, key=lambda item: item[0])]


def _statistics(plane: Any, event: Any) -> dict[str, Any]:
    values = {}
    for stat in event.stats:
        kind = stat.WhichOneof("value")
        value = getattr(stat, kind)
        values[plane.stat_metadata[stat.metadata_id].name] = (
            plane.stat_metadata[value].name if kind == "ref_value" else value
        )
    return values


if __name__ == "__main__":
    main()
