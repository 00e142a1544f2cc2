"""The parts of the frontier picture as Graphviz's HTML-like labels, each of a width known beforehand."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphmem.render.colours import role_style
from graphmem.render.fold import Group
from graphmem.render.textfit import elide_path, text_width, wrap_op_type
from graphmem.render.themes import THEMES, Theme
from graphmem.report.report import FrontierBuffer, Report
from graphmem.units import format_bytes

SIZE = 7.0
"""Points of all text: the smallest that journals accept."""

NODESEP = 10.0
"""Points between the columns: room for an arrow."""

PAD = 1.5
"""Points around the picture."""

BORDER = 3.0
"""Points that Graphviz leaves on either side of a column of labels."""

FRAME = 3.5
"""Points between a frame and what it holds."""

_EDGE = 2.0
"""Points that stay beside the frames."""

_INSET = "0.03,0.01"
"""Inches between the outline of a box and what it holds."""

_TABLE = 'border="0" cellborder="0" cellspacing="0" cellpadding="0"'


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


def tensor_box(group: Group, name: str, sheet: Sheet, largest: int) -> str:
    """Attributes of one box: name and bytes, shape, dtype and count, a bar as long as its share of the largest box."""
    role, theme = group.buffers[0].role, sheet.theme
    count = f"×{len(group.buffers)}" if len(group.buffers) > 1 else ""
    what = _contents(group, sheet.box - 5 - text_width(count, SIZE) - 3)
    rows = [(name, bytes_text(group.buffers)), (what, count)]
    label = _box(rows, sheet, group.bytes / largest, theme.fill(role))
    style = role_style(role)
    outline = f'style="filled,{style.line}", penwidth={style.pen:g}, fillcolor="{theme.tint(role)}"'
    return f'{label}, shape=box, margin="{_INSET}", {outline}'


def _contents(group: Group, room: float) -> str:
    """Shape and dtype; where there is no room for the range of a dimension, `*` says that it varies."""
    dtype = group.buffers[0].dtype
    if not dtype:
        return group.buffers[0].role
    shape = shape_text([buffer.shape for buffer in group.buffers])
    if text_width(f"{shape} {dtype}", SIZE) > room and "{" in shape:
        shape = re.sub(r"\{.*?\}", "*", shape) if shape.count("{") == 1 else "various shapes"
    return f"{shape} {dtype}"


def others_box(rest: Sequence[FrontierBuffer], sheet: Sheet, largest: int) -> str:
    """Attributes of the box for what has none of its own, so that the bytes add up."""
    words = "and 1 other" if len(rest) == 1 else f"and {len(rest):,} others"
    share = sum(buffer.bytes or 0 for buffer in rest) / largest
    label = _box([(words, bytes_text(rest))], sheet, share, sheet.theme.faint)
    return f'{label}, shape=box, penwidth=0.5, margin="{_INSET}"'


def _box(rows: Sequence[tuple[str, str]], sheet: Sheet, share: float, fill: str) -> str:
    inside = sheet.box - 5
    lines = "".join(f"<tr><td>{_line(left, right, inside)}</td></tr>" for left, right in rows)
    content = lines + _bar(share, fill, inside, sheet.theme)
    return f'label=<<table border="0" cellborder="0" cellspacing="0" cellpadding="0">{content}</table>>'


def _line(left: str, right: str, width: int, *, bold: bool = False) -> str:
    """Text on the left and text on the right, which is never cut."""
    taken = math.ceil(text_width(right, SIZE, bold=bold)) if right else 0
    room = width - taken - (3 if right else 0)
    texts = escape(elide_path(left, room, SIZE, bold=bold)), escape(right)
    first, second = (f"<b>{words}</b>" if bold and words else words for words in texts)
    cells = f'<td align="left" width="{width - taken}">{first}</td>'
    cells += f'<td align="right" width="{taken}">{second}</td>' if right else ""
    return f"<table {_TABLE}><tr>{cells}</tr></table>"


def _bar(share: float, colour: str, width: int, theme: Theme) -> str:
    length = min(width - 1, round(share * width))
    if length < 1:
        return ""
    height, line = (5, f'border="1" color="{theme.ink}" ') if theme.outlined else (3, "")
    cells = (
        f'<td width="{length}" height="{height}" fixedsize="true" {line}bgcolor="{colour}"></td>'
        f'<td width="{width - length}" height="{height}" fixedsize="true"></td>'
    )
    return f"<tr><td><table {_TABLE}><tr>{cells}</tr></table></td></tr>"


def op_label(types: Sequence[str], scope: str, sheet: Sheet, align: str) -> str:
    """Attributes of the node of an op: its type, or several, and its scope, in lines of a fixed width."""
    distinct = list(dict.fromkeys(types))
    room = sheet.op - 2
    lines = [escape(line) for line in wrap_op_type(distinct[0], room, SIZE)]
    if len(distinct) > 1:
        lines.append(f"and {len(distinct) - 1} more")
    if scope:
        lines.append(f'<font color="{sheet.theme.faint}">{escape(elide_path(scope, room, SIZE))}</font>')
    return _column(lines, sheet.op, align)


def peak_tag(sheet: Sheet, align: str) -> str:
    """Attributes of the node that stands for the op at the peak."""
    tag = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="2" bgcolor="{sheet.theme.ink}">'
    return _column([f"{tag}<tr><td>{_reverse('peak op', sheet)}</td></tr></table>"], sheet.op, align)


def _column(lines: Sequence[str], width: int, align: str) -> str:
    rows = "".join(f'<tr><td align="{align}" width="{width - 2}">{line}</td></tr>' for line in lines)
    space = '<td width="2"></td>'
    before, after = (space, "") if align == "left" else ("", space)
    return f"label=<<table {_TABLE}><tr>{before}<td><table {_TABLE}>{rows}</table></td>{after}</tr></table>>"


def headings(sheet: Sheet) -> tuple[str, str, str]:
    """Attributes of the nodes over the three columns."""
    words = (
        ("made by", sheet.op, "right"),
        ("alive at the peak", sheet.box, "center"),
        ("last read by", sheet.op, "left"),
    )
    made, alive, read = (
        _column([f'<font color="{sheet.theme.faint}"><i>{text}</i></font>'], width, align)
        for text, width, align in words
    )
    return made, alive, read


def title(scope: str, size: int, sheet: Sheet) -> str:
    """Attributes of a frame's first row: its scope and the bytes of its boxes."""
    figure = format_bytes(size) if size else ""
    return f"label=<{_line(scope, figure, sheet.total, bold=True)}>"


def peak_bar(report: Report, sheet: Sheet) -> str:
    """Attributes of the op at the peak, over the whole width."""
    peak, width = report.peak, sheet.total
    when = f"{peak.phase}, position {peak.position} of {peak.positions}"
    lines = [_line(f"peak op: {peak.op_type}", "", width, bold=True), _line(peak.scope, when, width)]
    rows = "".join(f"<tr><td>{_reverse(line, sheet)}</td></tr>" for line in lines)
    inner = f"<table {_TABLE}>{rows}</table>"
    outer = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="{FRAME:g}" bgcolor="{sheet.theme.ink}">'
    return f"label=<{outer}<tr><td>{inner}</td></tr></table>>"


def _reverse(label: str, sheet: Sheet) -> str:
    return f'<font color="{sheet.theme.paper}">{label}</font>'
