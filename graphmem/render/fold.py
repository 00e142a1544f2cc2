"""Fold the buffers alive at the peak into the few groups that a picture can show.

Pure functions from buffers to groups. Bytes and counts never get lost: `check_totals` says so, and every fold
returns all the buffers that it was given, either in a group or in the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from graphmem.errors import InternalError
from graphmem.render.patterns import head, model_scope, numbers_of, pattern, skeleton
from graphmem.report.report import FrontierBuffer

ENOUGH = (0.8, 0.5)
"""The share of the known bytes that the shown groups must hold for the finest folding to do, and the next."""

SMALL = 0.02
"""Groups below this share of the known bytes are not worth a box of their own."""

TINY = 0.001
"""Buffers below this share of the known bytes are not folded with larger ones, whose shape they would blur."""

Key = Callable[[FrontierBuffer], Hashable]


@dataclass(frozen=True)
class Group:
    """Buffers that one box stands for, in order of birth.

    Attributes:
        buffers: at least one.
        scope: the pattern of their scopes below the model, such as `conv2_block{1–3}_1_conv`; "" at the top.
    """

    buffers: tuple[FrontierBuffer, ...]
    scope: str

    @property
    def bytes(self) -> int:
        """Sum of the known sizes (bytes)."""
        return sum(buffer.bytes or 0 for buffer in self.buffers)

    @property
    def unknown(self) -> int:
        """How many of the buffers have no known size."""
        return sum(buffer.bytes is None for buffer in self.buffers)

    @property
    def born(self) -> int:
        """Schedule position at which the first of the largest of them was made."""
        most = max(buffer.bytes or 0 for buffer in self.buffers)
        return min(buffer.born for buffer in self.buffers if (buffer.bytes or 0) == most)


def fold(buffers: Sequence[FrontierBuffer], key: Key, model: str = "") -> list[Group]:
    """Group buffers of equal key, in order of birth; far-apart runs of numbered layers stay apart."""
    table: dict[Hashable, list[FrontierBuffer]] = {}
    for buffer in sorted(buffers, key=lambda item: (item.born, item.tensor)):
        table.setdefault(key(buffer), []).append(buffer)
    runs = [run for members in table.values() for run in _runs(members)]
    groups = [Group(tuple(run), pattern(buffer.scope.removeprefix(model) for buffer in run)) for run in runs]
    return sorted(groups, key=lambda group: (group.born, group.buffers[0].tensor))


def _runs(members: list[FrontierBuffer]) -> list[list[FrontierBuffer]]:
    """Cut a series such as conv2d, conv2d_1, conv2d_16, conv2d_17 where its numbers jump: encoder and decoder."""
    if len(members) < 3 or len({skeleton(member.scope) for member in members}) > 1:
        return [members]
    numbers = numbers_of([member.scope for member in members])
    if numbers is None or len(set(numbers)) < 2:
        return [members]
    order = sorted(range(len(members)), key=lambda index: numbers[index])
    gaps = [numbers[b] - numbers[a] for a, b in pairwise(order)]
    usual = median([gap for gap in gaps if gap > 0])
    runs = [[order[0]]]
    for index, gap in zip(order[1:], gaps, strict=True):
        if gap >= 3 * usual:
            runs.append([])
        runs[-1].append(index)
    if len(runs) > 2:  # a regular pattern of repeated blocks: no two halves
        return [members]
    return [[members[index] for index in sorted(run)] for run in runs]


def levels(position: int, model: str = "", tiny: float = 0) -> tuple[Key, ...]:
    """What buffers of one box have in common, fine to coarse; what the op at the peak makes or reads stays apart."""

    def kind(buffer: FrontierBuffer) -> tuple[Hashable, ...]:
        size = None if buffer.bytes is None else buffer.bytes < tiny
        return buffer.phase, buffer.role, buffer.dtype, size, made_at(buffer, position), read_at(buffer, position)

    def repeated(buffer: FrontierBuffer) -> Hashable:
        return *kind(buffer), buffer.shape, buffer.bytes, buffer.made_by, skeleton(buffer.scope)

    def resized(buffer: FrontierBuffer) -> Hashable:
        rank = None if buffer.shape is None else len(buffer.shape)
        return *kind(buffer), rank, buffer.made_by, head(buffer.scope.removeprefix(model)), skeleton(buffer.scope)

    def block(buffer: FrontierBuffer) -> Hashable:
        return *kind(buffer), head(buffer.scope.removeprefix(model))

    return repeated, resized, block


def model_of(buffers: Sequence[FrontierBuffer]) -> str:
    """The scope that nearly all the bytes are below, with a slash at the end; "" if there is none."""
    sizes: dict[str, int] = {}
    for buffer in buffers:
        sizes[buffer.scope] = sizes.get(buffer.scope, 0) + (buffer.bytes or 0)
    return model_scope(sizes)


def made_at(buffer: FrontierBuffer, position: int) -> bool:
    """Whether the op at this position of the schedule makes the buffer."""
    return buffer.born == position


def read_at(buffer: FrontierBuffer, position: int) -> bool:
    """Whether the op at this position of the schedule is the last that needs the buffer."""
    return buffer.freed == position + 1


def fold_to(buffers: Sequence[FrontierBuffer], top: int, position: int) -> tuple[list[Group], list[FrontierBuffer]]:
    """At most `top` groups of what is alive at a position, in order of birth, and the rest: small or too many to show.

    The finest folding whose `top` largest groups hold `ENOUGH` of the bytes, else the coarsest.
    """
    kept: list[Group] = []
    total = sum(buffer.bytes or 0 for buffer in buffers)
    model = model_of(buffers)
    for key, enough in zip(levels(position, model, TINY * total), (*ENOUGH, 0.0), strict=True):
        kept = _largest(fold(buffers, key, model), top, total, position)
        if sum(group.bytes for group in kept) >= enough * total:
            break
    taken = {id(buffer) for group in kept for buffer in group.buffers}
    rest = [buffer for buffer in buffers if id(buffer) not in taken]
    check_totals(kept, rest, buffers)
    return kept, rest


def _largest(groups: list[Group], top: int, total: int, position: int) -> list[Group]:
    """The `top` largest groups that are not small, those of the op at the peak first.

    Up to a quarter of the places are for groups of unknown size.
    """

    def rank(group: Group) -> tuple[bool, int, int]:
        touched = any(made_at(buffer, position) or read_at(buffer, position) for buffer in group.buffers)
        return not touched, -group.bytes, group.born

    known = sorted((group for group in groups if not group.unknown), key=rank)
    unknown = [group for group in groups if group.unknown]
    places = min(len(unknown), max(1, top // 4))
    large = [group for group in known if group.bytes >= SMALL * total and group.bytes > 0]
    if len(large) == len(known) - 1:  # one small group takes no more room than a box for the rest
        large = known
    shown = {id(group) for group in large[: top - places]} | {id(group) for group in unknown[:places]}
    return [group for group in groups if id(group) in shown]


def check_totals(groups: Sequence[Group], rest: Sequence[FrontierBuffer], buffers: Sequence[FrontierBuffer]) -> None:
    """Check that groups and rest hold each buffer once, so that a picture adds up to the peak.

    Raises:
        InternalError: a buffer was lost or doubled.
    """
    held = [id(buffer) for group in groups for buffer in group.buffers] + [id(buffer) for buffer in rest]
    if sorted(held) != sorted(id(buffer) for buffer in buffers):
        raise InternalError(f"folding the frontier changed it: {len(buffers)} buffers in, {len(held)} out")
