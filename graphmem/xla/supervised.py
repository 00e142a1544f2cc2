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


def supervise(work: Callable[[str], None], folder: str, parent: int) -> None:
    """Run `work(folder)` in a forked process and exit with its code; `parent` is who started the supervisor.

    The parent removes the folder; if it is gone, the supervisor does.
    """
    worker = os.fork()
    if worker == 0:
        os.setpgid(0, 0)
        os._exit(_run(work, folder))
    with contextlib.suppress(OSError):  # done by either, whoever comes first
        os.setpgid(worker, worker)
    status = _wait(worker)
    if os.getppid() != parent:
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
    """The worker's status, once it has ended by itself or the pipe is closed."""
    while True:
        ended, status = os.waitpid(worker, os.WNOHANG)
        if ended:
            with contextlib.suppress(OSError):  # what it has started
                os.killpg(worker, signal.SIGKILL)
            return status
        if select.select([0], [], [], _LOOK_SECONDS)[0]:  # readable: closed, as nothing is ever written
            with contextlib.suppress(OSError):
                os.killpg(worker, signal.SIGKILL)
            return os.waitpid(worker, 0)[1]
