"""Code that the user wrote: what it raises becomes one sentence, and what it prints stays off stdout."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import linecache
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Collection, Iterator
from types import TracebackType

from graphmem.errors import GraphmemError, TargetError, UserCodeError

#: How TensorFlow names the user's lines in the message of an error raised while it traces.
_TRACED_LINE = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBRARIES = tuple(
    folder + os.sep
    for folder in (_PACKAGE, *(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")))
)
_GENERATED = "__autograph_generated_file"

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

#: How messages begin in which Keras or TensorFlow tell at length where they were.
_WRAPPED = ("Exception encountered when calling", "in user code:")

#: So many calls, and so many lines of a message, are shown.
_FRAMES = 20

#: Before this, Keras says at length that it could not call the user's layer.
_KERAS_WRAPS = "Error encountered:"

Frame = tuple[str, int, str]
"""A line of the user's code on the way to an error: file, line number, function."""


@contextlib.contextmanager
def user_errors(files: Collection[str]) -> Iterator[None]:
    """Turn what the user's code raises into one sentence with the user's own lines.

    Args:
        files: absolute paths of the user's files. Files beside them that they import count as the user's too.

    Raises:
        UserCodeError: the code inside raised, called `sys.exit`, or is not valid Python. `KeyboardInterrupt`,
            graphmem's own errors, and errors that none of the user's lines led to pass through unchanged; but a
            `TargetError` made of an error that a line of the user's led to gives way to that one.
    """
    try:
        yield
    except TargetError as error:
        cause = error.__cause__
        told = describe_error(cause, files) if isinstance(cause, Exception) else None
        if told is None:
            raise
        raise UserCodeError(*told) from cause  # the user's own line says more
    except GraphmemError:
        raise
    except SystemExit as error:
        raise UserCodeError(_exit_sentence(error, files)) from error
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        told = None if type(error).__module__.startswith("graphmem.") else describe_error(error, files)
        if told is None:
            raise
        raise UserCodeError(*told) from error


@contextlib.contextmanager
def step_errors(files: Collection[str]) -> Iterator[None]:
    """As `user_errors`; what TensorFlow or Keras refuses to trace, without a line of the user's, is told as well.

    Raises:
        UserCodeError: as there, or the step cannot be traced.
    """
    try:
        with user_errors(files):
            yield
    except GraphmemError:
        raise
    except Exception as error:
        raised_in = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)][-1]
        if raised_in.startswith(_PACKAGE + os.sep):
            raise
        raise UserCodeError(f"The step cannot be traced: {_one_line(error)}") from error


def describe_error(error: BaseException, files: Collection[str]) -> tuple[str, str] | None:
    """One sentence and an excerpt about an error of the user's code; `None` if no line of the user's led to it."""
    if isinstance(error, SyntaxError) and error.filename and is_users(error.filename, files):
        return _syntax_sentence(error), _syntax_excerpt(error)
    frames = user_frames(error.__traceback__, files) + _traced_frames(str(error), files)
    if not frames:
        return None
    file, line, _ = frames[-1]
    where = f"{os.path.basename(file)} line {line}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        package, dot, _ = error.name.partition(".")
        if dot and _is_there(package):
            sentence = f"{where} needs the module {error.name!r}, which {package!r} does not have."
        else:
            sentence = f"{where} needs the package {package!r}, which is not installed here."
    elif isinstance(error, ImportError) and str(error).startswith("attempted relative import"):
        sentence = f"{where} imports from its own package; name it as PACKAGE.MODULE:NAME, from the folder above."
    else:
        sentence = f"{where} raised {_one_line(error)}"
    return sentence, _excerpt(frames, error)


def user_frames(trace: TracebackType | None, files: Collection[str]) -> list[Frame]:
    """The user's lines in a traceback, outermost first."""
    walked = traceback.walk_tb(trace)
    found = [(frame.f_code.co_filename, line, frame.f_code.co_name) for frame, line in walked]
    return [frame for frame in found if is_users(frame[0], files)]


