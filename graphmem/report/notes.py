"""What a report must say besides its figures: unknowns, what is left out, what was assumed."""

from __future__ import annotations

from collections import Counter

from graphmem.ops.registry import lookup
from graphmem.runtime.simulate import Simulation
from graphmem.units import format_bytes


def unknown_ops(simulation: Simulation) -> dict[str, int]:
    """Executed op types without a row in the table -> how many ops."""
    ops = simulation.graph.ops
    counts = Counter(ops[index].type for index in set(simulation.schedule.ops))
    return {op_type: counts[op_type] for op_type in sorted(counts) if lookup(op_type) is None}


def unknown_sizes(simulation: Simulation) -> list[str]:
    """Tensors and scratch of unknown size that the step allocates, and residents of unknown size."""
    lives, graph = simulation.lifetimes, simulation.graph
    found: dict[str, None] = {}
    for buffer, nbytes in enumerate(lives.nbytes):
        if nbytes is None and not lives.resident[buffer] and not lives.host[buffer]:
            op = graph.ops[lives.op[buffer]]
            found[f"{op.name}:{lives.slot[buffer]}" if lives.slot[buffer] >= 0 else f"{op.name} (scratch)"] = None
    found |= {variable.name: None for variable in graph.variables if variable.nbytes is None}
    found |= {argument.name: None for argument in graph.arguments if argument.nbytes is None}
    return list(found)


def facts(simulation: Simulation) -> dict[str, str]:
    """What decides the figure besides the model, as short texts."""
    info = simulation.graph.info
    known = {name: text for name, text in info.get("facts", {}).items() if name != "framework"}  # see `versions`
    known["threads"] = str(simulation.env.threads)
    if any(op.type.startswith("Conv3DBackprop") for op in simulation.graph.ops):
        known["L3 cache"] = format_bytes(simulation.env.l3_bytes)
    known["oneDNN"] = "on" if info.get("onednn") else "off"
    known["rewrites"] = "as TensorFlow applies them" if info.get("rewrite", True) else "none (--no-rewrite)"
    return known


def not_counted(simulation: Simulation) -> list[str]:
    """What the figures leave out, one sentence each."""
    common = [
        "the allocator's rounding and fragmentation: figures are the bytes that TensorFlow asks for",
        "the input pipeline: prefetched batches, shuffle buffers, and data held by the program",
        "Python, TensorFlow's own code and threads, and host objects such as handles and lists",
    ]
    if simulation.env.device == "gpu":
        return [
            "the CUDA context, loaded kernels and library handles",
            "cuBLAS workspaces; cuDNN's as far as --conv-workspace leaves them out",
            "tensors in host memory (shapes, counters, strings)",
            *common,
        ]
    return common


def findings(simulation: Simulation) -> list[str]:
    """Assumptions and findings, one sentence each."""
    info, schedule = simulation.graph.info, simulation.schedule
    found = list(info.get("notes", []))
    found += _first(schedule.assumed, "further assumptions of this kind")
    loops = [f"{_short(name)} {count}×" for name, count in sorted(schedule.loops.items()) if count]
    if loops:
        found.append(f"loops replayed: {', '.join(_first(loops, 'more'))}")
    if any(op.type.startswith("IteratorGetNext") for op in simulation.graph.ops):
        found.append("the pipeline that the step reads holds the batches that come next, which are not counted")
    if any(op.type == "DatasetToSingleElement" for op in simulation.graph.ops):
        found.append(
            "the dataset that the step reads is set up anew in each call: TensorFlow then copies the tensors that it "
            "holds, which is not counted"
        )
    if info.get("onednn_here") and not info.get("onednn"):
        found.append(
            "modelled with oneDNN off; TensorFlow turns it on for this CPU unless TF_ENABLE_ONEDNN_OPTS=0 is set, "
            "which changes kernels and their scratch"
        )
    return found


def _first(items: list[str], rest: str, most: int = 4) -> list[str]:
    """The first few of many, and how many are left."""
    return items if len(items) <= most else [*items[:most], f"{len(items) - most} {rest}"]


def _short(loop: str) -> str:
    """A loop's name without what its gradient repeats of it."""
    parts = [part for part in loop.split("/") if part not in ("gradient_tape", "while_grad")]
    name = "/".join(dict.fromkeys(parts)).removesuffix("/while") or loop
    return f"{name} (gradient)" if "while_grad" in loop or loop.startswith("gradient") else name
