"""Which rows a bounded list shows, so that what it hides stays in the sum: pure functions of the report's rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from graphmem.render.patterns import pattern, skeleton
from graphmem.report.report import FrontierBuffer

SMALL = 0.001
"""Rows below this share of the step peak are left to the row of the others."""


WORDS = 0.6
"""The share of its room that a shortened name takes at least if it is cut between words."""


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
    """Cut a long name in its middle, keeping more of its end, where the difference is; between words if there are any.

    >>> shorten("conv2_block{1–3}_{0,3}_bn", 16), shorten("bidirectionalencoder", 16)
    ('conv2_…{0,3}_bn', 'bidir…nalencoder')
    """
    if len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    first, *rest = re.split("(?<=[/_])", text)
    whole = next((name for at in range(1, len(rest)) if len(name := f"{first}…{''.join(rest[at:])}") <= width), "")
    if len(whole) >= WORDS * width:
        return whole
    head = (width - 1) // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
