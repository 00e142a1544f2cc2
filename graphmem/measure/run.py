"""The parent's side of a measurement: the process that runs the step, and what becomes of it."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import graphmem
from graphmem.errors import CheckFailed, InternalError, TargetError, UserCodeError
from graphmem.graph.model import StepGraph
from graphmem.graph.store import load_trace
from graphmem.measure.child import REQUEST, RESULT, TRACE
from graphmem.measure.events import Event, Replay, replay
from graphmem.target.step import Options
from graphmem.units import format_bytes

_ERRORS = {kind.__name__: kind for kind in (TargetError, UserCodeError, CheckFailed, InternalError)}
_PACKAGE = str(Path(graphmem.__file__).parents[1])
_START = """
import sys
sys.path[:] = sys.path[sys.path[:1] == [""]:]
if sys.argv[3] not in sys.path:
    sys.path.append(sys.argv[3])
from graphmem.measure.child import main
main(sys.argv[1], int(sys.argv[2]))
"""
"""Not `python -m`, under which what lies in the current folder would hide modules."""


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
    with tempfile.TemporaryDirectory(prefix="graphmem-") as name:
        folder = Path(name)
        asked = {**dataclasses.asdict(request), "options": dataclasses.asdict(request.options)}
        (folder / REQUEST).write_text(json.dumps(asked))
        code = _wait(_start(request, folder), request.timeout)
        try:
            result = json.loads((folder / RESULT).read_text())
        except (OSError, json.JSONDecodeError):
            raise _ended(code, request) from None
        if "error" in result:
            raise _failure(result)
        done = replay([Event(*row) for row in result["events"]])
        if not done.curve:
            raise CheckFailed(_silent())
        graph = load_trace(str(folder / TRACE)) if request.runtime == "graph" else None
    sizes = result["variables_bytes"], result["argument_bytes"], result["seconds"]
    return Run(done, graph, *sizes, result["versions"])


def environment(request: Request, folder: Path) -> dict[str, str]:
    """What TensorFlow is told in the measuring process: its BFC allocator, the CPU, oneDNN off unless the user says."""
    made = {
        **os.environ,
        "TF_CPU_ALLOCATOR_USE_BFC": "true",
        "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(max(request.limit >> 20, 1)),
        "TF_ENABLE_ONEDNN_OPTS": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "0"),
        "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "3"),
        "CUDA_VISIBLE_DEVICES": "-1",
        "TMPDIR": str(folder),
    }
    made.pop("TF_DETERMINISTIC_ORDER", None)
    return made | ({"TF_DETERMINISTIC_ORDER": "1"} if request.order == "deterministic" else {})


def _start(request: Request, folder: Path) -> subprocess.Popen[bytes]:
    """A session of its own: Ctrl-C reaches the parent alone, which ends the child and whatever that has started."""
    words = [sys.executable, "-c", _START, str(folder), str(os.getpid()), _PACKAGE]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, env=environment(request, folder), start_new_session=True)


def _wait(process: subprocess.Popen[bytes], timeout: float) -> int:
    """The exit code; whatever happens meanwhile, the process and its children are gone afterwards."""
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        raise CheckFailed(
            f"the measured step was not done after {timeout:g} s and was stopped; give it more with --timeout."
        ) from None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        process.wait()


def _ended(code: int, request: Request) -> CheckFailed | UserCodeError:
    """Why there is no result."""
    if code == -signal.SIGKILL:
        return CheckFailed(
            "the process that ran the step was killed, most likely because memory ran out "
            f"(it was allowed {format_bytes(request.limit)}); try a smaller batch."
        )
    if code < 0:
        name = signal.Signals(-code).name
        return CheckFailed(f"the process that ran the step crashed ({name}); -v shows what it wrote.")
    return UserCodeError(
        f"the target ended its process (exit code {code}) before its step had run; -v shows what it wrote."
    )


def _failure(result: dict[str, Any]) -> Exception:
    kind = _ERRORS[result["error"]]
    return kind(result["message"], result["excerpt"]) if kind is UserCodeError else kind(result["message"])


def _silent() -> str:
    onednn = os.environ.get("TF_ENABLE_ONEDNN_OPTS", "0") not in ("0", "false")
    why = "; with oneDNN on TensorFlow reports none: unset TF_ENABLE_ONEDNN_OPTS" if onednn else ""
    return f"TensorFlow's allocator reported no allocation while the step ran{why}."
