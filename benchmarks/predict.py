"""What graphmem says of steps, in the executor's default order and in its deterministic one.

    python benchmarks/predict.py [--threads N] [--deterministic] FILE:NAME ...

Prints one line of JSON per target: `{"default": report, "deterministic": report}`, or `{"error": …}`. Each target is
analysed in a process of its own, the model traced once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from benchmarks.forks import forked


def main() -> None:
    """Print the reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="+", metavar="FILE:NAME")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--deterministic", action="store_true", help="the deterministic order as well")
    given = parser.parse_args()
    import keras

    assert keras.layers.Dense  # imports what Keras imports late
    for target in given.targets:
        try:
            line = forked(reports, target, given.threads, given.deterministic)
        except RuntimeError as error:
            line = json.dumps({"error": str(error)})
        print(line, flush=True)


def reports(target: str, threads: int, deterministic: bool) -> str:
    """The reports of one target as JSON; the second order is simulated on the trace that the first one made."""
    import graphmem
    from graphmem.graph.store import save_trace

    report = graphmem.analyze(target, device="cpu", threads=threads, allocator="bfc")
    found: dict[str, Any] = {"default": json.loads(report.to_json())}
    if deterministic and report.simulation:
        with tempfile.TemporaryDirectory() as folder:
            trace = str(Path(folder, "step.graphmem"))
            save_trace(report.simulation.graph, trace)
            other = graphmem.analyze(trace, threads=threads, order="deterministic")
        found["deterministic"] = json.loads(other.to_json())
    return json.dumps(found)


if __name__ == "__main__":
    main()
