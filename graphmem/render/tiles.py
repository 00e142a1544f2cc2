"""The parts of a frontier picture with arrows down: boxes and ops as narrow columns of text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphmem.render.fold import Group
from graphmem.render.markup import (
    INSIDE,
    LIST_ELEMENT,
    SIZE,
    TABLE,
    bar,
    bar_height,
    bytes_text,
    escape,
    faint,
    outline,
    reverse,
    shape_text,
)
from graphmem.render.textfit import elide, text_width, wrap, wrap_op_type
from graphmem.render.themes import Theme

NAME_LINES = 2
"""Lines of every tile's name; the line below it has the bytes."""

_BREAKS = re.compile(r"(?<=[_/])|(?<=[a-z])(?=\{)")


def name_lines(name: str, width: float, most: int = NAME_LINES) -> list[str]:
    """A scope in lines no wider than `width` points, broken where its words end; what has no room goes before the end.

    >>> name_lines("conv2_block{1–3}_out", 46), name_lines("a_very_long_name_of_a_layer", 46)
    (['conv2_block', '{1–3}_out'], ['a_very_', '…_of_a_layer'])
    """
    lines = wrap([word for word in _BREAKS.split(name) if word], width, SIZE)
    if len(lines) > most:
        kept = lines[: most - 1]
        rest = name[sum(map(len, kept)) :]
        ends = (f"…{rest[start:]}" for start in range(1, len(rest)))
        lines = [*kept, next((end for end in ends if text_width(end, SIZE) <= width), "…")]
    return [elide(line, width, SIZE) for line in lines]


def shape_lines(shapes: Sequence[tuple[int | None, ...] | None], width: float) -> list[str]:
    """The shapes of a tile in two lines at most; `*` for what varies where its range has no room.

    >>> shape_lines([(32, 112, 112, 64)], 40), shape_lines([(32, 56, 64), (32, 56, 256)], 40)
    (['32×112×', '112×64'], ['32×56×', '{64–256}'])
    """
    text = shape_text(shapes)
    for shown in (text, re.sub(r"\{.*?\}", "*", text)):
        lines = wrap(re.split(r"(?<=×)|(?<= )", shown), width, SIZE)
        if len(lines) <= 2 and all(text_width(line, SIZE) <= width for line in lines):
            return lines
    return ["various", "shapes"]


def tensor_lines(group: Group, name: str, width: int) -> list[str]:
    """What the tile of a group says."""
    room, first = width - INSIDE, group.buffers[0]
    what = [] if first.dtype else [first.role]
    if first.dtype not in ("", LIST_ELEMENT):
        what = shape_lines([buffer.shape for buffer in group.buffers], room)
    count = [f"×{len(group.buffers):,}"] if len(group.buffers) > 1 else []
    kind = wrap([f"{word} " for word in [first.dtype, *count] if word], room, SIZE)
    return [*_named(name_lines(name, room)), bytes_text(group.buffers), *what, *(line.rstrip() for line in kind)]


def _named(lines: Sequence[str]) -> list[str]:
    return [*lines, *[""] * (NAME_LINES - len(lines))]


def tensor_tile(group: Group, lines: Sequence[str], width: int, largest: int, theme: Theme) -> str:
    """Attributes of the box of a group; all boxes of a picture need as many lines."""
    role, inside = group.buffers[0].role, width - INSIDE
    rows = "".join(f'<tr><td align="left" width="{inside}">{_text(line)}</td></tr>' for line in lines)
    foot = bar(group.bytes / largest, theme.fill(role), inside, theme)
    foot = foot or f'<tr><td height="{bar_height(theme)}"></td></tr>'
    return f"label=<<table {TABLE}>{rows}{foot}</table>>, {outline(role, theme)}"


def _text(line: str) -> str:
    return escape(line) if line else "&#160;"


def op_lines(types: Sequence[str], scope: str, width: float, theme: Theme) -> list[str]:
    """An op above or below a tile as lines of markup: its type, how many others, its scope; no types: the peak op."""
    if not types:
        tag = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="1" bgcolor="{theme.ink}">'
        return [f"{tag}<tr><td>{reverse('peak op', theme)}</td></tr></table>"]
    lines = [escape(line) for line in wrap_op_type(types[0], width, SIZE)]
    more = [f"and {len(types) - 1} more"] if len(types) > 1 else []
    return [*lines, *more, *(faint(line, theme) for line in (name_lines(scope, width) if scope else []))]


def op_node(lines: Sequence[str], count: int, width: int, *, above: bool) -> str:
    """Attributes of the node of an op: its lines next to the tile, empty ones up to `count` on the other side."""
    empty = ["&#160;"] * (count - len(lines))
    texts = [*empty, *lines] if above else [*lines, *empty]
    rows = "".join(f'<tr><td align="center" width="{width}">{text}</td></tr>' for text in texts)
    return f"label=<<table {TABLE}>{rows}</table>>"
