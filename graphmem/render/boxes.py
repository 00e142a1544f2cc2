"""The parts of the frontier picture as Graphviz's HTML-like labels, each of a width known beforehand."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from graphmem.render.colours import FAINT, INK, role_style
from graphmem.render.fold import Group
from graphmem.render.textfit import elide, text_width, wrap_op_type
from graphmem.report.report import FrontierBuffer, Report
from graphmem.units import format_bytes

SIZE = 7.0
"""Points of all text: the smallest that journals accept."""

NODESEP = 11.0
"""Points between the columns: room for an arrow."""

PAD = 1.5
"""Points around the picture."""

_FRAME = 4.0
"""Points between a frame and what it holds."""

_TABLE = 'border="0" cellborder="0" cellspacing="0" cellpadding="0"'


@dataclass(frozen=True)
class Columns:
    """Widths in points: the ops that made the tensors, the boxes, the ops that read them last."""

    maker: int
    box: int
    reader: int

    @classmethod
    def of_width(cls, width_mm: float) -> Columns:
        """Share the width of a picture among its columns."""
        width = width_mm / 25.4 * 72 - 2 * (NODESEP + PAD + _FRAME)
        maker, reader = int(min(85.0, 0.2 * width)), int(min(85.0, 0.235 * width))
        return cls(maker=maker, box=int(width) - maker - reader, reader=reader)

    @property
    def total(self) -> int:
        """All three, the gaps between them and the frame."""
        return int(self.maker + self.box + self.reader + 2 * (NODESEP + _FRAME))

    def title(self, scope: str, size: int) -> str:
        """The title of a frame: its scope and the bytes of its boxes."""
        figure = f"  {format_bytes(size)}" if size else ""
        room = self.total - 20 - text_width(figure, SIZE)
        return f"<b>{escape(elide(scope, room, SIZE, bold=True))}</b>{figure}"


def quote(value: str) -> str:
    """A DOT string that reads as it is: no escape of Graphviz's is made by a name."""
    return '"' + escape(value).replace("\\", "&#92;").replace("\n", "\\n") + '"'


def escape(value: str) -> str:
    """Text inside an HTML-like label; characters that XML does not allow become a replacement mark."""
    return html.escape("".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in value))


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


def tensor_box(group: Group, name: str, columns: Columns, largest: int) -> str:
    """One box: name and bytes, shape, dtype and count, and a bar as long as its share of the largest box."""
    first, style = group.buffers[0], role_style(group.buffers[0].role)
    what = f"{shape_text([buffer.shape for buffer in group.buffers])} {first.dtype}" if first.dtype else first.role
    count = f"×{len(group.buffers)}" if len(group.buffers) > 1 else ""
    rows = [(name or first.made_by, bytes_text(group.buffers)), (what, count)]
    return _box(rows, columns.box, style.tint, style.border, group.bytes / largest, style.fill)


def others_box(rest: Sequence[FrontierBuffer], columns: Columns, largest: int) -> str:
    """What has no box of its own, so that the bytes add up."""
    words = "and 1 other" if len(rest) == 1 else f"and {len(rest):,} others"
    share = sum(buffer.bytes or 0 for buffer in rest) / largest
    return _box([(words, bytes_text(rest))], columns.box, "#ffffff", "solid", share, "#a8a8a8")


def _box(rows: Sequence[tuple[str, str]], width: int, colour: str, border: str, share: float, fill: str) -> str:
    lines = "".join(_line(left, right, width - 6) for left, right in rows)
    line = f' style="{border}"' if border in ("dashed", "dotted") else ""
    return (
        f'<table border="{2 if border == "bold" else 1}"{line} cellborder="0" cellspacing="0" cellpadding="0" '
        f'color="{INK}" bgcolor="{colour}" width="{width}">{lines}{_bar(share, fill, width - 6)}</table>'
    )


def _line(left: str, right: str, width: int) -> str:
    """A line of a box, its right part bold."""
    room = width - (text_width(right, SIZE, bold=True) + 3 if right else 0)
    cells = f'<td align="left" width="{width - 40}">{escape(elide(left, room, SIZE))}</td>'
    if right:
        cells += f'<td align="right">{escape(right)}</td>'
    return f'<tr><td><table {_TABLE} width="{width}"><tr>{cells}</tr></table></td></tr>'


def _bar(share: float, colour: str, width: int) -> str:
    length = min(width - 1, round(share * width))
    if length < 1:
        return ""
    cells = (
        f'<td width="{length}" height="3" fixedsize="true" bgcolor="{colour}"></td>'
        f'<td width="{width - length}" height="3" fixedsize="true"></td>'
    )
    return f"<tr><td><table {_TABLE}><tr>{cells}</tr></table></td></tr>"


def op_label(types: Sequence[str], scope: str, width: int, align: str) -> str:
    """The type of an op, or of several, and its scope, in lines of a fixed width."""
    distinct = list(dict.fromkeys(types))
    lines = [escape(line) for line in wrap_op_type(distinct[0], width, SIZE)]
    if len(distinct) > 1:
        lines.append(f"and {len(distinct) - 1} more")
    if scope:
        lines.append(f'<font color="{FAINT}">{escape(elide(scope, width, SIZE))}</font>')
    return _column(lines, width, align)


def _column(lines: Sequence[str], width: int, align: str) -> str:
    rows = "".join(f'<tr><td align="{align}">{line}</td></tr>' for line in lines)
    return f'<table {_TABLE} width="{width}">{rows}</table>'


def heading(columns: Columns) -> tuple[str, str, str]:
    """Labels over the three columns."""

    def head(words: str, width: int, align: str) -> str:
        return _column([f'<font color="{FAINT}"><i>{words}</i></font>'], width, align)

    made, read = head("made by", columns.maker, "right"), head("last read by", columns.reader, "left")
    return made, head("alive at the peak", columns.box, "center"), read


def peak_tag(width: int, align: str) -> str:
    """A sign in place of an op: the op at the peak."""
    tag = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="2" bgcolor="{INK}">'
    tag += '<tr><td><font color="#ffffff"><b>this op</b></font></td></tr></table>'
    return _column([tag], width, align)


def peak_bar(report: Report, columns: Columns) -> str:
    """The op at the peak, over the whole width."""
    peak = report.peak
    when = f"{peak.phase}, op {peak.position:,} of {peak.positions:,}"
    room = columns.total - 12 - text_width(when, SIZE)
    kind = elide(peak.op_type, room, SIZE, bold=True)
    scope = elide(peak.scope, room - text_width(kind, SIZE, bold=True) - 6, SIZE)
    left = f"<b>{escape(kind)}</b>  {escape(scope)}" if scope != "…" else f"<b>{escape(kind)}</b>"
    cells = f'<td align="left">{white(left)}</td><td align="right">{white(escape(when))}</td>'
    table = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="3" bgcolor="{INK}" width="{columns.total}">'
    return f"{table}<tr>{cells}</tr></table>"


def white(label: str) -> str:
    """The label in white."""
    return f'<font color="#ffffff">{label}</font>'
