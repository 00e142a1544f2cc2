"""Analyse a step, then each change that may lower its peak, and rank them by what they save."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from graphmem import api
from graphmem.answers.advise import recomputing
from graphmem.answers.advise.advice import Advice, Tried
from graphmem.answers.advise.changes import KINDS, Change, Untried
from graphmem.answers.advise.proposals import proposals
from graphmem.answers.fit import with_budget
from graphmem.collector import collection_paused
from graphmem.errors import GraphmemError, InternalError, TargetError
from graphmem.report.report import Report
from graphmem.settings import Settings
from graphmem.target.step import Options

if TYPE_CHECKING:
    from graphmem.target.step import Step

Progress = Callable[[str], None]

LIVE = "The model is built, and its layers keep their precision: name a file or a function that builds it."
NO_REBATCH = "The step's arguments do not tell which dimension is the batch."


def advise(
    target: Any,
    *specs: Any,
    budget: int | str | None = None,
    reserve: int | str = 0,
    only: Collection[str] = (),
    step: str | None = None,
    batch: int | None = None,
    inputs: tuple[str, ...] = (),
    dims: dict[str, int] | None = None,
    loss: str | None = None,
    optimizer: str | None = None,
    **settings: Any,
) -> Advice:
    """Find what lowers the peak of a step: each change is analysed anew. Nothing trains; a live model stays as it is.

    Args:
        target, specs: as `graphmem.analyze` takes them.
        budget: bytes or a text such as "6GiB"; `None`: what TensorFlow takes of a card that `device` names, if any.
        reserve: what others need of it.
        only: kinds of changes to try, of "optimizer", "precision", "batch", "recompute", "freeze", "embedding", "loss"
            and "runtime"; empty: all.
        step, batch, inputs, dims, loss, optimizer, settings: as `graphmem.analyze` takes them.

    Raises:
        TargetError, UserCodeError: as `graphmem.analyze`.
    """
    within = with_budget(Settings(**settings), budget, reserve)
    options = Options(step, batch, tuple(inputs), dict(dims or {}), loss, optimizer)
    named = api.named_target(target, specs)
    if named is not None:
        return advise_target(named, options, within, only)
    _check(only)
    with api.tracing():
        return _Session(_Object(target, specs), options, within, only).advice()


def advise_target(
    target: str,
    options: Options,
    settings: Settings,
    only: Collection[str] = (),
    progress: Progress = lambda text: None,
) -> Advice:
    """As `advise`, for what a text names.

    Args:
        settings: of the analyses; their memory is the budget.
        only: kinds of changes to try; empty: all.
        progress: told what goes on, a few words each.
    """
    from graphmem.graph import store
    from graphmem.target.resolve import check_target

    if store.is_trace(target):
        raise TargetError(f"{target} is a saved trace, which is not changed: name the target that it was traced from.")
    _check(only)
    check_target(target)
    with api.tracing(progress):
        return _Session(_Text(target), options, settings, only, progress).advice()


def _check(only: Collection[str]) -> None:
    """Raises TargetError for a kind of change that there is not."""
    unknown = [kind for kind in only if kind not in KINDS]
    if unknown:
        raise TargetError(f"there is no kind of change {unknown[0]!r}; the kinds are {', '.join(KINDS)}.")


@dataclass(frozen=True)
class _Text:
    """A target that a text names, built anew as often as needed."""

    target: str
    why_no_rebuild: str = ""

    def step(self, options: Options) -> Step:
        """Resolve it."""
        from graphmem.target.resolve import resolve

        return resolve(self.target, options)

    def is_live(self, step: Step) -> bool:
        """Never."""
        return False


@dataclass(frozen=True)
class _Object:
    """An object at hand."""

    target: Any
    specs: tuple[Any, ...]

    @property
    def why_no_rebuild(self) -> str:
        """Why it cannot be built under another precision; "" for a function that builds it."""
        from graphmem.target.keras_models import is_model

        return LIVE if is_model(self.target) or isinstance(self.target, (tuple, list)) else ""

    def step(self, options: Options) -> Step:
        """Make a step of it."""
        return api.step_of_any(self.target, self.specs, options)

    def is_live(self, step: Step) -> bool:
        """Whether the step's model is the object itself, and not a copy or made by it."""
        return any(model is self.target for model in step.models)


