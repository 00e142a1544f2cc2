"""What can go wrong, and the exit code each kind of failure has on the command line."""

from __future__ import annotations


class GraphmemError(Exception):
    """A failure with one sentence for the user: what was wrong and what to do.

    Attributes:
        exit_code: the process exit code that the command line maps it to.
    """

    exit_code = 2


class TargetError(GraphmemError):
    """The target, an option, a file or the configuration is bad (exit code 2)."""


class UserCodeError(GraphmemError):
    """The user's own code raised, or its step cannot be traced (exit code 3).

    Attributes:
        excerpt: the lines of the traceback that lie in the user's files, ready to print; may be empty.
    """

    exit_code = 3

    def __init__(self, message: str, excerpt: str = "") -> None:
        super().__init__(message)
        self.excerpt = excerpt


class CheckFailed(GraphmemError):
    """A check was made and did not pass: over budget, nothing fits (exit code 1)."""

    exit_code = 1


class CompilerError(GraphmemError):
    """A compiler of another project could not be run, or failed: missing, aborted, out of time (exit code 3).

    It says nothing against the step: another runtime may still be modelled.
    """

    exit_code = 3


class CompilerMissing(CompilerError):
    """An optional compiler is not installed; the message has the command that installs it (exit code 2)."""

    exit_code = 2


class InternalError(GraphmemError):
    """A fact that graphmem relies on does not hold: always a bug (exit code 4)."""

    exit_code = 4
