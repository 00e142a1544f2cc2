"""The layers as a tree of few rows: hidden ones stay in the sums; where there are many, repeated ones share a row."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from graphmem.render.patterns import head, pattern, skeleton
from graphmem.render.rows import SMALL, plural
from graphmem.report.report import ScopeRow

_COUNTER = re.compile(r"_\d+(?=/|$)")
_NUMBER = re.compile(r"\d(?!d(?:_|/|$))")  # not the 2 of conv2d

ENOUGH = 0.9
"""Share of a layer's bytes that its shown parts are to hold; if they hold less, repeated parts share a row."""


@dataclass(frozen=True)
class TreeRow:
    """One printed row of the scope tree.

    Attributes:
        label: path below the row's parent, "(no layer)", "(itself)" or "… 12 others".
        depth: 0 for the row of the whole step.
        bytes: of everything under it; the rows one deeper under a row add up to it.
        tensors: how many buffers that is.
    """

    label: str
    depth: int
    bytes: int
    tensors: int


@dataclass
class _Node:
    label: str
    bytes: int
    own: int
    tensors: int
    children: list[_Node] = field(default_factory=list)
    shown: bool = False


def fold_scopes(rows: Sequence[ScopeRow], limit: int) -> list[TreeRow]:
    """The largest `limit` scopes that are not small, as a tree; what one hides is a "… n others" row beneath it.

    Where the `limit` largest of the layers side by side hold too little, repeated ones are one row.

    >>> rows = [ScopeRow("", 0, 9, 0, 3), ScopeRow("a", 1, 6, 6, 1), ScopeRow("b", 1, 2, 2, 1)]
    >>> rows.append(ScopeRow("c", 1, 1, 1, 1))
    >>> [(row.label, row.bytes) for row in fold_scopes(rows, 1)]
    [('whole step', 9), ('a', 6), ('… 2 others', 3)]
    """
    root = _tree(rows)
    if root is None:
        return []
    _tidy(root, limit, "(no layer)")
    _choose(root, limit)
    printed: list[TreeRow] = []
    _print(root, 0, printed)
    return printed


def _tree(rows: Sequence[ScopeRow]) -> _Node | None:
    path: list[_Node] = []
    root: _Node | None = None
    for row in rows:
        node = _Node(row.scope.rpartition("/")[2], row.bytes, row.own, row.tensors)
        del path[row.depth :]
        if path:
            path[-1].children.append(node)
        elif root is None:
            root = node
            root.label = "whole step"
        path.append(node)
    return root


def _tidy(node: _Node, limit: int, own: str) -> None:
    """Chains of single children become one node, many repeated children one each, own bytes a child of their own."""
    children = [_collapsed(child) for child in node.children if child.bytes or child.tensors]
    sizes = sorted((child.bytes for child in children), reverse=True)
    if sum(sizes[:limit]) < ENOUGH * sum(sizes):
        children = _grouped(children, _repeats)
    node.children = children
    for child in children:
        _tidy(child, limit, "(itself)")
    rest = node.tensors - sum(child.tensors for child in children)
    if children and rest:
        node.children.append(_Node(own, node.own, node.own, rest))


def _repeats(node: _Node) -> Hashable:
    """What repeated layers have in common: a name with numbers in it (`conv2_block1_3_bn`), else a size too.

    `conv2d` and `conv2d_7` have a kind in common, which says little.
    """
    numbered = _NUMBER.search(_COUNTER.sub("", node.label))
    return skeleton(node.label), head(node.label), None if numbered else node.bytes


def _collapsed(node: _Node) -> _Node:
    while len(node.children) == 1 and (node.own, node.tensors) == (0, node.children[0].tensors):
        below = node.children[0]
        node = _Node(f"{node.label}/{below.label}", below.bytes, below.own, below.tensors, below.children)
    return node


def _grouped(nodes: Iterable[_Node], key: Callable[[_Node], Hashable]) -> list[_Node]:
    """One node for all of the same key, largest first; theirs of the same name become one in turn."""
    groups: dict[Hashable, list[_Node]] = {}
    for node in nodes:
        groups.setdefault(key(node), []).append(node)
    return sorted(map(_merged, groups.values()), key=lambda node: -node.bytes)


def _merged(nodes: list[_Node]) -> _Node:
    if len(nodes) == 1:
        return nodes[0]
    children = _grouped((child for node in nodes for child in node.children), lambda child: child.label)
    total, own, tensors = (sum(getattr(node, name) for node in nodes) for name in ("bytes", "own", "tensors"))
    return _Node(pattern({node.label for node in nodes}), total, own, tensors, children)


def _choose(root: _Node, limit: int) -> None:
    """Mark the largest nodes; a parent is never smaller than its children, so the marked ones hang together."""
    heap: list[tuple[int, int, _Node]] = []
    count = 0

    def push(node: _Node) -> None:
        nonlocal count
        for child in node.children:
            count += 1
            heapq.heappush(heap, (-child.bytes, count, child))

    push(root)
    for _ in range(limit):
        if not heap or -heap[0][0] < SMALL * root.bytes:
            break
        node = heapq.heappop(heap)[2]
        node.shown = True
        push(node)


def _print(node: _Node, depth: int, printed: list[TreeRow]) -> None:
    printed.append(TreeRow(node.label, depth, node.bytes, node.tensors))
    shown = [child for child in node.children if child.shown]
    hidden = [child for child in node.children if not child.shown]
    if not shown and depth > 0:
        return
    if len(hidden) == 1 and shown:
        shown, hidden = node.children, []
    for child in sorted(shown, key=lambda item: -item.bytes):
        _print(child, depth + 1, printed)
    if hidden:
        total, tensors = sum(child.bytes for child in hidden), sum(child.tensors for child in hidden)
        printed.append(TreeRow(f"… {plural(len(hidden), 'other')}", depth + 1, total, tensors))
