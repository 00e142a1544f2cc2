"""A step as the runtime that would run it: traced for the op-by-op executor, or compiled by XLA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graphmem.errors import CompilerMissing, GraphmemError, InternalError
from graphmem.settings import Settings

if TYPE_CHECKING:
    from graphmem.graph.model import Made, StepGraph, Variable
    from graphmem.runtime.simulate import Simulation
    from graphmem.target.step import Step
    from graphmem.trace.hlo import Lowered
    from graphmem.xla.compiled import CompiledHlo

Progress = Callable[[str], None]

_STAND_IN = (
    "stands in for XLA's GPU compiler, which is not installed: other fusions and layouts, off by tens of per cent; "
    "pip install 'graphmem[xla-gpu]' for the real one"
)


def run_by(step: Step, settings: Settings, progress: Progress) -> StepGraph | Simulation:
    """The step as its runtime has it: a graph whose orders are to be drawn, or what XLA has laid out already.

    With `runtime="auto"` a step that XLA cannot compile, or whose compiler fails, is shown op by op, and why is said.

    Raises:
        TargetError, UserCodeError: the step cannot be traced, or, where XLA was asked for, not compiled.
        CompilerError: XLA was asked for and its compiler failed.
    """
    device = settings.on
    runtime, why = (settings.runtime, "") if settings.runtime != "auto" else step.jit.runtime(device.kind)
    if runtime == "xla":
        try:
            return _compiled(step, settings, why, progress)
        except InternalError:
            raise
        except GraphmemError as error:
            if settings.runtime == "xla":
                raise
            why = f"XLA, which the step asks for, does not do: {str(error).rstrip('.')}"
    from graphmem.runtime.element_shapes import element_shapes
    from graphmem.trace.tracer import ARCHITECTURE, GPU_MEMORY, trace

    card = device.card if device.named else None
    graph = trace(
        step, device=device.kind, rewrite=settings.rewrite, progress=progress,
        architecture=card.architecture if card else ARCHITECTURE, gpu_memory=settings.limit or GPU_MEMORY,
        elements=element_shapes,
    )  # fmt: skip
    graph.info |= {"runtime_why": why, "card": card.name if card else ""}
    return graph


def _compiled(step: Step, settings: Settings, why: str, progress: Progress) -> Simulation:
    from graphmem.trace.hlo import hlo_of
    from graphmem.trace.tracer import info_of
    from graphmem.xla.read import read

    step = step.for_xla()
    lowered = hlo_of(step, progress=progress)
    info = info_of(step, settings.on.kind, rewrite=True)
    info |= {"runtime_why": why, "card": settings.on.card.name if settings.on.card and settings.on.named else ""}
    meaning = _meaning(step, lowered)
    compiled = _compile(lowered, settings, info, None, progress)
    progress("reading what XLA made")
    simulation = read(compiled, meaning, info)
    simulation.graph.made = _made(lowered, simulation.graph.variables)
    short = _memory_short(simulation, settings)
    if short is not None and compiled.platform == "gpu":
        tight = read(_compile(lowered, settings, info, short, progress), meaning, info)
        simulation.graph.info["xla"]["short"] = tight.graph.info["xla"]
    return simulation


def _compile(
    lowered: Lowered, settings: Settings, info: dict[str, Any], memory: int | None, progress: Progress
) -> CompiledHlo:
    """Compile for the device; for a GPU without its compiler, as the CPU's would."""
    from graphmem.trace.xla_cpu import program_of
    from graphmem.xla.compiler import compile_cpu, compile_gpu

    card = settings.on.card
    if card is not None:
        progress(f"compiling for {card.name}")
        try:
            return compile_gpu(lowered.hlo, card, memory=memory, progress=progress)
        except CompilerMissing:
            info["xla_stand_in"] = f"TensorFlow's XLA:CPU {_STAND_IN}"
    progress("compiling for the CPU")
    return compile_cpu(program_of(lowered.concrete), info["versions"]["tensorflow"], progress=progress)


def _meaning(step: Step, lowered: Lowered) -> Any:
    from graphmem.trace.sources import lines_of
    from graphmem.xla.step import Meaning

    given: dict[str, list[Any]] = {"argument": lowered.arguments, "variable": lowered.variables}
    taken = {index for kind, index in lowered.parameters if kind == "variable"}
    return Meaning(
        parameters=[given[kind][index] for kind, index in lowered.parameters],
        others=[variable for index, variable in enumerate(lowered.variables) if index not in taken],
        scopes=lowered.scopes,
        optimizers=[getattr(optimizer, "name", "") for optimizer in step.optimizers],
        lines=lines_of(lowered.concrete, step.user_files),
    )


def _made(lowered: Lowered, variables: list[Variable]) -> list[Made]:
    """How the variables were made, in the numbers that they have in the graph of what XLA compiled."""
    numbers = {id(variable): number for number, variable in enumerate(variables)}
    return [
        replace(one, variable=-1 if one.variable < 0 else numbers[id(lowered.variables[one.variable])])
        for one in lowered.made
    ]


def _memory_short(simulation: Simulation, settings: Settings) -> int | None:
    """The memory that the step does not fit into without recomputing, as XLA would be told it; `None`: it fits."""
    limit, card = settings.limit, settings.on.card
    xla = simulation.graph.info["xla"]
    needed = xla["parameter_bytes"] + xla["output_bytes"] + xla["temp_bytes"] + xla["constant_bytes"]
    if limit is None or needed <= limit:
        return None
    return card.memory_bytes if card is not None and settings.memory is None else limit
