"""The parent's side of a measurement: what the process that runs the step is asked, and what its answer says."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path

from graphmem.errors import CheckFailed
from graphmem.graph.model import StepGraph
from graphmem.graph.store import load_trace
from graphmem.measure.child import TRACE
from graphmem.measure.children import ask
from graphmem.measure.events import Event, Replay, replay
from graphmem.target.step import Options
from graphmem.units import format_bytes

CHILD = "graphmem.measure.child"
"""The module that is run in a process of its own."""


@dataclass(frozen=True)
class Request:
    """What to measure.

    Attributes:
        target, options: as for the prediction.
        threads: intra-op threads.
        order: "default" or "deterministic".
        warmup: calls before the one that is recorded.
        timeout: seconds after which the process is ended.
        limit: bytes that TensorFlow may allocate.
        runtime: what runs the step: "graph" or "xla".
    """

    target: str
    options: Options
    threads: int
    order: str
    warmup: int
    timeout: float
    limit: int
    runtime: str = "graph"


@dataclass(frozen=True)
class Run:
    """One measured step.

    Attributes:
        replay: what the allocator did.
        graph: the step as it was traced in the process that ran it: op names agree with the events; `None` for one
            that XLA compiled.
        variables_bytes, argument_bytes: what the step's variables and inputs hold.
        seconds: how long the recorded call took.
        versions: of TensorFlow.
    """

    replay: Replay
    graph: StepGraph | None
    variables_bytes: int
    argument_bytes: int
    seconds: float
    versions: dict[str, str]


def measure(request: Request) -> Run:
    """Run a step in a process of its own, which leaves nothing behind, however it ends.

    Raises:
        CheckFailed: the process was killed, crashed, ran out of memory or time, or allocated nothing.
        TargetError, UserCodeError: as when the target is analysed; the step raised when it ran.
    """
    graphs: list[StepGraph] = []

    def keep(folder: Path) -> None:
        if request.runtime == "graph":
            graphs.append(load_trace(str(folder / TRACE)))

    asked = {**dataclasses.asdict(request), "options": dataclasses.asdict(request.options)}
    allowed = f" (it was allowed {format_bytes(request.limit)}); try a smaller batch"
    result = ask(CHILD, asked, "ran the step", request.timeout, environment(request), killed=allowed, keep=keep)
    done = replay([Event(*row) for row in result["events"]])
    if not done.curve:
        raise CheckFailed(_silent())
    sizes = result["variables_bytes"], result["argument_bytes"], result["seconds"]
    return Run(done, graphs[0] if graphs else None, *sizes, result["versions"])


def environment(request: Request) -> dict[str, str | None]:
    """What TensorFlow is told in the measuring process: its BFC allocator, the CPU, oneDNN off unless the user says."""
    return {
        "TF_CPU_ALLOCATOR_USE_BFC": "true",
        "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(max(request.limit >> 20, 1)),
        "TF_ENABLE_ONEDNN_OPTS": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "0"),
        "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "3"),
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_DETERMINISTIC_ORDER": "1" if request.order == "deterministic" else None,
    }


def _silent() -> str:
    onednn = os.environ.get("TF_ENABLE_ONEDNN_OPTS", "0") not in ("0", "false")
    why = "; with oneDNN on TensorFlow reports none: unset TF_ENABLE_ONEDNN_OPTS" if onednn else ""
    return f"TensorFlow's allocator reported no allocation while the step ran{why}."
