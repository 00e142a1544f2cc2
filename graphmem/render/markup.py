"""Graphviz's HTML-like labels: texts, bars and outlines that the parts of a frontier picture share."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from graphmem.render.colours import role_style
from graphmem.render.textfit import elide_path, text_width
from graphmem.render.themes import Theme
from graphmem.report.report import FrontierBuffer
from graphmem.units import format_bytes

SIZE = 7.0
"""Points of all text: the smallest that journals accept."""

FONT = f'fontname="Arial", fontsize={SIZE:g}'
"""Attributes of text. Arial has Helvetica's widths, and unlike it the system's Graphviz finds what stands in for it."""

FRAME = 3.5
"""Points between a frame and what it holds."""

BOX = 'shape=box, margin="0.03,0.01"'
"""Attributes of a box: its outline has this distance (inches) to what it holds."""

INSIDE = 5
"""Points of a box's width that its contents cannot have."""

LIST_ELEMENT = "list element"
"""The dtype of what a list of tensors holds, which has no shape of its own to be shown."""

TABLE = 'border="0" cellborder="0" cellspacing="0" cellpadding="0"'
"""Attributes of a table that takes no room itself."""


def quote(lines: Sequence[str]) -> str:
    """Lines as a DOT string; Graphviz's versions agree on no way to write a backslash in one, so it turns over."""
    return '"' + "\\n".join(escape(line.replace("\\", "/")) for line in lines) + '"'


def escape(value: str) -> str:
    """Text inside an HTML-like label; characters that XML does not allow become a replacement mark."""
    return html.escape("".join(c if c.isprintable() else "\ufffd" for c in value)).replace("\\", "\\\\")


def shape_text(shapes: Sequence[tuple[int | None, ...] | None]) -> str:
    """One text for the shapes of a box: `8×56×56×{64–256}` where a dimension differs.

    >>> shape_text([(8, 3)]), shape_text([(8, 3), (8, 5)]), shape_text([()]), shape_text([(None, 3)])
    ('8×3', '8×{3–5}', 'scalar', '?×3')
    >>> shape_text([None]), shape_text([(1,), (1, 2)])
    ('shape unknown', 'various shapes')
    """
    distinct = set(shapes)
    if distinct == {None}:
        return "shape unknown"
    if len({None if shape is None else len(shape) for shape in distinct}) > 1:
        return "various shapes"
    columns = zip(*(shape for shape in distinct if shape is not None), strict=True)
    return "×".join(_dimension(column) for column in columns) or "scalar"


def _dimension(sizes: Sequence[int | None]) -> str:
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return "?"
    return str(known[0]) if min(known) == max(known) else f"{{{min(known)}–{max(known)}}}"


def bytes_text(buffers: Sequence[FrontierBuffer]) -> str:
    """Their bytes together; a lower bound where some have no known size."""
    known = [buffer.bytes for buffer in buffers if buffer.bytes is not None]
    if not known and buffers:
        return "size unknown"
    return f"{'≥ ' if len(known) < len(buffers) else ''}{format_bytes(sum(known))}"


def faint(text: str, theme: Theme, *, italic: bool = False) -> str:
    """Secondary text, escaped; "" stays so."""
    words = f"<i>{escape(text)}</i>" if italic else escape(text)
    return f'<font color="{theme.faint}">{words}</font>' if text else ""


def reverse(label: str, theme: Theme) -> str:
    """Markup in the colour of paper, to stand on ink."""
    return f'<font color="{theme.paper}">{label}</font>'


def spread(left: str, right: str, width: int, *, bold: bool = False) -> str:
    """Text on the left and text on the right, which is never cut."""
    taken = math.ceil(text_width(right, SIZE, bold=bold)) if right else 0
    room = width - taken - (3 if right else 0)
    texts = escape(elide_path(left, room, SIZE, bold=bold)), escape(right)
    first, second = (f"<b>{words}</b>" if bold and words else words for words in texts)
    cells = f'<td align="left" width="{width - taken}">{first}</td>'
    cells += f'<td align="right" width="{taken}">{second}</td>' if right else ""
    return f"<table {TABLE}><tr>{cells}</tr></table>"


def bar(share: float, colour: str, width: int, theme: Theme) -> str:
    """A row of a table: a bar as long as its share of `width`; "" for one that is too short to be seen."""
    length = min(width - 1, round(share * width))
    if length < 1:
        return ""
    height, line = bar_height(theme), f'border="1" color="{theme.ink}" ' if theme.outlined else ""
    cells = (
        f'<td width="{length}" height="{height}" fixedsize="true" {line}bgcolor="{colour}"></td>'
        f'<td width="{width - length}" height="{height}" fixedsize="true"></td>'
    )
    return f"<tr><td><table {TABLE}><tr>{cells}</tr></table></td></tr>"


def bar_height(theme: Theme) -> int:
    """Points."""
    return 5 if theme.outlined else 3


def outline(role: str, theme: Theme) -> str:
    """Attributes that tell the role of a box: its ground and the line around it."""
    style = role_style(role)
    return f'{BOX}, style="filled,{style.line}", penwidth={style.pen:g}, fillcolor="{theme.tint(role)}"'


def box_label(
    rows: Sequence[tuple[str, str]], width: float, share: float, fill: str, theme: Theme, ports: str = ""
) -> str:
    """The label of a box `width` points wide: rows with a left and a right text, and a bar of a share of the width."""
    inside = int(width) - INSIDE
    lines = "".join(f"<tr><td>{spread(left, right, inside)}</td></tr>" for left, right in rows)
    return f"label=<<table {TABLE}>{ports}{lines}{bar(share, fill, inside, theme)}</table>>"
