"""The largest batch, image, sequence or argument with which a step fits into a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from graphmem import api
from graphmem.answers.fit_predict import Predictor
from graphmem.answers.fit_probes import ObjectProbes, Probes, TargetProbes
from graphmem.answers.points import Point, check_filled, places
from graphmem.answers.resize import Unpredicted, same_ops
from graphmem.answers.search import FIRST_STRIDE, Grid, largest, secant
from graphmem.errors import GraphmemError, TargetError
from graphmem.graph.model import StepGraph
from graphmem.settings import Settings
from graphmem.target.step import Options
from graphmem.units import as_bytes, format_bytes

if TYPE_CHECKING:
    from graphmem.report.report import Report

FIRST = {"size": 64, "height": 64, "width": 64}
"""Where the first trace is, by what is varied; elsewhere it is the value after `FIRST_STRIDE` others."""

TRIES = 4
"""First traces, each twice as large, before a size is held to be too small for another reason."""

PATIENCE = 3
"""Traces that a prediction may differ from before it is dropped, if there is no better one."""

MOST_DIVISORS = 64
"""Batches that are tried to reach a target batch."""


@dataclass(frozen=True)
class Accumulation:
    """How a larger batch is reached by adding up the gradients of several steps.

    Attributes:
        target_batch: samples between two updates.
        batch: samples of one step.
        steps: steps between two updates.
        accumulator_bytes: what the added gradients take besides; 0 for one step.
    """

    target_batch: int
    batch: int
    steps: int
    accumulator_bytes: int


@dataclass(frozen=True)
class Fit:
    """The answer.

    Attributes:
        target: as the user named it.
        vary: what is varied.
        budget_bytes: what the allocator may take.
        reserve_bytes: what was left out of the budget or the card for others.
        value: the largest that fits; `None` if none does.
        report: the full analysis at that value; where nothing fits, at the smallest.
        smallest: the smallest value that may be chosen.
        next_value: the next that may be chosen, which does not fit; `None` if `value` is the last one.
        next_report: the full analysis there.
        accumulation: for a target batch; `None` if none is asked for or none fits.
        traces, analyses: how many were made.
        notes: what else is to be known, one sentence each.
    """

    target: str
    vary: str
    budget_bytes: int
    reserve_bytes: int
    value: int | None
    report: Report
    smallest: int
    next_value: int | None
    next_report: Report | None
    accumulation: Accumulation | None
    traces: int
    analyses: int
    notes: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.value is not None

    @property
    def margin_bytes(self) -> int | None:
        """What is left of the budget at the peak; `None` if nothing fits."""
        return None if self.value is None else self.budget_bytes - in_use(self.report)

    def __str__(self) -> str:
        from graphmem.answers.fit_text import as_text

        return as_text(self)


def in_use(report: Report) -> int:
    """Bytes that the allocator has in use at the peak, its rounding included."""
    known = report.allocator.get("peak_in_use_bytes")
    return report.needed_bytes if known is None else int(known)


@dataclass
class Search:
    """One search.

    Attributes:
        probes: the target at values.
        grid: the values that may be chosen.
        strict: whether all orders must fit.
        reports: index -> full analysis.
        predictor: what answers without a trace; `None` where the graphs do not allow it.
        predicted: its last answer, an index.
        wrong: how often it was found not to be exact.
        known: value -> what was traced.
    """

    probes: Probes
    grid: Grid
    strict: bool = False
    reports: dict[int, Report] = field(default_factory=dict)
    predictor: Predictor | None = None
    predicted: int | None = None
    wrong: int = 0
    known: dict[int, Any] = field(default_factory=dict)

    def run(self) -> int:
        """The index of the largest value that fits, -1 if none does."""
        self._begin()
        return largest(len(self.grid), self._fits, self._guess)

    def _begin(self) -> None:
        """The traces that predictions begin with: one at a prime batch, else two."""
        prime = self.probes.prime()
        if prime is not None:
            self._know(prime)
            self._predict({prime: self.known[prime]})
            return
        first = self._first()
        second = min(max(self.grid.below(2 * self.grid.value(first)), first + 1), len(self.grid) - 1)
        if second > first:
            try:
                self._know(self.grid.value(second))
            except GraphmemError:
                return  # too large for the target: the search says so if it comes there
            self._predict(self.known)

    def _first(self) -> int:
        """The index of the first trace; sizes may be too small for a model."""
        start = FIRST.get(self.probes.vary, self.grid.value(FIRST_STRIDE))
        index = min(max(self.grid.below(start), 0), len(self.grid) - 1)
        failed: GraphmemError | None = None
        for _ in range(TRIES if self.probes.vary in FIRST else 1):
            try:
                self._know(self.grid.value(index))
                return index
            except GraphmemError as error:
                failed = failed or error
                index = min(self.grid.below(2 * self.grid.value(index)), len(self.grid) - 1)
        assert failed is not None
        raise failed

    def _know(self, value: int) -> None:
        self.known[value] = self.probes.traced(value)

    def _predict(self, known: dict[int, Any]) -> None:
        """Predict from these graphs, if they allow it."""
        graphs = list(known.values())
        self.predictor = self.predicted = None
        if not graphs or not all(_alike(graphs[0], graph) for graph in graphs):
            return
        options = self.probes.options(max(known))
        made = Predictor(dict(known), self.probes.settings, options, self.strict)
        if self.probes.by_batch or not made.loops:
            self.predictor = made

    def _fits(self, index: int) -> bool:
        """By a full analysis; the predictions are held against it."""
        value = self.grid.value(index)
        report = self.reports[index] = self.probes.report(value)
        self._check_changes()
        self._know(value)
        graph = self.known[value]
        if self.predictor is not None and not self.predictor.agrees(value, graph):
            near = sorted(self.known, key=lambda other: abs(other - value))[1:]
            twin = next((other for other in near if _alike(self.known[other], graph)), None)
            self.wrong += 1
            if twin is not None or self.wrong >= PATIENCE:  # until then a prediction that is nearly right is better
                self._predict({value: graph, twin: self.known[twin]} if twin is not None else {})
        return passes(report, self.strict)

    def _guess(self, low: int, high: int) -> int:
        if self.predictor is not None:
            if low == self.predicted:
                return low + 1  # it was the largest, and is
            try:
                self.probes.progress("predicting")
                self.predicted = self.predictor.best(self.grid, low, high)
                return self.predicted
            except Unpredicted:
                self.predictor = None
        for value in sorted(self.known):
            index = self.grid.below(value)
            if low < index < high and self.grid.value(index) == value:
                return index  # traced already
        needs = {index: in_use(report) for index, report in self.reports.items()}
        return secant(needs, self.probes.settings.limit or 0, low, high)

    def _check_changes(self) -> None:
        """Raises TargetError where what is varied makes no difference."""
        needs = {report.needed_bytes for report in self.reports.values()}
        if len(self.reports) > 2 and len(needs) == 1:
            values = ", ".join(str(self.grid.value(index)) for index in sorted(self.reports))
            raise TargetError(f"{self.probes.vary} changes nothing: the step needs the same at {values}; vary another.")

    def accumulate(self, index: int, target_batch: int) -> Accumulation | None:
        """The largest batch, of those that divide the target batch, that fits beside the gradients added up."""
        settings = self.probes.settings
        if target_batch <= self.grid.value(index):
            return Accumulation(target_batch, target_batch, 1, 0)
        graph = self.known[self.grid.value(index)]
        graph = graph if isinstance(graph, StepGraph) else graph.graph
        extra = sum(one.nbytes or 0 for one in graph.variables if one.trainable and one.role == "weight")
        left = (settings.limit or 0) - extra
        if left < 1:
            return None
        tighter = replace(settings, memory=left)
        batches = [batch for batch in range(self.grid.value(index), 0, -1) if target_batch % batch == 0]
        for batch in batches[:MOST_DIVISORS]:
            if self.grid.value(self.grid.below(batch)) != batch or batch < self.grid.value(0):
                continue
            if self.predictor is not None and not self.predictor.fits(batch, limit=left):
                continue
            if passes(self.probes.report_within(batch, tighter), self.strict):
                return Accumulation(target_batch, batch, target_batch // batch, extra)
        return None


def passes(report: Report, strict: bool = False) -> bool:
    """Whether a step is said to fit into its memory: in most orders, or with `strict` in all."""
    return report.allocator["fails"] is None and not (strict and report.allocator["failing_orders"])


def _alike(a: Any, b: Any) -> bool:
    return isinstance(a, StepGraph) and isinstance(b, StepGraph) and same_ops(a, b)


def search_target(
    point: Point,
    vary: str,
    grid: Grid,
    *,
    strict: bool = False,
    target_batch: int | None = None,
    reserve: int = 0,
    progress: Callable[[str], None] = lambda text: None,
) -> Fit:
    """The largest value with which what a text names fits.

    Args:
        point: the target; the limit of its settings is the budget.
        vary: "batch", "size", "height", "width", a place of the target, or a dimension that `--set` names.
        grid: the values that may be chosen.
        strict: whether every legal order must fit.
        target_batch: samples between two updates, to be reached by accumulation.
        reserve: bytes that were taken off the budget, for the answer.
        progress: told what goes on.

    Raises:
        TargetError: no budget, or the target cannot be varied so.
        UserCodeError: the user's code raised.
    """
    from graphmem.graph import store
    from graphmem.target.resolve import check_target

    _check(point.settings, vary, target_batch)
    check_filled(point, {vary: None})
    if store.is_trace(point.target):
        raise TargetError(
            f"{point.target} is a saved trace, which has one size: name the target that it was traced from."
        )
    check_target(point.at(vary, grid.value(0)).target)
    with api.tracing(progress):
        search = Search(TargetProbes(point, vary, progress), grid, strict)
        return _answer(search, point.target, target_batch, reserve)


def _check(settings: Settings, vary: str, target_batch: int | None) -> None:
    if settings.limit is None:
        raise TargetError('there is no budget: give --budget 6GiB, or a card, such as --device "RTX 3060 12GB".')
    if target_batch is not None and vary != "batch":
        raise TargetError(f"--target-batch is reached by smaller batches; it does not go with --vary {vary}.")


def _answer(search: Search, target: str, target_batch: int | None, reserve: int) -> Fit:
    """Search, and say what was found."""
    index = search.run()
    grid, reports, probes = search.grid, search.reports, search.probes
    report = reports[max(index, 0)]
    if target_batch is not None and report.step != "train":
        raise TargetError(f"--target-batch is for a step that trains; this is a {report.step} step.")
    following = index + 1 if 0 <= index < len(grid) - 1 else None
    accumulation = search.accumulate(index, target_batch) if target_batch is not None and index >= 0 else None
    limit = probes.settings.limit
    assert limit is not None
    return Fit(
        target=target,
        vary=probes.vary,
        budget_bytes=limit,
        reserve_bytes=reserve,
        value=grid.value(index) if index >= 0 else None,
        report=report,
        smallest=grid.value(0),
        next_value=None if following is None else grid.value(following),
        next_report=None if following is None else reports[following],
        accumulation=accumulation,
        traces=probes.traces,
        analyses=probes.reports,
        notes=_notes(search, index, accumulation, target_batch),
    )


def _notes(search: Search, index: int, accumulation: Accumulation | None, target_batch: int | None) -> list[str]:
    grid, vary = search.grid, search.probes.vary
    report = search.reports[max(index, 0)]
    notes = []
    if index == len(grid) - 1:
        notes.append(f"{grid.value(index)} is the largest {vary} that --max allows")
    if report.at_least:
        notes.append("something in the step has an unknown size, which is not counted: less may fit")
    failing, orders = report.allocator["failing_orders"], report.orders
    if index >= 0 and failing:
        notes.append(
            f"in {failing} of {orders} legal orders of the ops it would not fit; --strict finds what fits in all"
        )
    if target_batch is not None and index >= 0 and accumulation is None:
        notes.append(f"no batch that divides {target_batch} fits together with the gradients added up")
    return notes


def fit(
    target: Any,
    *specs: Any,
    budget: int | str | None = None,
    reserve: int | str = 0,
    vary: str | None = None,
    multiple_of: int = 1,
    power_of_two: bool = False,
    least: int = 1,
    most: int = 1 << 20,
    target_batch: int | None = None,
    strict: bool = False,
    step: str | None = None,
    batch: int | None = None,
    inputs: tuple[str, ...] = (),
    dims: dict[str, int] | None = None,
    loss: str | None = None,
    optimizer: str | None = None,
    **settings: Any,
) -> Fit:
    """Find the largest batch, size, dimension or argument with which a step fits into a budget.

    Args:
        target: as `graphmem.analyze` takes it; a text may have a `?` for an argument ("model.py:build(width=?)"). A
            function with a parameter called `vary` is called with each value.
        specs: as `graphmem.analyze` takes them.
        budget: bytes or a text such as "6GiB"; `None`: what TensorFlow takes of the card that `device` names.
        reserve: what others need of it.
        vary: "batch" (default), "size" (image height and width), "height", "width", the name of an argument written as
            `?`, or a dimension that `dims` would name.
        multiple_of, power_of_two, least, most: which values may be chosen.
        target_batch: samples between two updates, to be reached by gradient accumulation.
        strict: whether the step must fit in every legal order, not in most.
        step, batch, inputs, dims, loss, optimizer, settings: as `graphmem.analyze` takes them.

    Returns:
        A `Fit`, which is true if something fits.

    Raises:
        TargetError, UserCodeError: as `graphmem.analyze`; or there is no budget.
    """
    within = with_budget(Settings(**settings), budget, reserve)
    options = Options(step, batch, tuple(inputs), dict(dims or {}), loss, optimizer)
    grid = Grid(least, most, multiple_of, power_of_two)
    named, kept = api.named_target(target, specs), as_bytes(reserve)
    if named is not None:
        point = Point(named, options, within)
        return search_target(point, vary or varied(point), grid, strict=strict, target_batch=target_batch, reserve=kept)
    vary = vary or "batch"
    _check(within, vary, target_batch)
    probes = ObjectProbes(target, specs, options, within, vary, lambda text: None)
    name = str(getattr(target, "name", None) or getattr(target, "__name__", None) or type(target).__name__)
    return _answer(Search(probes, grid, strict), name, target_batch, kept)


def varied(point: Point) -> str:
    """What is varied where nobody says: the only place of the target, else the batch.

    Raises:
        TargetError: there are several places.
    """
    found = places(point.target, point.options.script_args)
    if len(found) > 1:
        raise TargetError(f"{point.target} has several places ({', '.join(found)}); leave one ?, and fill the others.")
    return found[0] if found else "batch"


def with_budget(settings: Settings, budget: int | str | None, reserve: int | str) -> Settings:
    """The settings with the budget as their memory, less what is kept for others.

    Raises:
        TargetError: nothing is left.
    """
    limit, kept = settings.limit if budget is None else as_bytes(budget), as_bytes(reserve)
    if limit is None:
        return settings
    if limit <= kept:
        raise TargetError(f"of {format_bytes(limit)} nothing is left if {format_bytes(kept)} are kept for others.")
    return replace(settings, memory=limit - kept)
