"""Steps run under TensorFlow's own allocator, many in one child process, and read back beside their traces.

As a script (`python -m tests.measure.recorded MODULE FOLDER NAME ...`) it is that child: MODULE has `STEPS`, a dict of
name -> function without arguments that returns (a Keras model or a `tf.function`, the tensors of a step).
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from graphmem.graph.model import StepGraph
from graphmem.graph.store import load_trace, save_trace
from graphmem.measure.events import Event, Replay, replay

THREADS = 2
"""Intra-op threads of the child."""

Recorded = dict[str, tuple[StepGraph, Replay] | str]
"""Trace and allocations by name of the step, or how it failed."""


def record_all(module: str, names: list[str]) -> Recorded:
    """Trace and run the named steps of a module in one process.

    Raises:
        AssertionError: the process failed; the message is the end of what it wrote.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = dict(
            os.environ,
            TF_CPP_MIN_LOG_LEVEL="3",
            TF_CPU_ALLOCATOR_USE_BFC="true",
            TF_CPU_BFC_MEM_LIMIT_IN_MB="4000",
            TF_ENABLE_ONEDNN_OPTS="0",
            CUDA_VISIBLE_DEVICES="-1",
        )
        command = [sys.executable, "-m", __name__, module, name, *names]
        root = Path(__file__).parents[2]
        done = subprocess.run(
            command, env=environment, cwd=root, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        found: Recorded = {}
        for step in names:
            if (failed := folder / f"{step}.error").exists():
                found[step] = failed.read_text()
                continue
            events = [Event(*row) for row in json.loads((folder / f"{step}.json").read_text())]
            found[step] = load_trace(str(folder / f"{step}.graphmem")), replay(events)
        return found


def main(module: str, folder: str, *names: str) -> None:
    """Leave the trace and the events of each step in a folder."""
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    steps = importlib.import_module(module).STEPS
    for name in names:
        try:
            graph, events = record_one(*steps[name]())
        except Exception:
            Path(folder, f"{name}.error").write_text(traceback.format_exc())
            continue
        save_trace(graph, str(Path(folder, f"{name}.graphmem")))
        Path(folder, f"{name}.json").write_text(json.dumps(events))


def record_one(target: Any, args: tuple[Any, ...]) -> tuple[StepGraph, list[Event]]:
    """The trace of a step and what the allocator did the second time that it ran.

    Args:
        target: a Keras model, or a `tf.function`.
        args: tensors: the batch of the model's step, or the function's arguments.
    """
    import tensorflow as tf

    from graphmem.measure.recorder import record
    from graphmem.runtime.element_shapes import element_shapes
    from graphmem.target.objects import step_of_object
    from graphmem.target.step import Options
    from graphmem.target.weightless import ordinary
    from graphmem.trace.tracer import trace

    with ordinary():
        step = step_of_object((target, args), Options(), "step", set())
        if not isinstance(step.function, tf.types.experimental.PolymorphicFunction):
            step.function = tf.function(step.function)
        graph = trace(step, elements=element_shapes)
        concrete = step.function.get_concrete_function(*step.args, **step.kwargs)
    own = step.args if _has_iterator(step.args) else args
    tensors = [item for item in tf.nest.flatten(own, expand_composites=True) if isinstance(item, tf.Tensor)]

    def run() -> None:
        with tf.device("/device:CPU:0"):
            concrete._inference_function.call_flat(*tensors, *concrete.captured_inputs)

    run()
    return graph, record(run)


def _has_iterator(args: Any) -> bool:
    import tensorflow as tf

    return any(isinstance(item, tf.data.Iterator) for item in args)


if __name__ == "__main__":
    main(*sys.argv[1:])
