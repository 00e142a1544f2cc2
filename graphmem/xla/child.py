"""A compiler in a process of its own, which is ended as soon as the compiler has dumped its buffer assignment.

XLA aborts the process when one of its checks fails, reads its flags once per process, and takes most of its time for
machine code that nobody will run. So it works in a child. The parent watches the folder into which XLA dumps, takes
the scheduled program once that is complete, and has the child killed.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import graphmem
from graphmem.errors import CompilerError, GraphmemError, UserCodeError
from graphmem.xla.supervised import DONE, SIGNALLED
from graphmem.xla.wire import fields

FAILURE = "failure.json"
"""The file in which a child says what went wrong: {"error": "CompilerError" or "UserCodeError", "message": …}."""

DUMPS, _OUTPUT = "dumps", "output.txt"
_PACKAGE = str(Path(graphmem.__file__).parents[1])
_START = """
import sys
sys.path[:] = sys.path[sys.path[:1] == [""]:]
if sys.argv[2] not in sys.path:
    sys.path.append(sys.argv[2])
from graphmem.xla.supervised import supervise
from {module} import main
supervise(main, sys.argv[1])
"""
"""Not `python -m`, under which what lies in the current folder would hide modules."""

_LOOK_SECONDS, _TELL_SECONDS, _END_SECONDS = 0.02, 1.0, 10.0
_BUFFER_ASSIGNMENT = 3  # field of HloProto (xla/service/hlo.proto); the last one, and fields are written in order
_FATAL = re.compile(r"^F\d{4} .*?\] (.+)$", re.MULTILINE)
_UNKNOWN_FLAG = re.compile(r"Unknown flags? in XLA_FLAGS: *(.+)")


def scheduled_program(
    module: str,
    files: Mapping[str, bytes],
    flags: Sequence[str],
    dumped: str,
    *,
    timeout: float,
    progress: Callable[[str], None],
    complete: Callable[[Path], bool] | None = None,
) -> tuple[bytes, float]:
    """The bytes of the `HloProto` that a compiler dumps after its optimisations, and the seconds that it took.

    Args:
        module: the child's module, whose `main(folder)` has XLA compile; failures go to `FAILURE` in that folder.
        files: name -> content of what the child reads from its folder.
        flags: for `XLA_FLAGS`; where to dump is added.
        dumped: how the name of the file wanted ends.
        timeout: seconds.
        progress: told every second for how long it has been compiling.
        complete: whether a file that is there is written to its end; `None`: `is_complete`, of an `HloProto`.

    Raises:
        CompilerError: the compiler failed, crashed, dumped nothing, or was not done in time.
        UserCodeError: the child says that the step is to blame.
    """
    if not hasattr(os, "fork"):
        raise CompilerError("XLA is run in a process of its own, which needs Linux or macOS; use --runtime graph.")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="graphmem-xla-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / DUMPS).mkdir()
        for file, content in files.items():
            (folder / file).write_bytes(content)
        process = _start(module, folder, flags)
        try:
            found, in_time = _wait(process, folder, (dumped, complete or is_complete), began + timeout, progress)
        finally:
            _end(process)
        if found is None:
            raise _failure(process.returncode, folder) if in_time else _late(timeout)
    return found, time.monotonic() - began


def users_flags(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The flags that the user's `XLA_FLAGS` give XLA, without those that dump; the variable may name a file of them.

    Raises:
        CompilerError: that file cannot be read.
    """
    said = environ.get("XLA_FLAGS", "").strip()
    if said and not said.startswith("-"):
        try:
            said = Path(said).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise CompilerError(
                f"XLA_FLAGS names the file {said!r}, which cannot be read; correct or unset it."
            ) from None
    return tuple(flag for flag in said.split() if not flag.startswith("--xla_dump"))


def is_complete(path: Path) -> bool:
    """Whether a file holds a whole `HloProto` with a buffer assignment: its last field ends where the file does."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            number, begin, end = max(fields(data), key=lambda field: field[1])
            return number == _BUFFER_ASSIGNMENT and end > begin
    except ValueError:  # empty or cut off
        return False


def _start(module: str, folder: Path, flags: Sequence[str]) -> subprocess.Popen[bytes]:
    """The supervisor, in a session of its own: Ctrl-C reaches the parent alone. No GPU is shown to the compiler."""
    words = [sys.executable, "-c", _START.format(module=module), str(folder), _PACKAGE]
    environment = {
        **os.environ,
        "XLA_FLAGS": " ".join((*flags, f"--xla_dump_to='{folder / DUMPS}'", "--xla_dump_hlo_as_proto")),
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_ENABLE_ONEDNN_OPTS": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "0"),
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "TMPDIR": str(folder),
    }
    with (folder / _OUTPUT).open("wb") as output:
        return subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=output, stderr=output, env=environment, start_new_session=True
        )


def _wait(
    process: subprocess.Popen[bytes],
    folder: Path,
    wanted: tuple[str, Callable[[Path], bool]],
    until: float,
    progress: Callable[[str], None],
) -> tuple[bytes | None, bool]:
    """The program as soon as it is complete, `None` if the process ends without it; and whether that was in time."""
    dumped, complete = wanted
    began = told = time.monotonic()
    while True:
        ended = process.poll() is not None  # first, so that what it dumped last is seen
        for path in sorted((folder / DUMPS).glob(f"*{dumped}")):
            if complete(path):
                return path.read_bytes(), True
        now = time.monotonic()
        if ended or now >= until:
            return None, ended
        if now - told >= _TELL_SECONDS:
            told = now
            progress(f"compiling with XLA, {now - began:.0f} s")
        time.sleep(_LOOK_SECONDS)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Have the supervisor kill its work, and wait for it."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it has ended by itself
        process.stdin.write(DONE)
        process.stdin.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _late(timeout: float) -> CompilerError:
    return CompilerError(
        f"XLA was not done compiling the step after {timeout:g} s and was stopped; give it more with --timeout."
    )


def _failure(code: int, folder: Path) -> GraphmemError:
    """Why there is no program."""
    try:
        told = json.loads((folder / FAILURE).read_text())
        return {"UserCodeError": UserCodeError}.get(told["error"], CompilerError)(told["message"])
    except (OSError, ValueError):
        pass
    said = (folder / _OUTPUT).read_text(errors="replace")
    unknown = _UNKNOWN_FLAG.search(said)
    if unknown:
        return CompilerError(f"XLA does not know {unknown[1].strip()}, which XLA_FLAGS gives it; correct XLA_FLAGS.")
    fatal = _FATAL.findall(said)
    why = f": {fatal[-1].strip()[:300]}" if fatal else ""
    if code == SIGNALLED + signal.SIGKILL:
        return CompilerError("the process in which XLA compiled the step was killed, most likely as memory ran out.")
    if code > SIGNALLED:
        name = signal.Signals(code - SIGNALLED).name
        return CompilerError(f"XLA crashed while it compiled the step ({name}){why}; use --runtime graph.")
    return CompilerError(f"XLA ended without a program (exit code {code}){why}; use --runtime graph.")
