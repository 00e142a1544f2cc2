"""The parts of a frontier picture with arrows to the right, each of a width known beforehand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphmem.render.fold import Group
from graphmem.render.markup import (
    FRAME,
    INSIDE,
    LIST_ELEMENT,
    SIZE,
    TABLE,
    box_label,
    bytes_text,
    escape,
    faint,
    outline,
    reverse,
    shape_text,
)
from graphmem.render.textfit import elide_path, text_width, wrap_op_type
from graphmem.render.themes import THEMES, Theme

NODESEP = 10.0
"""Points between the columns: room for an arrow."""

PAD = 1.5
"""Points around the picture."""

BORDER = 3.0
"""Points that Graphviz leaves on either side of a column of labels."""

_EDGE = 2.0
"""Points that stay beside the frames."""


@dataclass(frozen=True)
class Sheet:
    """What a picture is drawn on: widths in points of the ops, of the boxes between them and of all; the colours."""

    op: int
    box: int
    width: float
    theme: Theme = THEMES["light"]

    @classmethod
    def of_width(cls, width_mm: float, theme: Theme = THEMES["light"]) -> Sheet:
        """Share the width of a picture among its columns."""
        points = width_mm / 25.4 * 72
        width = points - 2 * (NODESEP + PAD + FRAME + _EDGE)
        op = int(min(85.0, 0.237 * width))
        return cls(op=op, box=int(width) - 2 * op, width=points, theme=theme)

    @property
    def total(self) -> int:
        """All three and the gaps between them."""
        return int(2 * self.op + self.box + 2 * NODESEP)


def tensor_box(group: Group, name: str, sheet: Sheet, largest: int) -> str:
    """Attributes of one box: name and bytes, shape, dtype and count, a bar as long as its share of the largest box."""
    role, theme = group.buffers[0].role, sheet.theme
    count = f"×{len(group.buffers):,}" if len(group.buffers) > 1 else ""
    what = _contents(group, sheet.box - INSIDE - text_width(count, SIZE) - 3)
    rows = [(name, bytes_text(group.buffers)), (what, count)]
    label = box_label(rows, sheet.box, group.bytes / largest, theme.fill(role), theme)
    return f"{label}, {outline(role, theme)}"


def _contents(group: Group, room: float) -> str:
    """Shape and dtype; where there is no room for the range of a dimension, `*` says that it varies."""
    dtype = group.buffers[0].dtype
    if not dtype:
        return group.buffers[0].role
    if dtype == LIST_ELEMENT:
        return dtype
    shape = shape_text([buffer.shape for buffer in group.buffers])
    if text_width(f"{shape} {dtype}", SIZE) > room and "{" in shape:
        shape = re.sub(r"\{.*?\}", "*", shape)
    return f"{shape} {dtype}"


def op_label(types: Sequence[str], scope: str, sheet: Sheet, align: str) -> str:
    """Attributes of the node of an op: its type, or several, and its scope, in lines of a fixed width."""
    distinct = list(dict.fromkeys(types))
    room = sheet.op - 2
    lines = [escape(line) for line in wrap_op_type(distinct[0], room, SIZE)]
    if len(distinct) > 1:
        lines.append(f"and {len(distinct) - 1} more")
    if scope:
        lines.append(faint(elide_path(scope, room, SIZE), sheet.theme))
    return _column(lines, sheet.op, align)


def peak_tag(sheet: Sheet, align: str) -> str:
    """Attributes of the node that stands for the op at the peak."""
    tag = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="2" bgcolor="{sheet.theme.ink}">'
    return _column([f"{tag}<tr><td>{reverse('peak op', sheet.theme)}</td></tr></table>"], sheet.op, align)


def _column(lines: Sequence[str], width: int, align: str) -> str:
    rows = "".join(f'<tr><td align="{align}" width="{width - 2}">{line}</td></tr>' for line in lines)
    space = '<td width="2"></td>'
    before, after = (space, "") if align == "left" else ("", space)
    return f"label=<<table {TABLE}><tr>{before}<td><table {TABLE}>{rows}</table></td>{after}</tr></table>>"


def headings(sheet: Sheet) -> str:
    """The words over the three columns, a row of a table."""
    words = (
        ("made by", sheet.op, "right"),
        ("", NODESEP, "left"),
        ("alive at the peak", sheet.box, "center"),
        ("", NODESEP, "left"),
        ("last read by", sheet.op, "left"),
    )
    cells = "".join(
        f'<td align="{align}" width="{width:g}">{faint(text, sheet.theme, italic=True)}</td>'
        for text, width, align in words
    )
    return f'<tr><td height="15" valign="bottom"><table {TABLE}><tr>{cells}</tr></table></td></tr>'
