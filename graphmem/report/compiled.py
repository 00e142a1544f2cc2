"""What a report says of a step that XLA compiled: `StepGraph.info["xla"]`, from `graphmem.xla.read`, in words."""

from __future__ import annotations

from typing import Any

from graphmem.runtime.simulate import Simulation
from graphmem.units import format_bytes

#: Instructions that compute nothing: what they stand for is in memory already.
_NO_WORK = ("parameter", "constant", "bitcast")


def is_compiled(simulation: Simulation) -> bool:
    """Whether XLA compiled the step."""
    return bool(simulation.graph.info.get("runtime") == "xla")


def executed_ops(simulation: Simulation) -> int:
    """How many instructions do something."""
    return sum(bool(op.outputs) and op.type not in _NO_WORK for op in simulation.graph.ops)


def naive_sum(simulation: Simulation) -> int:
    """All that the instructions write, as if nothing were ever freed, shared or updated in place (bytes)."""
    ops = (op for op in simulation.graph.ops if op.type not in ("parameter", "bitcast"))
    return sum(tensor.nbytes or 0 for op in ops for tensor in op.outputs)


def facts(simulation: Simulation) -> dict[str, str]:
    """What decides the figure besides the model, as short texts."""
    info = simulation.graph.info
    known = {name: text for name, text in info.get("facts", {}).items() if name != "framework"}  # see `versions`
    xla = info["xla"]
    known["compiler"] = xla["compiler"]
    known["compiled for"] = xla["target"]
    if simulation.env.device == "gpu":
        memory = xla["device_memory_bytes"]
        known["device memory"] = "as much as it needs" if memory is None else format_bytes(memory)
    if xla["flags"]:
        known["XLA_FLAGS"] = " ".join(xla["flags"])
    return known


def allocator_fields(simulation: Simulation, base: int, limit: int | None = None) -> dict[str, Any]:
    """`Report.allocator` of a step that XLA compiled.

    Args:
        base: what is in use before the step (bytes).
        limit: what may be in use at most; `None`: any amount.
    """
    xla = simulation.graph.info["xla"]
    peak = base + xla["output_bytes"] + xla["temp_bytes"]
    left = (limit or peak) - base - xla["output_bytes"]
    fails = None if limit is None or peak <= limit else {
        "when": "the step, when XLA allocates its temporary memory", "op": "", "op_type": "", "scope": "",
        "requested_bytes": xla["temp_bytes"], "free_bytes": max(0, left), "largest_free_bytes": max(0, left),
    }  # fmt: skip
    return {
        "name": "xla", "limit_bytes": limit, "base_in_use_bytes": base, "peak_in_use_bytes": peak,
        "peak_in_use_range_bytes": [peak, peak], "pool_bytes": None, "fragmentation": None, "fails": fails,
        "failing_orders": int(fails is not None), "temp_bytes": xla["temp_bytes"],
    }  # fmt: skip


def limit_notes(allocator: dict[str, Any]) -> list[str]:
    """Whether the limit is enough for what XLA asks for, in a sentence, if there is one."""
    if allocator["name"] != "xla" or allocator["limit_bytes"] is None:
        return []
    limit, peak = format_bytes(allocator["limit_bytes"]), format_bytes(allocator["peak_in_use_bytes"])
    if allocator["fails"] is None:
        return [f"{limit} are enough for what XLA asks for, {peak}"]
    return [f"{limit} are not enough for what XLA asks for, {peak}: the step would raise ResourceExhaustedError"]


def not_counted(simulation: Simulation) -> list[str]:
    """What the figures leave out, one sentence each."""
    common = [
        "the rounding of TensorFlow's allocator: figures are the bytes that XLA asks for",
        "the input pipeline: prefetched batches, shuffle buffers, and data held by the program",
        "Python, TensorFlow's own code and threads, and the compiled program itself",
    ]
    if simulation.env.device != "gpu":
        return ["what matrix products and convolutions allocate for themselves while they run", *common]
    out = ["the CUDA context, loaded kernels and library handles"]
    without = _without_workspace(simulation)
    if without:
        out.append(
            f"cuDNN workspaces of {without} convolutions: their algorithms are chosen on the device, when the step is "
            "compiled there, and what the chosen one needs is then part of the temporary memory"
        )
    return [*out, "autotuning while the step is compiled on the device", *common]


def findings(simulation: Simulation) -> list[str]:
    """Assumptions and findings, one sentence each."""
    info = simulation.graph.info
    xla, found = info["xla"], list(info.get("notes", []))
    if info.get("xla_stand_in"):
        found.insert(0, info["xla_stand_in"])
    if "short" in xla:
        short = xla["short"]
        found.append(
            f"told that the device has {format_bytes(short['device_memory_bytes'])}, XLA computes "
            f"{short['recomputed']:,} values again ({format_bytes(short['recomputed_bytes'])}) to save memory, and "
            f"takes {format_bytes(short['temp_bytes'])} of temporary memory "
            f"instead of {format_bytes(xla['temp_bytes'])}"
        )
    if xla["recomputed"]:
        values = "1 value" if xla["recomputed"] == 1 else f"{xla['recomputed']:,} values"
        found.append(
            f"XLA computes {values} again ({format_bytes(xla['recomputed_bytes'])}) to fit into the "
            f"device's memory: with more memory the step runs faster and takes more"
        )
    if xla["host_temp_bytes"]:
        found.append(f"{format_bytes(xla['host_temp_bytes'])} of temporary memory lie in the host's memory")
    if any(op.type == "while" for op in simulation.graph.ops):
        found.append("loops are in the schedule once: every iteration has the same memory")
    return found


def _without_workspace(simulation: Simulation) -> int:
    """How many cuDNN calls have no workspace."""
    graph, lives = simulation.graph, simulation.lifetimes
    having = {op for op, slot in zip(lives.op, lives.slot, strict=True) if slot < 0}
    calls = (place for place, op in enumerate(graph.ops) if op.type.startswith("cudnn$conv"))
    return sum(place not in having for place in calls)
