"""Which buffer of one peak is which buffer of another.

Buffers of the same layer are paired by what made them, first by all that is the same but for the size, then by less;
within a group equal sizes first, then in the order in which the step makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from graphmem.answers.align import base
from graphmem.report.report import FrontierBuffer

Pair = tuple[FrontierBuffer | None, FrontierBuffer | None]
_Key = Callable[[FrontierBuffer], Hashable]


def pairs(
    before: Sequence[FrontierBuffer], after: Sequence[FrontierBuffer], scopes: Mapping[str, str]
) -> list[Pair]:
    """Every buffer of both once: with its counterpart, or with `None` where the other has none.

    Args:
        before, after: two frontiers.
        scopes: scope of `after` -> the same one of `before`, see `align`.
    """
    old, new = list(before), list(after)
    known = set(scopes.values())

    def place(buffer: FrontierBuffer, is_new: bool) -> Hashable:
        """The layer as `before` calls it; one place for all layers that the other report does not have."""
        if is_new:
            return scopes.get(buffer.scope)
        return buffer.scope if buffer.scope in known else None

    found: list[Pair] = []
    for key in (_same_but_size, _same_kind, _same_tensor):
        groups: dict[Hashable, tuple[list[FrontierBuffer], list[FrontierBuffer]]] = {}
        for index, buffers in enumerate((old, new)):
            for buffer in buffers:
                where = place(buffer, bool(index))
                same = key(buffer) if where is not None else ("elsewhere", key(buffer), buffer.shape, buffer.dtype)
                groups.setdefault((where, same), ([], []))[index].append(buffer)
        old, new = [], []
        for mine, others in groups.values():
            matched, left, right = _in_order(mine, others)
            found += matched
            old += left
            new += right
    return [*found, *((buffer, None) for buffer in old), *((None, buffer) for buffer in new)]


def _same_but_size(buffer: FrontierBuffer) -> Hashable:
    """The op's own name without counters tells the buffers of one layer apart."""
    return _same_kind(buffer), base(buffer.op.rpartition("/")[2]), _slot(buffer)


def _same_kind(buffer: FrontierBuffer) -> Hashable:
    return buffer.role, buffer.phase, buffer.made_by


def _same_tensor(buffer: FrontierBuffer) -> Hashable:
    """What is kept may be made by another op, as when TensorFlow fuses two."""
    return buffer.role, buffer.phase, buffer.shape, buffer.bytes


def _slot(buffer: FrontierBuffer) -> str:
    """The output of the op, or what else it is: `0`, `scratch`."""
    return buffer.tensor.removeprefix(buffer.op).strip(" :()")


def _in_order(
    old: list[FrontierBuffer], new: list[FrontierBuffer]
) -> tuple[list[Pair], list[FrontierBuffer], list[FrontierBuffer]]:
    """Pairs of one group, and who is left on either side."""
    old, new = (sorted(side, key=lambda buffer: (buffer.born, buffer.tensor)) for side in (old, new))
    found: list[Pair] = []
    for one in list(old):
        same = next((other for other in new if (other.shape, other.bytes) == (one.shape, one.bytes)), None)
        if same is not None:
            found.append((one, same))
            old.remove(one)
            new.remove(same)
    count = min(len(old), len(new))
    found += zip(old, new, strict=False)
    return found, old[count:], new[count:]
