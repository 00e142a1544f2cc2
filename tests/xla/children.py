"""Stand-ins for a compiler: what a child process may do other than compile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from graphmem.xla.child import FAILURE

WHOLE = b"\x0a\x03abc\x1a\x02de"
"""Fields 1 and 3 of a message: to the eye of `is_complete` an HloProto with a buffer assignment."""


def main(folder: str) -> None:
    """Do what the file `what` in the folder says."""
    globals()[(Path(folder) / "what").read_text()](Path(folder))


def in_two_pieces(folder: Path) -> None:
    with (folder / "dumps" / "module_0001.after.pb").open("wb", buffering=0) as file:
        for piece in (WHOLE[:4], WHOLE[4:7], WHOLE[7:]):
            file.write(piece)
            time.sleep(0.2)
    hangs(folder)


def dumps_and_crashes(folder: Path) -> None:
    (folder / "dumps" / "module_0001.after.pb").write_bytes(WHOLE)
    os.kill(os.getpid(), signal.SIGABRT)


def aborts(folder: Path) -> None:
    sys.stderr.write("I1130 16:59:50.970510   23844 dump.cc:441] harmless\n")
    sys.stderr.write("F1130 16:59:50.970510   23844 hlo_thing.cc:7] Check failed: a == b (1 vs. 2) oh dear\n")
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGABRT)


def is_killed(folder: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def raises(folder: Path) -> None:
    raise RuntimeError("an error of Python's")


def tells(folder: Path) -> None:
    (folder / FAILURE).write_text(json.dumps({"error": "UserCodeError", "message": "the step is to blame."}))


def does_nothing(folder: Path) -> None:
    pass


def hangs(folder: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as sleeper:  # as the compiler starts an assembler
        Path(os.environ["GRAPHMEM_TEST_PIDS"]).write_text(f"{os.getpid()} {os.getppid()} {sleeper.pid}")


def prints_environment(folder: Path) -> None:
    kept = {name: os.environ.get(name, "") for name in ("XLA_FLAGS", "CUDA_VISIBLE_DEVICES", "TMPDIR")}
    (folder / FAILURE).write_text(json.dumps({"error": "CompilerError", "message": json.dumps(kept)}))
