"""A target at values of what is varied: its trace, and its full analysis, each made once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graphmem import api
from graphmem.answers.points import Point, places
from graphmem.collector import collection_paused
from graphmem.errors import GraphmemError, InternalError, TargetError
from graphmem.target.step import Options

if TYPE_CHECKING:
    from graphmem.report.report import Report
    from graphmem.settings import Settings
    from graphmem.target.step import Step

PRIMES = (127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199, 211, 223)
"""Batches at which one trace tells what depends on the batch: whatever they divide, unless it divides that too."""

Progress = Callable[[str], None]


class Probes:
    """What is varied, at its values.

    Attributes:
        vary: its name.
        settings: of the analysis; their memory is the budget.
        by_batch: whether a step at hand can be had for other batches.
    """

    def __init__(self, vary: str, settings: Settings, progress: Progress) -> None:
        self.vary, self.settings, self.progress = vary, settings, progress
        self.by_batch = vary == "batch"
        self._traced: dict[int, tuple[Any, Options]] = {}
        self._reports: dict[int, Report] = {}

    @property
    def traces(self) -> int:
        """How many traces were made."""
        return len(self._traced)

    @property
    def reports(self) -> int:
        """How many full analyses were made."""
        return len(self._reports)

    def traced(self, value: int) -> Any:
        """The graph, or what XLA compiled, at a value.

        Raises:
            GraphmemError: as an analysis; the sentence begins with the value.
        """
        if value not in self._traced:
            with self._at(value):
                self._traced[value] = self._trace(value)
            self._check_used(self._traced[value][1])
        return self._traced[value][0]

    def report(self, value: int) -> Report:
        """The full analysis at a value."""
        if value not in self._reports:
            self._reports[value] = self.report_within(value, self.settings)
        return self._reports[value]

    def report_within(self, value: int, settings: Settings) -> Report:
        """The analysis of the same trace under other settings that need no new one."""
        traced = self.traced(value)
        options = self._traced[value][1]
        self.progress(f"{self.vary} {value}: simulating")
        with self._at(value), collection_paused():
            return api.report_of(traced, settings, options)

    def options(self, value: int) -> Options:
        """The options of a trace."""
        return self._traced[value][1]

    def prime(self) -> int | None:
        """A value for a trace that tells by itself what depends on the batch; `None` if there is none."""
        raise NotImplementedError

    def _trace(self, value: int) -> tuple[Any, Options]:
        raise NotImplementedError

    def _check_used(self, options: Options) -> None:
        """Raises TargetError if what is varied is nothing of the target's."""

    @contextmanager
    def _at(self, value: int) -> Iterator[None]:
        """Say at which value something failed."""
        try:
            yield
        except InternalError:
            raise
        except GraphmemError as error:
            error.args = (f"{self.vary} {value}: {error}", *error.args[1:])
            raise

    def _tell(self, value: int) -> Progress:
        return lambda text: self.progress(text and f"{self.vary} {value}: {text}")


class TargetProbes(Probes):
    """A target that a text names; to be used within `api.tracing()`."""

    def __init__(self, point: Point, vary: str, progress: Progress) -> None:
        super().__init__(vary, point.settings, progress)
        self.point = point
        self.is_place = vary in places(point.target, point.options.script_args)
        self.by_batch = self.by_batch and not self.is_place
        self._resolved: tuple[Step, Options] | None = None

    def prime(self) -> int | None:
        """See `Probes`; the model is built once for all batches."""
        from graphmem.target.rebatch import fixed_dims, rebatched

        if not self.by_batch:
            return None
        try:
            step, options = self._resolve(PRIMES[0])
        except TargetError as error:
            # what the user has not said: --batch
            error.args = (str(error).replace(f"--batch {PRIMES[0]}", "--vary batch"),)
            raise
        if step.batch != PRIMES[0] or rebatched(step, PRIMES[1]) is None:
            return None
        self._resolved, fixed = (step, options), fixed_dims(step)
        return next((prime for prime in PRIMES if not any(dim % prime == 0 for dim in fixed)), None)

    def _trace(self, value: int) -> tuple[Any, Options]:
        from graphmem.target.rebatch import rebatched

        if self._resolved is not None:
            one, options = self._resolved
            step = one if value == one.batch else rebatched(one, value)
            assert step is not None  # as `prime` has found out
        else:
            step, options = self._resolve(value)
        return api.trace_step(step, self.settings, self._tell(value)), options

    def _resolve(self, value: int) -> tuple[Step, Options]:
        from graphmem.target.resolve import resolve

        at = self.point.at(self.vary, value)
        return resolve(at.target, at.options), at.options

    def _check_used(self, options: Options) -> None:
        """See `Probes`."""
        if self.is_place or self.by_batch:
            return
        unused = [name for name in options.unused_dims if name not in self.point.options.dims]
        if unused:
            raise TargetError(
                f"{self.point.target} has no open dimension called {unused[0]!r}; if an argument decides it, write a ? "
                "in its place, such as model.py:build(size=?)."
            )


class ObjectProbes(Probes):
    """A live object, or a function that makes one of a value."""

    def __init__(
        self, target: Any, specs: tuple[Any, ...], options: Options, settings: Settings, vary: str, progress: Progress
    ) -> None:
        super().__init__(vary, settings, progress)
        self.target, self.specs, self.base = target, specs, Point("", options, settings)
        self.is_argument = _takes(target, vary)

    def prime(self) -> int | None:
        """None is chosen: an object may be anything."""
        return None

    def _trace(self, value: int) -> tuple[Any, Options]:
        if self.is_argument:
            options = replace(self.base.options, dims=dict(self.base.options.dims))
            target = _called(self.target, self.vary, value)
        else:
            options, target = self.base.at(self.vary, value).options, self.target
        return api.trace_object(target, self.specs, options, self.settings), options


def _called(factory: Callable[..., Any], name: str, value: int) -> Callable[[], Any]:
    """A function without parameters that calls another."""

    def make() -> Any:
        return factory(**{name: value})

    return make


def _takes(target: Any, name: str) -> bool:
    """Whether an object is a function that has a parameter of this name."""
    if not (inspect.isfunction(target) or inspect.isclass(target)):
        return False
    try:
        return name in inspect.signature(target).parameters
    except (TypeError, ValueError):
        return False