def is_users(path: str, files: Collection[str]) -> bool:
    """Whether a source file is one of the user's files, or lies in the folder of one and in no library."""
    path = os.path.abspath(path)
    if path in files:
        return True
    if path.startswith(_LIBRARIES) or "-packages" + os.sep in path or os.path.basename(path).startswith(_GENERATED):
        return False
    return any(path.startswith(os.path.dirname(file) + os.sep) for file in files)


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send what is written to stdout to stderr instead, by Python and by native code, while the block runs."""
    _flush()
    with contextlib.ExitStack() as stack:
        try:
            saved = os.dup(1)
            stack.callback(os.close, saved)
            os.dup2(2, 1)
        except OSError:
            pass  # no such file descriptor: nothing to keep clean
        else:
            stack.callback(os.dup2, saved, 1)
            stack.callback(_flush)  # runs first, while the descriptor still points to stderr
        with contextlib.redirect_stdout(sys.stderr):
            yield


def _flush() -> None:
    """Flush the buffers of stdout, those of Python and of C."""
    for stream in (sys.stdout, sys.__stdout__):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)


def exit_place(error: SystemExit, files: Collection[str]) -> str:
    """The call that ended the user's code, such as `sys.exit(3) at line 7`."""
    code = "" if error.code is None else repr(error.code)
    frames = user_frames(error.__traceback__, files)
    return f"sys.exit({code})" + (f" at line {frames[-1][1]}" if frames else "")


def _exit_sentence(error: SystemExit, files: Collection[str]) -> str:
    frames = user_frames(error.__traceback__, files)
    name = os.path.basename(frames[-1][0]) if frames else "the script"
    hint = "" if error.code in (None, 0) else "; if it needs arguments, give them after --"
    return f"{name} called {exit_place(error, files)} before any model was trained or found{hint}."


def _is_there(package: str) -> bool:
    try:
        return package in sys.modules or importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _one_line(error: BaseException) -> str:
    """`ValueError: what was said`, the first line of the message that says something, ended with a full stop."""
    message = _COLOUR.sub("", str(error))
    message = message.partition(_KERAS_WRAPS)[2] or message
    lines = [line.strip() for line in message.splitlines()]
    said = [line for line in lines if line and not line.startswith("Exception encountered when calling")]
    if said and said[0].startswith("in user code:"):
        said = [said[-1].partition(": ")[2] or said[-1]]
    text = f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
    return text if text.endswith((".", "!", "?")) else text + "."


def _traced_frames(message: str, files: Collection[str]) -> list[Frame]:
    found = [(match[1], int(match[2]), match[3]) for match in _TRACED_LINE.finditer(message)]
    return [frame for frame in found if is_users(frame[0], files)]


def _excerpt(frames: list[Frame], error: BaseException) -> str:
    lines = []
    shown = [frame for index, frame in enumerate(frames) if index < _FRAMES // 2 or index >= len(frames) - _FRAMES // 2]
    for index, (file, line, function) in enumerate(shown):
        if index == _FRAMES // 2 and len(frames) > len(shown):
            lines.append(f"  … {len(frames) - len(shown)} more calls")
        lines.append(f'  File "{file}", line {line}, in {function}')
        source = linecache.getline(file, line).strip()
        if source:
            lines.append(f"    {source}")
    return "\n".join([*lines, *_said(error)]).rstrip()


def _said(error: BaseException) -> list[str]:
    """The error as Python prints it; in one line where Keras or TensorFlow wrapped it in an account of their own."""
    message = str(error)
    if message.startswith(_WRAPPED) or _KERAS_WRAPS in message:
        return [_one_line(error)]
    return "".join(traceback.format_exception_only(type(error), error)).splitlines()[:_FRAMES]


def _syntax_sentence(error: SyntaxError) -> str:
    column = f" column {error.offset}" if error.offset else ""
    return f"{os.path.basename(error.filename or '')} line {error.lineno}{column} is not valid Python: {error.msg}."


def _syntax_excerpt(error: SyntaxError) -> str:
    return "".join(traceback.format_exception_only(type(error), error)).rstrip()
