"""The whole way: what the user names → step → trace → simulation → report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from graphmem.collector import collection_paused, existing_objects_kept
from graphmem.errors import TargetError
from graphmem.graph import store
from graphmem.graph.model import StepGraph
from graphmem.report.report import Report
from graphmem.runtimes import run_by
from graphmem.settings import REFERENCE_L3_BYTES, Settings
from graphmem.target.step import Options, Step

if TYPE_CHECKING:
    from graphmem.ops.registry import Env
    from graphmem.runtime.simulate import Simulation

    Traced = StepGraph | Simulation


def analyze(
    target: Any,
    *specs: Any,
    step: str | None = None,
    batch: int | None = None,
    inputs: tuple[str, ...] = (),
    dims: dict[str, int] | None = None,
    loss: str | None = None,
    optimizer: str | None = None,
    device: str = "auto",
    runtime: str = "auto",
    order: str = "default",
    orders: int | None = None,
    warmup: int = 0,
    threads: int | None = None,
    l3_bytes: int = REFERENCE_L3_BYTES,
    rewrite: bool = True,
    allocator: str | None = None,
    memory: int | None = None,
    conv_workspace: str = "none",
) -> Report:
    """Analyse one step of a model or function. Nothing trains; a live model's weights and state stay as they are.

    Args:
        target: a Keras model, a `tf.function` or callable, a factory of either, a `(step, args)` pair, or a text as on
            the command line ("model.py:build(width=2)", "app:ResNet50", "net.keras", "step.graphmem").
        specs: `tf.TensorSpec`s or example tensors: for a model the inputs and, if wanted, labels and sample weights of
            a batch; for a function its arguments.
        step: "train" (default), "test" or "predict" of a model.
        batch: samples per step where the target leaves it open.
        inputs: specs as text, "NAME:DTYPE:SHAPE".
        dims: open dimensions by name, and trip counts of loops that cannot be told.
        loss, optimizer: Keras names for a model that is not compiled.
        device: "cpu", "gpu", "auto" (a GPU of this machine, else its CPU), or a card by name, "RTX 3060 12GB".
        runtime: "graph" (op by op), "xla" (compiled), or "auto": what the target and the device decide.
        order: "default", "deterministic", "graph" or "breadth-first".
        orders: how many legal orders the range is taken over; `None`: a default.
        warmup: calls of the step before this one; on a CPU, what proves cheap in some 90 runs runs earlier then.
        threads: intra-op threads; `None`: this machine's cores.
        l3_bytes: the CPU's L3 cache, which only 3D convolution gradients depend on.
        rewrite: whether TensorFlow's graph rewrites are applied.
        allocator: "exact", "bfc" or "async": whose count of the bytes in use `Report.allocator` tells; `None`: "exact",
            or "bfc" if `memory` is given.
        memory: bytes that the allocator may take; if given, `Report.allocator["fails"]` tells whether they are enough.
        conv_workspace: what is counted of cuDNN's workspace for convolutions, which no step needs: "none", "typical" or
            "limit".

    Raises:
        TargetError: the target or an option is bad, or a dimension is missing.
        UserCodeError: the user's code raised, or its step cannot be traced.
    """
    settings = Settings(
        device=device, runtime=runtime, order=order, orders=orders, warmup=warmup, threads=threads, l3_bytes=l3_bytes,
        rewrite=rewrite, allocator=allocator, memory=memory, conv_workspace=conv_workspace,
    )  # fmt: skip
    options = Options(step, batch, tuple(inputs), dict(dims or {}), loss, optimizer)
    named = named_target(target, specs)
    if named is not None:
        return analyze_target(named, options, settings)
    return report_of(trace_object(target, specs, options, settings), settings, options)


def named_target(target: Any, specs: tuple[Any, ...]) -> str | None:
    """The text that names a target, `None` if it is an object.

    Raises:
        TargetError: specs are given beside a text.
    """
    if not isinstance(target, (str, os.PathLike)):
        return None
    if specs:
        raise TargetError('give the inputs of a target in a file with inputs=("NAME:DTYPE:SHAPE", …).')
    return os.fspath(target)


def analyze_target(
    target: str, options: Options, settings: Settings, progress: Callable[[str], None] = lambda text: None
) -> Report:
    """Analyse what a text names: see `analyze` and `graphmem peak --help`.

    Args:
        progress: told what goes on, a few words each.
    """
    if store.is_trace(target):
        traced = _load_trace(target, options, settings)
    else:
        traced = _trace_target(target, options, [settings], progress)[0]
    progress("simulating")
    return report_of(traced, settings, options)


def analyze_each(
    target: str, options: Options, each: Sequence[Settings], progress: Callable[[str], None] = lambda text: None
) -> list[Report]:
    """Analyse one step under several settings; the target is built once. See `analyze_target`."""
    if store.is_trace(target):
        return [analyze_target(target, options, settings, progress) for settings in each]
    traced = _trace_target(target, options, each, progress)
    progress("simulating")
    return [report_of(one, settings, options) for one, settings in zip(traced, each, strict=True)]


def load(path: str | os.PathLike[str]) -> Report:
    """The report of a file that graphmem wrote: a saved report (`.json`) or a saved trace (`.graphmem`).

    Raises:
        TargetError: the file is missing, damaged, or neither.
    """
    import json

    name = os.fspath(path)
    if store.is_trace(name):
        return analyze_target(name, Options(), Settings())
    try:
        with open(name, encoding="utf-8") as file:
            return Report.from_dict(json.load(file))
    except OSError as error:
        raise TargetError(f"{name} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise TargetError(f"{name} is neither a report nor a trace that graphmem wrote.") from error


def _trace_target(
    target: str, options: Options, each: Sequence[Settings], progress: Callable[[str], None]
) -> list[Traced]:
    """What the target is under each of several settings."""
    from graphmem.target.resolve import check_target

    check_target(target)  # a misspelt one is told before TensorFlow is imported
    with tracing(progress):
        from graphmem.target.resolve import resolve

        step = resolve(target, options)
        return [trace_step(step, settings, progress) for settings in each]


@contextmanager
def tracing(progress: Callable[[str], None] = lambda text: None) -> Iterator[None]:
    """Within the block TensorFlow is imported, and steps can be resolved and traced: variables own no memory."""
    from graphmem.trace import environment

    environment.prepare()
    progress("importing TensorFlow")
    with collection_paused():
        import graphmem.target.resolve  # noqa: F401
        from graphmem.target.jit import compiles_watched
        from graphmem.target.weightless import weightless

    progress("building")
    with existing_objects_kept(), weightless(), compiles_watched():
        yield


def trace_step(step: Step, settings: Settings, progress: Callable[[str], None] = lambda text: None) -> Traced:
    """A step as its runtime has it, ready for `report_of`; to be called within `tracing()`."""
    return _with_onednn(run_by(step, settings, progress))


def trace_object(target: Any, specs: tuple[Any, ...], options: Options, settings: Settings) -> Traced:
    """What an object that `analyze` takes is under these settings, ready for `report_of`."""
    from graphmem.trace import environment

    environment.prepare()
    from graphmem.target.weightless import weightless

    with weightless():
        step = step_of_any(target, specs, options)
        traced = run_by(step, settings, lambda text: None)
    return _with_onednn(traced)


def step_of_any(target: Any, specs: tuple[Any, ...], options: Options) -> Step:
    """The step of an object that `analyze` takes; to be called where variables own no memory."""
    from graphmem.target.functions import step_of_pair
    from graphmem.target.keras_models import is_model, step_of_model
    from graphmem.target.objects import step_of_object
    from graphmem.target.weightless import making

    making().begin()
    name = str(getattr(target, "name", None) or getattr(target, "__name__", None) or type(target).__name__)
    if is_model(target):
        return step_of_model(target, options, specs=specs or None, target=name, live=True)
    if specs and callable(target):
        return step_of_pair(target, specs, options, name)
    return step_of_object(target, options, name, set(), live=True)


def _with_onednn(traced: Traced) -> Traced:
    """The same, knowing whether TensorFlow would turn oneDNN on here."""
    from graphmem.trace import environment

    graph = traced if isinstance(traced, StepGraph) else traced.graph
    graph.info["onednn_here"] = environment.wants_onednn()
    return traced


@collection_paused()
def report_of(traced: Traced, settings: Settings, options: Options) -> Report:
    """The report of what was traced: orders drawn, the allocator replayed."""
    from graphmem.report.build import build_report
    from graphmem.runtime.allocations import replay_all
    from graphmem.runtime.simulate import draw
    from graphmem.runtime.typical import typical

    if not isinstance(traced, StepGraph):
        _no_unused(options)
        return build_report(traced, limit=settings.limit)
    env = env_of(traced, settings)
    drawn = draw(
        traced, order=settings.order, orders=settings.orders, env=env, trips=options.dims, warmup=settings.warmup
    )
    _no_unused(options)
    allocations = replay_all(drawn, settings.replayed, settings.limit) if settings.replayed else None
    return build_report(drawn[typical([simulation.peak for simulation in drawn])], allocations)


def env_of(graph: StepGraph, settings: Settings) -> Env:
    """What formulas of ops depend on besides the op, for a step that was traced."""
    from graphmem.ops.registry import Env

    return Env(
        threads=settings.threads or os.cpu_count() or 1, device=graph.info.get("device", "cpu"),
        l3_bytes=settings.l3_bytes, architecture=graph.info.get("architecture", "8.0"),
        conv_workspace=settings.conv_workspace,
    )  # fmt: skip


def _no_unused(options: Options) -> None:
    if options.unused_dims:
        names = ", ".join(options.unused_dims)
        raise TargetError(f"--set {names}: the step has no open dimension and no loop of that name; leave it out.")


def _load_trace(target: str, options: Options, settings: Settings) -> Traced:
    graph = store.load_trace(target)
    _agree(graph, options, settings, target)
    if graph.info.get("runtime") != "xla":
        return graph
    from graphmem.runtime.compiled import from_lifetimes

    return from_lifetimes(graph)


def _agree(graph: StepGraph, options: Options, settings: Settings, target: str) -> None:
    """A saved trace is of one step on one device: what would need a new trace is refused, not ignored.

    Raises:
        TargetError: an option asks for another step.
    """
    asked = {
        "--step": options.kind and options.kind != graph.info.get("step"),
        "--batch": options.batch and options.batch != graph.info.get("batch"),
        "--input": bool(options.inputs),
        "--loss": options.loss,
        "--optimizer": options.optimizer,
        "--device": _other_device(settings, graph),
        "--runtime": settings.runtime not in ("auto", graph.info.get("runtime", "graph")),
        "--no-rewrite": settings.rewrite != graph.info.get("rewrite", True),
    }
    wrong = [name for name, differs in asked.items() if differs]
    if wrong:
        raise TargetError(
            f"{target} is a saved trace, which {', '.join(wrong)} cannot change: trace the model again with "
            f"{'it' if len(wrong) == 1 else 'them'}."
        )


def _other_device(settings: Settings, graph: StepGraph) -> bool:
    """Whether a device was named that the trace is not of."""
    traced, card = graph.info.get("device", "cpu"), graph.info.get("card", "")
    if settings.device == "auto":
        return False
    return settings.on.kind != traced or bool(settings.on.named and settings.on.name != card)
