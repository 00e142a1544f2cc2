"""Measure steps with TensorFlow's own allocator: what each really allocates, tensor by tensor.

    python benchmarks/record.py [--order deterministic] FILE:NAME ...

`NAME()` in FILE returns `(step, args)`: a `tf.function` and the tensors it is called with; NAME may be a call with
literals. The step runs twice on the CPU; the second call is the one measured. The CPU device is put on TensorFlow's BFC
allocator, whose requests and releases the profiler then reports with op, size and address. One inter-op thread, two
intra-op threads, oneDNN off. Prints one line of JSON per target, or `{"error": ...}`; each is a process of its own.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.forks import forked

#: Bytes that TensorFlow may take for the CPU device before an allocation fails.
LIMIT_MB = 12_000
INTRA_OP_THREADS = 2
#: Buffers named in the list of what is alive at the peak: at most so many, and none below that part of the peak.
TOP, LEAST = 60, 0.003


def main() -> None:
    """Measure the steps that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="+", metavar="FILE:NAME")
    parser.add_argument("--order", choices=["default", "deterministic"], default="default")
    given = parser.parse_args()
    prepare(given.order)
    for target in given.targets:
        try:
            result = forked(measure, target)
        except RuntimeError as error:
            result = {"error": str(error)}
        print(json.dumps(result), flush=True)


def prepare(order: str) -> None:
    """Say what TensorFlow reads from the environment when it is imported, and import it."""
    os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"
    os.environ["TF_CPU_BFC_MEM_LIMIT_IN_MB"] = str(LIMIT_MB)
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if order == "deterministic":
        os.environ["TF_DETERMINISTIC_ORDER"] = "1"
    import keras
    import tensorflow as tf

    assert keras.layers.Dense  # imports what Keras imports late
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(INTRA_OP_THREADS)


def measure(target: str) -> dict[str, Any]:
    """What one call of the step does to memory; sizes are requested bytes, before the allocator rounds them."""
    import tensorflow as tf

    made: list[Any] = []
    base = Replay()
    base.run(memory_events(profiled(lambda: made.extend(load(target)()))))
    step, args = made
    base.run(memory_events(profiled(lambda: step(*args))))
    replay = Replay()
    replay.run(memory_events(profiled(lambda: step(*args))))
    variables = step.get_concrete_function(*args).graph.variables
    alive = sorted(replay.at_peak, key=lambda event: -event["requested_bytes"])
    named = [event for event in alive[:TOP] if event["requested_bytes"] >= LEAST * replay.peak]
    return {
        "tensorflow": tf.__version__,
        "variables_bytes": sum(variable.shape.num_elements() * variable.dtype.size for variable in variables),
        "argument_bytes": sum(int(tf.size(arg)) * arg.dtype.size for arg in tf.nest.flatten(args)),
        "base_requested_bytes": base.now,
        "step_peak_bytes": replay.peak,
        "step_peak_temp_bytes": sum(e["requested_bytes"] for e in alive if e.get("region_type") == "temp"),
        "peak_op": alive and replay.peak_event.get("tf_op"),
        "bfc_peak_in_use_bytes": replay.most_in_use,
        "allocations": replay.allocations,
        "allocated_sum_bytes": replay.allocated,
        "top": [[e["requested_bytes"], e.get("tf_op"), e.get("region_type"), e.get("shape")] for e in named],
    }


def load(target: str) -> Callable[[], tuple[Any, tuple[Any, ...]]]:
    """What makes the step that "FILE:NAME" or "FILE:NAME(key=literal)" names; the file may import its neighbours."""
    file, _, name = target.rpartition(":")
    path = Path(file)
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    call = ast.parse(name, mode="eval").body
    if not isinstance(call, ast.Call):
        return getattr(module, name)
    given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
    return lambda: getattr(module, ast.unparse(call.func))(**given)


@dataclass
class Replay:
    """Allocations and releases added up in the order in which they happened.

    Attributes:
        now, alive: what is requested and not yet released (bytes).
        peak: the most that was requested and not yet released at one moment (bytes).
        at_peak: the allocations alive then; `peak_event` is the one that made the peak.
        most_in_use: the most that the allocator called in use, what lived before the step included (bytes).
        allocations, allocated: how many there were, and the sum of their bytes.
    """

    now: int = 0
    peak: int = 0
    at_peak: list[dict[str, Any]] = field(default_factory=list)
    peak_event: dict[str, Any] = field(default_factory=dict)
    most_in_use: int = 0
    allocations: int = 0
    allocated: int = 0
    alive: dict[int, dict[str, Any]] = field(default_factory=dict)

    def run(self, events: Iterable[dict[str, Any]]) -> None:
        """Follow the events; a release of what was allocated before them counts nothing."""
        for event in events:
            if not event["allocates"]:
                released = self.alive.pop(event["addr"], None)
                self.now -= released["requested_bytes"] if released else 0
                continue
            self.alive[event["addr"]] = event
            self.now += event["requested_bytes"]
            self.allocations += 1
            self.allocated += event["requested_bytes"]
            self.most_in_use = max(self.most_in_use, event["bytes_allocated"])
            if self.now > self.peak:
                self.peak, self.at_peak, self.peak_event = self.now, list(self.alive.values()), event


def profiled(run: Callable[[], Any]) -> Any:
    """What TensorFlow's profiler sees while `run` runs (an `XSpace`)."""
    import tensorflow as tf
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    with tempfile.TemporaryDirectory() as folder:
        options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=3, python_tracer_level=0)
        with tf.profiler.experimental.Profile(folder, options):
            run()
        space = xplane_pb2.XSpace()
        space.ParseFromString(next(Path(folder).glob("plugins/profile/*/*.xplane.pb")).read_bytes())
    return space


def memory_events(space: Any) -> list[dict[str, Any]]:
    """The allocator's events, in order of time: its statistics, and whether it `allocates`."""
    return [
        {"allocates": kind.startswith("MemoryA"), **_statistics(plane, event)}
        for kind, plane, event in _events(space)
        if kind.startswith(("MemoryAllocation", "MemoryDeallocation"))
    ]


def op_events(space: Any) -> list[str]:
    """The ops that ran, as NAME:TYPE, in order of time; the profiler sees no ops that are cheap for TensorFlow."""
    return [kind for kind, _, _ in _events(space) if ":" in kind]


def _events(space: Any) -> list[tuple[str, Any, Any]]:
    found = []
    for plane in space.planes:
        for line in plane.lines:
            for event in line.events:
                at = line.timestamp_ns * 1000 + event.offset_ps
                found.append((at, plane.event_metadata[event.metadata_id].name, plane, event))
    return [event[1:] for event in sorted(found, key=lambda event: event[0])]


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
