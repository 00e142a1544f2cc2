"""From a simulation to a report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graphmem.graph.model import StepGraph
from graphmem.report import attribute, compiled, notes
from graphmem.report.allocation import allocation_notes, allocator_fields
from graphmem.report.report import PeakPoint, Report
from graphmem.report.workspace import conv_workspace, workspace_notes
from graphmem.runtime.allocations import Allocations
from graphmem.runtime.simulate import Simulation


def build_report(simulation: Simulation, allocations: Allocations | None = None, *, limit: int | None = None) -> Report:
    """Everything that graphmem says about one simulated step; `StepGraph.info` says what was traced and how.

    Args:
        simulation: the step in its typical order.
        allocations: what an allocator made of it, if one was simulated.
        limit: bytes that a step which XLA compiled may take; `None`: any amount.
    """
    graph, info = simulation.graph, simulation.graph.info
    rows = attribute.frontier(simulation)
    by_xla = compiled.is_compiled(simulation)
    words = compiled if by_xla else notes
    unknown_ops = {} if by_xla else notes.unknown_ops(simulation)
    unknown_sizes = notes.unknown_sizes(simulation)
    at_least = bool(
        info.get("lower_bound")
        or unknown_ops
        or unknown_sizes
        or simulation.schedule.at_least
        or simulation.lifetimes.unknown
    )
    allocator = _allocator(simulation, allocations, limit)
    workspace = {} if by_xla else conv_workspace(simulation)
    return Report(
        target=info.get("target", ""),
        step=info.get("step", "custom"),
        runtime="xla" if by_xla else "graph",
        device=simulation.env.device,
        order=simulation.order,
        orders=len(simulation.peaks),
        batch=info.get("batch"),
        versions=dict(info.get("versions", {})),
        facts=words.facts(simulation),
        ops=compiled.executed_ops(simulation) if by_xla else len(graph.ops),
        unknown_ops=unknown_ops,
        unknown_sizes=unknown_sizes,
        at_least=at_least,
        weight_bytes=_variables(graph, "weight"),
        optimizer_bytes=_variables(graph, "optimizer state"),
        other_state_bytes=_variables(graph, "other state"),
        argument_bytes=_arguments(graph),
        constant_bytes=_constants(simulation),
        output_bytes=_outputs(simulation),
        step_peak_bytes=simulation.peak,
        step_peak_range_bytes=(min(simulation.peaks), max(simulation.peaks)),
        naive_sum_bytes=compiled.naive_sum(simulation) if by_xla else _naive_sum(simulation),
        peak=_peak_point(simulation),
        by_role=attribute.by_role(rows),
        by_phase=attribute.by_phase(rows),
        by_role_phase=attribute.by_role_phase(rows),
        by_op_type=attribute.by_op_type(rows),
        by_source=attribute.by_source(rows),
        by_scope=attribute.by_scope(rows),
        frontier=rows,
        not_counted=words.not_counted(simulation),
        notes=[
            *words.findings(simulation),
            *workspace_notes(workspace),
            *allocation_notes(graph, allocations),
            *compiled.limit_notes(allocator),
        ],
        allocator=allocator,
        conv_workspace=workspace,
        runtime_reason=info.get("runtime_why", ""),
        card=info.get("card", ""),
        timeline=replace(attribute.timeline_by_role(simulation), held=_held(simulation)),
        variables_by_scope=attribute.variables_by_scope(graph),
        simulation=simulation,
    )


def _allocator(simulation: Simulation, allocations: Allocations | None, limit: int | None) -> dict[str, Any]:
    graph = simulation.graph
    if allocations is not None or not compiled.is_compiled(simulation):
        return allocator_fields(graph, allocations)
    variables = sum(variable.nbytes or 0 for variable in graph.variables if variable.role != "constant")
    return compiled.allocator_fields(simulation, variables + _constants(simulation) + _arguments(graph), limit)


def _arguments(graph: StepGraph) -> int:
    return sum(argument.nbytes or 0 for argument in graph.arguments)


def _variables(graph: StepGraph, role: str) -> int:
    return sum(variable.nbytes or 0 for variable in graph.variables if variable.role == role)


def _constants(simulation: Simulation) -> int:
    """Constants of the graph and tensors that the function captured: alive as long as the function is."""
    if compiled.is_compiled(simulation):
        return int(simulation.graph.info["xla"]["constant_bytes"]) + _variables(simulation.graph, "constant")
    on_gpu = simulation.env.device == "gpu"
    made = sum(
        tensor.nbytes or 0
        for op in simulation.graph.ops
        if op.type == "Const" and not (on_gpu and op.device != "gpu")
        for tensor in op.outputs
        if not (on_gpu and tensor.host)
    )
    return made + _variables(simulation.graph, "constant")


def _outputs(simulation: Simulation) -> int:
    """What is allocated for results before the step starts, as XLA does (bytes)."""
    return int(simulation.graph.info["xla"]["output_bytes"]) if compiled.is_compiled(simulation) else 0


def _held(simulation: Simulation) -> dict[str, int]:
    """Role -> bytes that are there for the whole step, those that `Report.needed_bytes` has besides the step peak."""
    graph = simulation.graph
    sizes = {role: _variables(graph, role) for role in ("weight", "optimizer state", "other state")}
    sizes |= {"input": _arguments(graph), "constant": _constants(simulation), "output": _outputs(simulation)}
    return {role: size for role, size in sizes.items() if size}


def _naive_sum(simulation: Simulation) -> int:
    """All tensors that the ops of the step write, as if nothing were ever freed, shared or updated in place."""
    sizes: list[int] = []
    for op in simulation.graph.ops:
        sizes.append(0 if op.type == "_Arg" else sum(tensor.nbytes or 0 for tensor in op.outputs))
    return sum(sizes[index] for index in simulation.schedule.ops)


def _peak_point(simulation: Simulation) -> PeakPoint:
    order: Any = simulation.schedule.ops
    if not order:
        return PeakPoint("", "", "", "forward", 0, 0)
    op = simulation.graph.ops[order[simulation.position]]
    return PeakPoint(op.name, op.type, op.scope, op.phase, simulation.position, len(order))
