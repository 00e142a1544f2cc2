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


def allocator_fields(simulation: Simulation, base: int) -> dict[str, Any]:
    """`Report.allocator` of a step that XLA compiled; `base` is what is in use before the step (bytes)."""
    xla = simulation.graph.info["xla"]
    peak = base + xla["output_bytes"] + xla["temp_bytes"]
    return {
        "name": "xla", "limit_bytes": None, "base_in_use_bytes": base, "peak_in_use_bytes": peak,
        "peak_in_use_range_bytes": [peak, peak], "pool_bytes": None, "fragmentation": None, "fails": None,
        "failing_orders": 0, "temp_bytes": xla["temp_bytes"],
    }  # fmt: skip


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
