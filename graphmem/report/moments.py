"""What pictures of a whole step need beside its report: bytes over time by layer, and where its buffers lay."""

from __future__ import annotations

from dataclasses import dataclass

from graphmem.errors import TargetError
from graphmem.report.attribute import role_of
from graphmem.report.report import Report
from graphmem.runtime.placement import Placement, Watched, place
from graphmem.runtime.placement_compiled import place_compiled
from graphmem.runtime.simulate import Simulation, counted, timeline

NO_LAYER, OTHERS = "(no layer)", "(others)"
"""Names of rows that are no scope."""

NEARLY_ALL = 0.85
"""The share of the peak that the layers shown by name should have."""


@dataclass(frozen=True)
class Placed:
    """A step in the pool of TensorFlow's allocator, or in the temporary memory of XLA.

    Attributes:
        placement: where each block lay.
        roles: of the blocks, one by one.
        positions: how many positions the whole schedule has.
    """

    placement: Placement
    roles: tuple[str, ...]
    positions: int


def placed(report: Report) -> Placed:
    """Where BFC puts the buffers of the order reported, within the limit that the report is for, or where XLA did.

    Raises:
        TargetError: the report holds no step, its variables alone are too large for the limit, or it is a trace of a
            compiled step that has no addresses.
    """
    simulation = _simulation(report, "lifetime map")
    if report.runtime == "xla":
        placement = place_compiled(simulation)
        roles = tuple(role_of(simulation, block.buffer) for block in placement.blocks)
        return Placed(placement, roles, len(simulation.schedule.ops))
    limit, on_gpu = report.allocator.get("limit_bytes"), report.device == "gpu"
    placement = place(simulation, Watched(limit, growth=limit is None or not on_gpu, collect=on_gpu))
    if placement.failure is not None and placement.failure.step == 0:
        raise TargetError("the variables alone are too large for --memory, so there is no step to draw; allow more.")
    roles = tuple(block.role or role_of(simulation, block.buffer) for block in placement.blocks)
    return Placed(placement, roles, len(simulation.schedule.ops))


def timeline_by_layer(report: Report, most: int = 7) -> dict[str, list[int]]:
    """Layer -> bytes at each position of what was made in it; together they are `Report.timeline.total`.

    The layers are those at the top, below what all have in common; where a few of them have little of the peak, those
    whose names begin alike are one, "conv2…". Most bytes at the peak come first; all but `most` are added up as
    `OTHERS`, and come last.

    Raises:
        TargetError: the report holds no step.
    """
    simulation = _simulation(report, "timeline by scope")
    lives, ops = simulation.lifetimes, simulation.graph.ops
    prefix = common_scope(report)
    groups: dict[str, list[int]] = {}
    for buffer in counted(lives):
        scope = ops[lives.op[buffer]].scope
        groups.setdefault(scope.removeprefix(prefix).partition("/")[0] or NO_LAYER, []).append(buffer)
    at = simulation.position
    alive = {
        name: sum(lives.nbytes[buffer] or 0 for buffer in group if lives.born[buffer] <= at < lives.freed[buffer])
        for name, group in groups.items()
    }
    groups = _joined(groups, alive, most)
    curves = {name: timeline(lives, len(simulation.schedule.ops), group) for name, group in groups.items()}
    ranked = sorted(curves, key=lambda name: (-int(curves[name][at]), -int(curves[name].max()), name))
    shown = ranked if len(ranked) <= most + 1 else ranked[:most]
    out = {name: [int(value) for value in curves[name]] for name in shown}
    rest = [curves[name] for name in ranked[len(shown) :]]
    if rest:
        out[OTHERS] = [int(value) for value in sum(rest[1:], rest[0])]
    return out


def _joined(groups: dict[str, list[int]], alive: dict[str, int], most: int) -> dict[str, list[int]]:
    """Groups whose names begin with the same words as one: as many words as leave `most` groups with nearly all bytes.

    Args:
        alive: bytes of each group at the peak.

    >>> groups = {"conv2_block1_bn": [1], "conv2_block2_bn": [2], "conv3_block1_bn": [3], "pool": [4]}
    >>> _joined(groups, {"conv2_block1_bn": 5, "conv2_block2_bn": 5, "conv3_block1_bn": 5, "pool": 1}, 2)
    {'conv2…': [1, 2], 'conv3_block1_bn': [3], 'pool': [4]}
    """
    longest = max((name.count("_") + 1 for name in groups), default=1)
    for words in range(longest, 0, -1):
        starts: dict[str, list[str]] = {}
        for name in groups:
            starts.setdefault("_".join(name.split("_")[:words]), []).append(name)
        sizes = sorted((sum(alive[name] for name in names) for names in starts.values()), reverse=True)
        if sum(sizes[:most]) >= NEARLY_ALL * sum(sizes):
            break
    return {
        (names[0] if len(names) == 1 else f"{start}…"): [buffer for name in names for buffer in groups[name]]
        for start, names in starts.items()
    }


def common_scope(report: Report) -> str:
    """The path that nearly all bytes that layers made share, with a slash at its end; "" if there is none."""
    prefix, depth = "", 1
    layers = report.step_peak_bytes - sum(row.own for row in report.by_scope if not row.scope)
    while True:
        inside = [row for row in report.by_scope if row.depth == depth and row.scope.startswith(prefix)]
        large = [row for row in inside if row.bytes > 0.9 * layers and row.own < 0.1 * row.bytes]
        below = large and any(
            row.depth == depth + 1 and row.scope.startswith(large[0].scope) for row in report.by_scope
        )
        if not large or not below:
            return prefix
        prefix, depth = f"{large[0].scope}/", depth + 1


def _simulation(report: Report, what: str) -> Simulation:
    if report.simulation is None:
        raise TargetError(f"a report loaded from JSON holds no step for a {what}; analyse its target again.")
    return report.simulation
