"""The grid of a frontier picture with arrows down: which column stands where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from graphmem.render.bands import Band
from graphmem.render.clusters import Cluster
from graphmem.render.fold import Group
from graphmem.render.frontier_content import framed
from graphmem.render.markup import TABLE

LABEL = 34
"""Points of the words at the left, which tell what each row is."""

_NARROWEST, _WIDEST = 50, 86
"""Points of a column of a box: a shape has room in two lines, and most ops."""

_LONE = 54
"""Points of the column of a band that has no box: its name, its bytes, and of how many tensors."""

_GAP, _APART, _FRAMED = 6, 8, 15
"""Points between columns of one frame, between others, and beside a frame, which needs room itself."""

_PORT = 2
"""Points of a port."""

_LEAST = 220
"""Points of the picture: the foot needs them."""


@dataclass(frozen=True)
class Column:
    """One column: a group, or a band that has none.

    Attributes:
        name: of its node and its ports.
        band: what it belongs to.
        part, group: of a box; `None` of a band without one.
        frame: number of its frame, -1 for none.
        left: points from the left edge.
        width: points.
    """

    name: str
    band: Band
    part: Cluster | None = None
    group: Group | None = None
    frame: int = -1
    left: float = 0.0
    width: float = 0.0


@dataclass
class Grid:
    """The columns of a picture from left to right, the words at the left first.

    Attributes:
        bands: what the picture shows.
        room: points that it may be wide.
        columns: placed.
        width: of a column with a box (points).
        total: of all (points).
        fits: whether that is within `room`.
    """

    bands: Sequence[Band]
    room: float
    columns: list[Column] = field(init=False)
    width: int = field(init=False)
    total: int = field(init=False)

    def __post_init__(self) -> None:
        columns = _columns(self.bands)
        boxes = sum(column.group is not None for column in columns)
        taken = LABEL + sum(_gaps(columns)) + _LONE * (len(columns) - boxes)
        self.width = max(_NARROWEST, min(_WIDEST, int((self.room - taken) / max(1, boxes)) // 2 * 2))
        self.columns, at = [], float(LABEL)
        for column, gap in zip(columns, _gaps(columns), strict=True):
            width = _LONE if column.group is None else self.width
            self.columns.append(replace(column, left=at + gap, width=width))
            at += gap + width
        self.total = max(int(at), _LEAST)

    @staticmethod
    def most(room: float) -> int:
        """More boxes than this never fit in so many points."""
        return max(1, int((room - LABEL) / (_NARROWEST + _GAP)))

    @property
    def fits(self) -> bool:
        """Whether the columns have room."""
        return self.total <= self.room

    def span(self, of: Band | Cluster) -> tuple[float, float]:
        """Where the columns of a band or of a cluster start, and how wide they are together (points)."""
        own = [column for column in self.columns if of in (column.band, column.part)]
        return own[0].left, own[-1].left + own[-1].width - own[0].left

    def ports(self, left: float = 0.0, width: float | None = None) -> str:
        """A row of a table `width` points wide from `left` on, with a port at the middle of each column there."""
        end = left + (self.total if width is None else width)
        middles = [("label", LABEL / 2), *((column.name, column.left + column.width / 2) for column in self.columns)]
        out, at = [], round(left)
        for name, middle in middles:
            if left < middle < end:
                start = round(middle) - _PORT // 2  # Graphviz reads whole points
                out += [_cell(start - at), _cell(_PORT, f'port="{name}" ')]
                at = start + _PORT
        return f"<tr><td><table {TABLE}><tr>{''.join(out)}{_cell(round(end) - at)}</tr></table></td></tr>"


def _cell(width: int, port: str = "") -> str:
    return f'<td {port}width="{width}" height="1" fixedsize="true"></td>'


def _columns(bands: Sequence[Band]) -> list[Column]:
    out: list[Column] = []
    frames = 0
    for number, band in enumerate(bands):
        for part in band.clusters:
            frame, frames = (frames, frames + 1) if framed(part) else (-1, frames)
            out += [Column(f"box{len(out) + at}", band, part, group, frame) for at, group in enumerate(part.groups)]
        if not band.clusters:
            out.append(Column(f"lone{number}", band))
    return out


def _gaps(columns: Sequence[Column]) -> list[int]:
    """Points before each column."""
    out = [_APART] if columns else []
    for one, other in pairwise(columns):
        if one.frame == other.frame:
            out.append(_GAP if one.frame >= 0 else _APART)
        else:
            out.append(_FRAMED)
    return out
