"""Many steps, each in a process of its own, with TensorFlow imported only once."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable
from typing import Any


def forked(function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)` in a fork of this process, which must have imported TensorFlow and run nothing yet.

    Returns:
        What the function returns; it is pickled.

    Raises:
        RuntimeError: the function raised, or the fork ended otherwise; the fork prints the traceback.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        _answer(writing, function, args)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status or not answer:
        raise RuntimeError(f"{function.__name__}{args} ended with status {status}")
    return pickle.loads(answer)


def _answer(writing: int, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """The fork's part; never returns, so that nothing of the parent's runs twice."""
    try:
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(function(*args), pipe)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)