class _Session:
    """One target, its step, and what was tried."""

    def __init__(
        self,
        source: _Text | _Object,
        options: Options,
        settings: Settings,
        only: Collection[str],
        progress: Progress = lambda text: None,
    ) -> None:
        self.source, self.options, self.settings, self.progress = source, options, settings, progress
        self.only = only or KINDS

    def advice(self) -> Advice:
        """Analyse, try, rank."""
        step = self.source.step(self.options)
        traced = api.trace_step(step, self.settings, self.progress)
        self.progress("simulating")
        report = api.report_of(traced, self.settings, self.options)
        tried: list[Tried] = []
        untried: list[Untried] = []
        for one in self._proposals(step, report):
            if isinstance(one, Untried):
                untried.append(one)
                continue
            self.progress(one.name)
            try:
                found = self._analysed(one, step)
            except InternalError:
                raise
            except GraphmemError as error:
                untried.append(Untried(one.kind, one.name, f"{str(error)[0].upper()}{str(error)[1:]}"))
                continue
            tried.append(Tried(one, found, report.needed_bytes - found.needed_bytes))
        tried = sorted(_best_of_each(tried), key=lambda one: (-one.saved_bytes, one.change.name))
        return Advice(report, tuple(tried), tuple(untried), tuple(_notes(report, tried)))

    def _proposals(self, step: Step, report: Report) -> Iterator[Change | Untried]:
        from graphmem.target.advice.seen import seen
        from graphmem.target.rebatch import rebatched

        keras = step.kind != "custom" and len(step.models) == 1
        model = seen(step.models[0], step.optimizers, step.framework) if keras else None
        why_no_batch = "" if keras or (step.batch and rebatched(step, step.batch)) else NO_REBATCH
        why_no_rebuild = self.source.why_no_rebuild or ("" if step.framework != "tf" else "The step uses no Keras.")
        found = proposals(report, model, why_no_rebuild=why_no_rebuild, why_no_batch=why_no_batch)
        yield from (one for one in found if one.kind in self.only)
        if recomputing.KIND not in self.only:
            return
        if keras and step.kind == "train":
            holds = activations(report, step.models[0])
            yield from recomputing.proposals(step.models[0], holds, model is not None and model.normalizes_batch)
        elif step.kind == "custom":
            how = "Write tf.recompute_grad around the blocks of your step's forward pass, and see `graphmem diff`."
            yield Untried(recomputing.KIND, recomputing.NAME, how)

    def _analysed(self, change: Change, step: Step) -> Report:
        """The full analysis of the step after a change."""
        settings = replace(self.settings, runtime=change.runtime) if change.runtime else self.settings
        options = _fresh(self.options)
        with self._changed(change, step, options) as new:
            traced = api.trace_step(new, settings, lambda text: self.progress(text and f"{change.name}: {text}"))
        with collection_paused():
            for name in options.dims:
                options.dims[name]  # used by the step as it was
            return api.report_of(traced, settings, options)

    @contextmanager
    def _changed(self, change: Change, step: Step, options: Options) -> Iterator[Step]:
        from graphmem.target.advice.remake import changed
        from graphmem.target.policy import dtype_policy
        from graphmem.target.rebatch import rebatched

        if change.policy:
            name = self.source.target if isinstance(self.source, _Text) else ""
            with dtype_policy(change.policy, name):
                new = self.source.step(options)
            if change.policy not in new.facts.get("dtype policy", "").split(", "):
                raise TargetError("The target sets a precision of its own.")
            yield new
        elif change.edits or (change.batch and step.kind != "custom"):
            code = change.snippet if change.edits else ""
            live = self.source.is_live(step)
            with changed(step, code, options, batch=change.batch, live=live) as new:
                yield new
        elif change.batch:
            smaller = rebatched(step, change.batch)
            assert smaller is not None  # as was asked before
            yield smaller
        else:
            yield step


def _fresh(options: Options) -> Options:
    return replace(options, dims=dict(options.dims))


def _best_of_each(tried: list[Tried]) -> list[Tried]:
    """Of the several ways to compute parts again only the best."""
    again = [one for one in tried if one.change.kind == recomputing.KIND]
    best = max(again, key=lambda one: one.saved_bytes, default=None)
    return [one for one in tried if one.change.kind != recomputing.KIND or one is best]


def _notes(report: Report, tried: list[Tried]) -> list[str]:
    notes = []
    if report.at_least or any(one.report.at_least for one in tried):
        notes.append("Something has an unknown size, which no figure includes: differences may be larger or smaller.")
    if not any(one.saved_bytes > 0 for one in tried):
        notes.append("None of the changes that were tried would lower the peak.")
    return notes


def activations(report: Report, model: Any) -> dict[str, int]:
    """Layer of a model -> bytes of what its forward pass made and that is alive at the peak."""
    names = {layer.name for layer in getattr(model, "layers", [])}
    names |= {operation.name for operation in getattr(model, "operations", [])}
    found: dict[str, int] = {}
    for buffer in report.frontier:
        if buffer.role == "activation" and buffer.phase == "forward":
            layer = next((part for part in buffer.scope.split("/") if part in names), None)
            if layer is not None:
                found[layer] = found.get(layer, 0) + (buffer.bytes or 0)
    return found
