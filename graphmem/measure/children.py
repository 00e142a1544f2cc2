"""Python in a process of its own: what it is asked is a file, what it answers another, and nothing of it is left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import graphmem
from graphmem.errors import CheckFailed, GraphmemError, InternalError, TargetError, UserCodeError

REQUEST, RESULT = "request.json", "result.json"
_ERRORS: dict[str, type[GraphmemError]] = {
    kind.__name__: kind for kind in (TargetError, UserCodeError, CheckFailed, InternalError)
}
_RAISED = 1
"""Exit code of a Python that an exception has ended: one of graphmem's, as what the user's code raises is caught."""

_LOOKS = 0.2
"""Seconds between two looks at whether a process is to be stopped."""

_PACKAGE = str(Path(graphmem.__file__).parents[1])
_START = """
import importlib, sys
sys.path[:] = sys.path[sys.path[:1] == [""]:]
if sys.argv[4] not in sys.path:
    sys.path.append(sys.argv[4])
importlib.import_module(sys.argv[3]).main(sys.argv[1], int(sys.argv[2]))
"""
"""Not `python -m`, under which what lies in the current folder would hide modules."""


def ask(
    module: str,
    request: dict[str, Any],
    what: str,
    timeout: float,
    settings: Mapping[str, str | None],
    stop: threading.Event | None = None,
    *,
    killed: str = "",
    keep: Callable[[Path], None] = lambda folder: None,
) -> dict[str, Any]:
    """Have `main(folder, parent)` of a module answer a request in a new process; it and its children end with it.

    Args:
        module: dotted name; its `main` calls `answer`.
        what: what the process does, for sentences: "the process that {what}".
        timeout: seconds after which it is ended.
        settings: environment variables beside those of this process; `None`: without this one.
        stop: ends the process when it is set, for a caller that asks in another thread.
        killed: what to say besides when it was killed.
        keep: given the folder of its files, which is its TMPDIR as well, when it has answered.

    Raises:
        CheckFailed: the process was killed, crashed, was stopped, or ran out of time.
        UserCodeError: the code that it ran has ended it.
        TargetError, UserCodeError, CheckFailed, InternalError: as the module raised it.
    """
    with tempfile.TemporaryDirectory(prefix="graphmem-") as name:
        folder = Path(name)
        (folder / REQUEST).write_text(json.dumps(request))
        words = [sys.executable, "-c", _START, name, str(os.getpid()), module, _PACKAGE]
        made = {key: value for key, value in {**os.environ, "TMPDIR": name, **settings}.items() if value is not None}
        # A session of its own: Ctrl-C reaches this process alone, which ends the child and what that has started.
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, env=made, start_new_session=True)
        code = _wait(process, what, timeout, stop)
        try:
            result: dict[str, Any] = json.loads((folder / RESULT).read_text())
        except (OSError, json.JSONDecodeError):
            raise _ended(code, what, killed) from None
        if "error" in result:
            kind = _ERRORS[result["error"]]
            message, excerpt = result["message"], result["excerpt"]
            raise UserCodeError(message, excerpt) if kind is UserCodeError else kind(message)
        keep(folder)
    return result


def answer(folder: str, parent: int, work: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """In the child: do the work that the folder's request describes, leave its result there, and end the process."""
    end_with(parent, folder)
    place = Path(folder)
    try:
        result = work(json.loads((place / REQUEST).read_text()))
    except GraphmemError as error:
        kind = next((name for name, kind in _ERRORS.items() if isinstance(error, kind)), "InternalError")
        result = {"error": kind, "message": str(error), "excerpt": getattr(error, "excerpt", "")}
    (place / RESULT).write_text(json.dumps(result))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads that the user's code has started are not waited for


def end_with(parent: int, folder: str) -> None:
    """End this process when the parent is gone, and leave no file behind."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _wait(process: subprocess.Popen[bytes], what: str, timeout: float, stop: threading.Event | None) -> int:
    """The exit code; whatever happens meanwhile, the process and its children are gone afterwards."""
    ends = time.monotonic() + timeout
    try:
        while stop is None or not stop.is_set():
            left = ends - time.monotonic()
            try:
                return process.wait(left if stop is None else min(left, _LOOKS))
            except subprocess.TimeoutExpired:
                if time.monotonic() >= ends:
                    raise CheckFailed(
                        f"the process that {what} was not done after {timeout:g} s and was stopped; give it more with "
                        "--timeout."
                    ) from None
        raise CheckFailed(f"the process that {what} was stopped.")
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        process.wait()


def _ended(code: int, what: str, killed: str) -> GraphmemError:
    """Why there is no result."""
    if code == -signal.SIGKILL:
        return CheckFailed(f"the process that {what} was killed, most likely because memory ran out{killed}.")
    if code < 0:
        return CheckFailed(f"the process that {what} crashed ({signal.Signals(-code).name}); -v shows what it wrote.")
    if code == _RAISED:
        return InternalError(f"the process that {what} failed (exit code {code}); -v shows what it wrote")
    return UserCodeError(
        f"the process that {what} was ended by the code that it ran (exit code {code}); -v shows what it wrote."
    )
