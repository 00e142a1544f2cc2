"""Which rows a bounded table shows, so that what it hides stays in the sum: pure functions of the report's rows."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from graphmem.render.patterns import pattern, skeleton
from graphmem.report.report import FrontierBuffer, ScopeRow

SMALL = 0.001
"""Rows below this share of the step peak are left to the row of the others."""


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
    scope: str
    bytes: int
    own: int
    tensors: int
    children: list[_Node] = field(default_factory=list)
    shown: bool = False


def fold_scopes(rows: Sequence[ScopeRow], limit: int) -> list[TreeRow]:
    """The largest `limit` scopes that are not small, as a tree; what a shown scope hides is one "… n others" row beneath it.

    >>> rows = [ScopeRow("", 0, 9, 0, 3), ScopeRow("a", 1, 6, 6, 1), ScopeRow("b", 1, 2, 2, 1)]
    >>> rows.append(ScopeRow("c", 1, 1, 1, 1))
    >>> [(row.label, row.bytes) for row in fold_scopes(rows, 1)]
    [('whole step', 9), ('a', 6), ('… 2 others', 3)]
    """
    root = _tree(rows)
    if root is None:
        return []
    _choose(root, limit)
    printed: list[TreeRow] = []
    _print(root, "whole step", 0, printed)
    return printed


def _tree(rows: Sequence[ScopeRow]) -> _Node | None:
    path: list[_Node] = []
    root: _Node | None = None
    for row in rows:
        node = _Node(row.scope, row.bytes, row.own, row.tensors)
        del path[row.depth :]
        if path:
            path[-1].children.append(node)
        else:
            root = root or node
        path.append(node)
    if root is not None:
        _tidy(root)
    return root


def _tidy(node: _Node) -> None:
    """Give a node's own bytes a row of their own, and let chains of single children be one row."""
    for index, child in enumerate(node.children):
        while len(child.children) == 1 and (child.own, child.tensors) == (0, child.children[0].tensors):
            child = child.children[0]
        node.children[index] = child
        _tidy(child)
    node.children = [child for child in node.children if child.bytes or child.tensors]
    below = sum(child.tensors for child in node.children)
    if node.children and node.tensors > below:
        node.children.append(_Node("", node.own, node.own, node.tensors - below))


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


def _print(node: _Node, label: str, depth: int, printed: list[TreeRow]) -> None:
    printed.append(TreeRow(label, depth, node.bytes, node.tensors))
    shown = [child for child in node.children if child.shown]
    hidden = [child for child in node.children if not child.shown]
    if not shown and depth > 0:
        return
    if len(hidden) == 1 and shown:
        shown, hidden = node.children, []
    for child in sorted(shown, key=lambda item: -item.bytes):
        name = child.scope[len(node.scope) :].lstrip("/") if child.scope else "(itself)" if node.scope else "(no layer)"
        _print(child, name, depth + 1, printed)
    if hidden:
        total, tensors = sum(child.bytes for child in hidden), sum(child.tensors for child in hidden)
        printed.append(TreeRow(f"… {plural(len(hidden), 'other')}", depth + 1, total, tensors))


@dataclass(frozen=True)
class FrontierRow:
    """Buffers alive at the peak that differ in nothing but numbers in their layers' names.

    Attributes:
        buffers: one or more of them.
        bytes: all of them together; `None` if their size is unknown.
    """

    buffers: tuple[FrontierBuffer, ...]
    bytes: int | None

    @property
    def first(self) -> FrontierBuffer:
        """One of them, for what they have in common."""
        return self.buffers[0]

    @property
    def scope(self) -> str:
        """Their layers in one text, varying numbers in braces: `decoder_layer_{0–11}/attention`."""
        return pattern({item.scope for item in self.buffers})

    @property
    def last_reader_scope(self) -> str:
        """The layers of their last readers in one text, as `scope`."""
        return pattern({item.last_reader_scope for item in self.buffers})


def group_frontier(frontier: Sequence[FrontierBuffer]) -> list[FrontierRow]:
    """The frontier with repeated blocks as one row each, the row with most bytes first, unknown sizes last."""
    groups: dict[tuple[object, ...], list[FrontierBuffer]] = {}
    same_skeleton = cache(skeleton)
    for item in frontier:
        where, reader = item.scope, item.last_reader_scope
        scopes = same_skeleton(where), same_skeleton(reader), where == reader
        same = item.bytes, item.shape, item.dtype, item.role, item.made_by, item.last_reader_type
        groups.setdefault((*scopes, *same, item.source.partition(":")[0]), []).append(item)
    rows = []
    for items in groups.values():
        size = items[0].bytes
        rows.append(FrontierRow(tuple(items), None if size is None else size * len(items)))
    return sorted(rows, key=lambda row: -1 if row.bytes is None else row.bytes, reverse=True)


def largest(sizes: dict[str, int], limit: int) -> tuple[list[tuple[str, int]], int, int]:
    """The `limit` largest entries that are not small, and how many others there are with how many bytes together."""
    ranked = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    cut = cut_at([size for _, size in ranked], limit)
    return ranked[:cut], len(ranked[cut:]), sum(size for _, size in ranked[cut:])


def cut_at(sizes: Sequence[int | None], limit: int) -> int:
    """How many of these rows, largest first, a list shows: not the small ones, but never to hide a single one.

    >>> cut_at([9, 5, 5, 3], 2), cut_at([9, 5, 5], 2), cut_at([9000, 9, 2, 1], 4), cut_at([9000, None], 1)
    (2, 3, 1, 2)
    """
    least = SMALL * sum(size or 0 for size in sizes)
    worth = sum(size is None or size >= least for size in sizes)
    cut = min(limit, worth)
    return cut if len(sizes) != cut + 1 else cut + 1


def plural(count: int, noun: str) -> str:
    """A count with its noun: `1 other`, `1,204 others`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def shorten(text: str, width: int) -> str:
    """Cut a long name in its middle, keeping more of its end, where the difference is: `resnet50/con…block1_3_bn`."""
    if len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    head = (width - 1) // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
