"""What a frontier picture shows of each phase: the boxes of what it made, in their frames, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphmem.graph.model import PHASES
from graphmem.render.clusters import FEW, Cluster, cluster
from graphmem.render.fold import Group
from graphmem.report.report import FrontierBuffer


@dataclass(frozen=True)
class Band:
    """All that one phase made and that is alive at the peak.

    Attributes:
        phase: one of `graphmem.graph.model.PHASES`.
        clusters: its boxes, in order of birth; none if the phase made only what has no box of its own.
        rest: what has none.
    """

    phase: str
    clusters: tuple[Cluster, ...]
    rest: tuple[FrontierBuffer, ...]

    @property
    def groups(self) -> list[Group]:
        """The boxes, in order."""
        return [group for part in self.clusters for group in part.groups]

    @property
    def buffers(self) -> list[FrontierBuffer]:
        """All of them, in boxes or not."""
        return [*(buffer for group in self.groups for buffer in group.buffers), *self.rest]


def bands_of(groups: Sequence[Group], rest: Sequence[FrontierBuffer], depth: int | None = None) -> list[Band]:
    """The phases that made anything, in their order; a group must be of one phase.

    Args:
        depth: of the frames, see `graphmem.render.clusters.cluster`.
    """
    phases = {buffer.phase: None for buffer in [*(group.buffers[0] for group in groups), *rest]}
    boxed = {group.buffers[0].phase for group in groups}
    out = []
    for phase in sorted(phases, key=lambda name: (PHASES.index(name) if name in PHASES else len(PHASES), name)):
        own = [group for group in groups if group.buffers[0].phase == phase]
        left = tuple(buffer for buffer in rest if buffer.phase == phase)
        out.append(Band(phase, tuple(cluster(own, depth, max(2, FEW // max(1, len(boxed))))), left))
    return out
