"""What the command line writes besides its answer: progress and sentences; TensorFlow's noise is held back."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, TextIO

from graphmem.errors import TargetError, UserCodeError

if TYPE_CHECKING:
    from rich.status import Status


LAST_WORDS = 12
"""Lines that are shown of what a script wrote before it ended itself."""


@dataclass
class Terminal:
    """One invocation's way to the user.

    Attributes:
        quiet: only errors on stderr.
        verbose: each phase with its time, and what TensorFlow and the user's code wrote.
        debug: as verbose, and tracebacks.
        phase: the phase of the analysis that runs or in which it failed, "" when none does.
    """

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    phase: str = ""
    _err: TextIO | None = None
    _status: Status | None = None
    _since: float = field(default_factory=time.monotonic)

    @property
    def err(self) -> TextIO:
        """The user's stderr, also while file descriptor 2 is held back."""
        return self._err or sys.stderr

    def say(self, text: str) -> None:
        """A sentence beside the answer, on stderr; nothing with -q."""
        if not self.quiet:
            self.complain(text)

    def complain(self, text: str) -> None:
        """A sentence that the user must see, on stderr."""
        stream = self.err
        with contextlib.suppress(OSError, ValueError):  # a closed stderr is no reason to fail
            stream.write(encodable(text, stream) + "\n")
            stream.flush()

    def progress(self, phase: str) -> None:
        """The analysis enters a phase: shown by a spinner on a terminal, by a line with -v.

        What follows a comma tells how far the phase is: "compiling, 12 s".
        """
        name, now = phase.partition(", ")[0], time.monotonic()
        if name != self.phase:
            if self.phase and (self.verbose or self.debug):
                self.complain(f"graphmem: {self.phase}: {now - self._since:.1f} s")
            self.phase, self._since = name, now
        if self._status is not None and phase:
            self._status.update(f"graphmem: {phase} …")

    @contextlib.contextmanager
    def analysing(self) -> Iterator[None]:
        """Hold back what is written to stdout and stderr by anyone else; show progress meanwhile.

        Afterwards both descriptors are the user's again; with -v what was held back follows on stderr.
        """
        with contextlib.ExitStack() as stack:
            held = stack.enter_context(tempfile.TemporaryFile())
            real = stack.enter_context(_redirected(held))
            self._err = real
            stack.callback(setattr, self, "_err", None)
            if self.verbose or self.debug:
                stack.callback(self._replay, held)
            if real.isatty() and not (self.quiet or self.verbose or self.debug):
                self._status = stack.enter_context(_spinner(real))
                stack.callback(setattr, self, "_status", None)
            try:
                yield
            except UserCodeError as error:
                if isinstance(error.__cause__, SystemExit):  # it has said why, as argparse does
                    error.excerpt = "\n".join(_text_of(held).splitlines()[-LAST_WORDS:])
                raise
            self.progress("")  # not if it failed: the phase then tells where

    def _replay(self, held: IO[bytes]) -> None:
        """Show what was held back."""
        text = _text_of(held)
        if text:
            self.complain(f"--- written by TensorFlow and the target ---\n{text}\n--- end ---")


def _text_of(held: IO[bytes]) -> str:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    held.seek(0)
    return held.read().decode("utf-8", "replace").rstrip()


@contextlib.contextmanager
def _redirected(target: IO[bytes]) -> Iterator[TextIO]:
    """Descriptors 1 and 2 to a file, native code's writes included; yields a stream to the user's stderr."""
    streams = [stream for stream in (sys.stdout, sys.stderr) if stream is not None]
    with contextlib.ExitStack() as stack:
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        real = os.fdopen(os.dup(2), "w", encoding=encoding, errors="replace")
        stack.callback(real.close)
        for descriptor in (1, 2):
            saved = os.dup(descriptor)
            stack.callback(os.close, saved)
            stack.callback(os.dup2, saved, descriptor)
        capture = os.fdopen(os.dup(target.fileno()), "w", encoding="utf-8", errors="replace", buffering=1)
        stack.callback(capture.close)
        for stream in streams:
            stream.flush()
        for descriptor in (1, 2):
            os.dup2(target.fileno(), descriptor)
        stack.enter_context(contextlib.redirect_stdout(capture))
        stack.enter_context(contextlib.redirect_stderr(capture))
        yield real


@contextlib.contextmanager
def _spinner(stream: TextIO) -> Iterator[Status]:
    from rich.console import Console

    with Console(file=stream).status("graphmem: starting …") as status:
        yield status


def encodable(text: str, stream: TextIO) -> str:
    """The text as the stream's encoding can write it: plain characters for the typographic ones, `?` for the rest."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        from graphmem.render.text import to_ascii

        return to_ascii(text).encode(encoding, "replace").decode(encoding)
    return text


def wants_color(stream: TextIO) -> bool:
    """Whether to colour what goes to this stream: NO_COLOR, then FORCE_COLOR, then whether it is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return os.environ["FORCE_COLOR"] != "0"
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def page_width(given: int | None, piped: int = 80) -> int:
    """Columns of an answer: those given, else the terminal's and 60 at least; `piped` if it does not go to one."""
    columns = shutil.get_terminal_size((piped, 24)).columns if sys.stdout.isatty() else piped
    return given or max(columns, 60)


def answer(text: str) -> None:
    """Write the answer to stdout; a reader that has gone away (`| head`) is no error."""
    try:
        sys.stdout.write(encodable(text, sys.stdout))
        sys.stdout.flush()
    except BrokenPipeError:
        no_more_answers()
    except OSError as error:
        no_more_answers()
        raise TargetError(f"the answer cannot be written to stdout: {error.strerror}.") from error


def no_more_answers() -> None:
    """Drop what else would go to stdout, so that the flush at exit has somewhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def open_standard_streams() -> None:
    """Give a process that was started with stdin, stdout or stderr closed (`>&-`) an empty one in its place.

    Otherwise the next file that is opened gets its descriptor, and TensorFlow's noise goes there.
    """
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor, which is this one
            setattr(sys, name, open(descriptor, mode, closefd=False))
