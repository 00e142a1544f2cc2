"""What a frontier picture says, whatever its layout: bands, boxes, and the ops on both sides of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from graphmem.render.bands import Band, bands_of
from graphmem.render.clusters import Cluster
from graphmem.render.colours import in_role_order
from graphmem.render.fold import Group, fold_to, made_at, model_of, read_at
from graphmem.render.markup import SIZE
from graphmem.render.patterns import pattern, skeleton
from graphmem.render.textfit import text_width
from graphmem.render.words import PHASE_WORDS
from graphmem.report.report import Report


class Ops(NamedTuple):
    """The ops on one side of a box: their types and their scope, "" for one that is known; no types: the peak op."""

    types: tuple[str, ...]
    scope: str = ""


@dataclass(frozen=True)
class Content:
    """What one picture says.

    Attributes:
        report: what it is of.
        bands: a band for each phase.
        largest: bytes of the largest box, which the bars are relative to.
        model: what nearly all scopes start with.
    """

    report: Report
    bands: tuple[Band, ...]
    largest: int
    model: str

    @classmethod
    def of(cls, report: Report, top: int, depth: int | None) -> Content:
        """Fold what is alive at the peak into `top` boxes at most, with frames as `depth` says."""
        groups, rest = fold_to(report.frontier, top, report.peak.position)
        bands = tuple(bands_of(groups, rest, depth))
        sizes = [group.bytes for group in groups] + [sum(item.bytes or 0 for item in band.rest) for band in bands]
        return cls(report, bands, max([*sizes, 1]), model_of(report.frontier))

    @property
    def boxes(self) -> int:
        """How many groups have a box."""
        return sum(len(band.groups) for band in self.bands)

    def maker(self, group: Group) -> Ops:
        """What made the tensors of a box."""
        if made_at(group.buffers[0], self.report.peak.position):
            return Ops(())
        return Ops(tuple(dict.fromkeys(buffer.made_by for buffer in group.buffers)))

    def reader(self, group: Group, part: Cluster, room: float) -> Ops:
        """What reads them last, and so keeps them alive.

        Args:
            room: points for a scope; a pattern that is wider is left out, as it cannot be read when cut.
        """
        if read_at(group.buffers[0], self.report.peak.position):
            return Ops(())
        readers = [buffer for buffer in group.buffers if buffer.last_reader]
        if not readers:
            return Ops(("held to end",))
        scopes = {buffer.last_reader_scope.removeprefix(self.model) for buffer in readers}
        scope = pattern(scopes) if len(set(map(skeleton, scopes))) == 1 else ""
        types = tuple(dict.fromkeys(buffer.last_reader_type for buffer in readers))
        known = scope == group.scope or (framed(part) and scope.startswith(part.scope))
        unreadable = "{" in scope and text_width(scope, SIZE) > room
        return Ops(types, "" if known or unreadable or len(types) > 1 else scope)


def framed(part: Cluster) -> bool:
    """Whether the boxes of a cluster have a frame around them."""
    return len(part.groups) > 1 and part.scope != ""


def box_name(group: Group, part: Cluster) -> str:
    """What a box is called: its scope, without what the title of its frame says."""
    return part.short_name(group) or pattern(buffer.op for buffer in group.buffers)


def full_names(group: Group, most: int = 4) -> list[str]:
    """What an SVG viewer shows over a box: the tensors' names and their last readers."""
    shown = [
        buffer.tensor + (f", last read by {buffer.last_reader}" if buffer.last_reader else "")
        for buffer in group.buffers[:most]
    ]
    hidden = len(group.buffers) - len(shown)
    return [*shown, *([f"and {hidden} others"] if hidden else [])]


def phase_words(phase: str) -> str:
    """Which pass it is."""
    return PHASE_WORDS.get(phase, phase)


def held_all_along(report: Report) -> list[tuple[str, int]]:
    """(role, bytes) of what no order of the ops can free, in the order of roles: variables, inputs, constants."""
    held = {
        "weight": report.weight_bytes,
        "optimizer state": report.optimizer_bytes,
        "other state": report.other_state_bytes,
        "input": report.argument_bytes,
        "constant": report.constant_bytes,
        "output": report.output_bytes,
    }
    return in_role_order({role: size for role, size in held.items() if size})
