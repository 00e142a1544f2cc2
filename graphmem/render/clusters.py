"""Which boxes of a picture belong together: the scope tree, cut where it gives a handful of clusters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphmem.render.fold import Group
from graphmem.report.report import FrontierBuffer

FEW, MANY = 4, 10
"""The cut goes deeper until there are this few clusters, and never to more than this many."""

_WORD_STARTS = re.compile(r"(?<=.)(?=/|_[^\W\d_])")


@dataclass(frozen=True)
class Cluster:
    """Groups under one scope, in order of birth.

    Attributes:
        scope: what all of them start with; "" for those at the top, or if they share nothing.
        groups: at least one.
    """

    scope: str
    groups: tuple[Group, ...]

    @property
    def buffers(self) -> list[FrontierBuffer]:
        """What is in them."""
        return [buffer for group in self.groups for buffer in group.buffers]

    def short_name(self, group: Group) -> str:
        """The group's scope without what the cluster's title says already."""
        rest = group.scope[len(self.scope) :].lstrip("/_") if len(self.groups) > 1 else group.scope
        return rest or components(group.scope)[-1].lstrip("/")


def components(scope: str) -> list[str]:
    """The components of a scope, separators kept.

    >>> components("encoder/block_{0–3}/attn_out")
    ['encoder', '/block_{0–3}', '/attn_out']
    """
    return re.split(r"(?<=.)(?=/)", scope)


def words(scope: str) -> list[str]:
    """The words of a scope, separators kept: where its tree branches. Numbers stay with the word before them.

    >>> words("encoder/block_{0–3}/attn_out")
    ['encoder', '/block_{0–3}', '/attn', '_out']
    """
    return _WORD_STARTS.split(scope)


def cluster(groups: Sequence[Group], depth: int | None = None, few: int = FEW) -> list[Cluster]:
    """Cut the groups' scope tree: at `depth` components (0: not at all), else where it gives `few` to `MANY` clusters.

    The cut starts at the top and splits the cluster with most bytes until there are enough. In order of birth.
    """
    if depth == 0:
        return [Cluster("", tuple(groups))] if groups else []
    if depth is not None:
        parts = list(_by_start(groups, depth).values())
    else:
        parts = [list(groups)] if groups else []
        while len(parts) < few:
            splits = [(index, _children(part)) for index, part in enumerate(parts)]
            splits = [split for split in splits if _worthwhile(split[1]) and len(split[1]) <= MANY + 1 - len(parts)]
            if not splits:
                break
            index, children = max(splits, key=lambda split: (sum(group.bytes for group in parts[split[0]]), -split[0]))
            parts[index : index + 1] = children
    clusters = [Cluster(_title(part), tuple(sorted(part, key=lambda group: group.born))) for part in parts]
    return sorted(clusters, key=lambda item: min(group.born for group in item.groups))


def _title(groups: Sequence[Group]) -> str:
    """What the scopes start with: whole components, or words if these are all that they share."""
    return "".join(_shared(groups, components) or _shared(groups, words))


def _by_start(groups: Sequence[Group], depth: int) -> dict[str, list[Group]]:
    table: dict[str, list[Group]] = {}
    for group in groups:
        table.setdefault("/".join(group.scope.split("/")[:depth]), []).append(group)
    return table


def _worthwhile(children: Sequence[Sequence[Group]]) -> bool:
    """Whether three in four boxes would still have company."""
    together = sum(len(child) for child in children if len(child) > 1)
    return len(children) > 1 and 4 * together >= 3 * sum(map(len, children))


def _shared(groups: Sequence[Group], split: Callable[[str], list[str]]) -> list[str]:
    """The words, or components, that all the groups start with."""
    paths = [split(group.scope) for group in groups]
    shared: list[str] = []
    for column in zip(*paths, strict=False):
        if len(set(column)) > 1:
            break
        shared.append(column[0])
    return shared


def _children(groups: Sequence[Group]) -> list[list[Group]]:
    """The groups by the first path component in which they differ, or by the first word if that keeps none together."""
    children: list[list[Group]] = []
    for split in (components, words):
        at = len(_shared(groups, split))
        table: dict[str, list[Group]] = {}
        for group in groups:
            table.setdefault("".join(split(group.scope)[at : at + 1]), []).append(group)
        children = list(table.values())
        if _worthwhile(children):
            break
    return children
