"""Work in a forked process under a supervisor, which outlives neither the work nor the one who asked for it.

The supervisor's standard input is a pipe whose other end the parent holds. When that end closes, because the parent
has what it wants, gives up or is gone, however it went, the supervisor kills the work with all that it has started.
It is the work's own parent, so that no zombie is left where nothing else would reap it, and it runs nothing that
could keep it from looking.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
from collections.abc import Callable

_LOOK_SECONDS = 0.05
SIGNALLED = 128
"""Exit codes of the supervisor above this are that much more than the number of the signal that ended the work."""

DONE = b"."


def supervise(work: Callable[[str], None], folder: str) -> None:
    """Run `work(folder)` in a forked process and exit with its code.

    The parent writes `DONE` before it closes its end, and removes the folder; if it is gone, this is left to do here.
    """
    worker = os.fork()
    if worker == 0:
        os.setpgid(0, 0)
        os._exit(_run(work, folder))
    with contextlib.suppress(OSError):  # done by either, whoever comes first
        os.setpgid(worker, worker)
    status = _wait(worker)
    if _closed(0) and os.read(0, len(DONE)) != DONE:
        shutil.rmtree(folder, ignore_errors=True)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else SIGNALLED - code)


def _run(work: Callable[[str], None], folder: str) -> int:
    try:
        work(folder)
        return 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _wait(worker: int) -> int:
    """The worker's status, once it has ended by itself or the pipe is closed; what it has started is gone then."""
    while True:
        ended, status = os.waitpid(worker, os.WNOHANG)
        closed = not ended and _closed(_LOOK_SECONDS)
        if ended or closed:
            with contextlib.suppress(OSError):
                os.killpg(worker, signal.SIGKILL)
            return status if ended else os.waitpid(worker, 0)[1]


def _closed(seconds: float) -> bool:
    """Whether the pipe's other end is closed, or `DONE` was written, within so many seconds."""
    return bool(select.select([0], [], [], seconds)[0])
