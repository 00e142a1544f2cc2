"""The frontier as a picture: the cut of the step at its peak, as DOT text.

The op at the peak is the black bar on top. Below it a row for each group of tensors alive at that moment: what made
them, their box, what reads them last; rows of one scope share a frame. The legend at the foot has the sums by role.
One column of a paper wide (84 mm), with text of 7 points. `graphmem.render.engines` draws it.

Each row is a rank of the layout, so that the order of the rows is ours and lines never cross.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphmem.errors import TargetError
from graphmem.render.boxes import (
    BORDER,
    FRAME,
    NODESEP,
    PAD,
    SIZE,
    Sheet,
    headings,
    op_label,
    others_box,
    peak_bar,
    peak_tag,
    quote,
    tensor_box,
    title,
)
from graphmem.render.choices import COLUMN_MM
from graphmem.render.clusters import Cluster, cluster
from graphmem.render.fold import Group, fold_to, made_at, model_of, read_at
from graphmem.render.legend import foot
from graphmem.render.patterns import pattern, skeleton
from graphmem.render.textfit import text_width
from graphmem.render.themes import THEMES
from graphmem.report.report import Report

TOP = 10
"""Boxes shown unless asked otherwise."""

MOST = 15
"""Boxes that a picture may show: with an op on each side it stays below 60 nodes."""

NARROW, WIDE = 83.0, 300.0
"""Least and greatest width in millimetres."""


def frontier_dot(
    report: Report, *, top: int = TOP, depth: int | None = None, width_mm: float = COLUMN_MM, theme: str = "light"
) -> str:
    """The tensors alive at the peak as DOT text.

    Args:
        report: may be loaded from JSON; only its plain data is read.
        top: how many boxes at most; what they leave is one box "and … others", so that the bytes add up.
        depth: components of the scopes, below the model, that make a frame; `None`: where it gives a handful of frames.
        width_mm: width of the picture in millimetres.
        theme: a key of `graphmem.render.themes.THEMES`.

    Raises:
        TargetError: an option out of its range.
    """
    if not 1 <= top <= MOST:
        raise TargetError(f"a frontier picture shows 1 to {MOST} boxes, not {top}.")
    if depth is not None and depth < 0:
        raise TargetError(f"the depth of the scopes cannot be {depth}; it is 0 or more.")
    check_width(width_mm)
    if theme not in THEMES:
        raise TargetError(f"there is no theme {theme!r}; choose one of {', '.join(THEMES)}.")
    return "\n".join(_Picture(report, top, depth, Sheet.of_width(width_mm, THEMES[theme])).lines()) + "\n"


def check_width(width_mm: float) -> None:
    """See to it that a frontier can be drawn this wide (mm).

    Raises:
        TargetError: its text would not fit, or stand lost.
    """
    if not NARROW <= width_mm <= WIDE:
        raise TargetError(f"a frontier picture is {NARROW:g} to {WIDE:g} mm wide, not {width_mm:g}.")


class _Picture:
    """One picture, written from top to bottom; `column` holds the nodes that stand below each other."""

    def __init__(self, report: Report, top: int, depth: int | None, sheet: Sheet) -> None:
        self.report, self.sheet = report, sheet
        groups, self.rest = fold_to(report.frontier, top, report.peak.position)
        self.model = model_of(report.frontier)
        self.clusters = cluster(groups, depth)
        self.groups = [group for part in self.clusters for group in part.groups]
        self.largest = max([group.bytes for group in self.groups] + [sum(item.bytes or 0 for item in self.rest), 1])
        self.column: list[str] = []

    def lines(self) -> Iterator[str]:
        """The DOT text, line by line."""
        yield "digraph frontier {"
        # No wider than asked, whatever fonts the engine has.
        yield f'  graph [size="{self.sheet.width / 72:.4f},200"];'
        # Graphviz leaves 8 points beside a frame, of a narrow picture too many: a margin below 0 takes them back.
        taken = self.sheet.total + 2 * BORDER + 16 * any(map(_framed, self.clusters))
        pad = f"{(self.sheet.width - taken) / 2 / 72:.3f},{PAD / 72:.3f}"
        yield f'  graph [newrank=true, ranksep=0.02, nodesep={NODESEP / 72:.3f}, pad="{pad}", margin=0];'
        look = self.sheet.theme
        yield f'  graph [fontname="Helvetica", fontsize=7, fontcolor="{look.ink}", bgcolor="{look.paper}"];'
        yield f'  node [shape=plain, fontname="Helvetica", fontsize=7, color="{look.ink}", fontcolor="{look.ink}"];'
        yield "  node [margin=0, width=0, height=0];"
        yield f'  edge [color="{look.faint}", penwidth=0.6, arrowsize=0.4];'
        yield from self._row(peak=peak_bar(self.report, self.sheet))
        if self.groups:
            made, alive, read = headings(self.sheet)
            yield from self._row("style=invis", made=made, alive=alive, read=read)
        for number, part in enumerate(self.clusters):
            yield from self._cluster(number, part)
        if self.rest:
            yield from self._row(others=others_box(self.rest, self.sheet, self.largest))
        yield from self._row(foot=foot(self.report, self.sheet))
        yield f"  {' -> '.join(self.column)} [style=invis, weight=100];"
        yield "}"

    def _row(self, edge: str = "", **nodes: str) -> Iterator[str]:
        """One or three nodes side by side, name -> attributes; the middle one continues the column."""
        for name, attributes in nodes.items():
            yield f"  {name} [{attributes}];"
        self.column.append(list(nodes)[len(nodes) // 2])
        if len(nodes) > 1:
            yield f"  {{ rank=same; {' -> '.join(nodes)}{f' [{edge}]' if edge else ''}; }}"

    def _cluster(self, number: int, part: Cluster) -> Iterator[str]:
        if _framed(part):
            yield f"  subgraph cluster{number} {{"
            yield f'  graph [margin={FRAME:g}, style=filled, color="{self.sheet.theme.band}"];'
            yield from self._row(**{f"title{number}": title(part.scope, part.bytes, self.sheet)})
        for group in part.groups:
            yield from self._group(group, part)
        if _framed(part):
            yield "  }"

    def _group(self, group: Group, part: Cluster) -> Iterator[str]:
        index = self.groups.index(group)
        box = tensor_box(group, self._name(group, part), self.sheet, self.largest)
        yield from self._row(
            **{
                f"maker{index}": self._maker(group),
                f"box{index}": f"{box}, tooltip={quote(_full_names(group))}",
                f"reader{index}": self._reader(group, part),
            }
        )

    def _name(self, group: Group, part: Cluster) -> str:
        return part.short_name(group) or pattern(buffer.op for buffer in group.buffers)

    def _maker(self, group: Group) -> str:
        if made_at(group.buffers[0], self.report.peak.position):
            return peak_tag(self.sheet, "right")
        return op_label([buffer.made_by for buffer in group.buffers], "", self.sheet, "right")

    def _reader(self, group: Group, part: Cluster) -> str:
        if read_at(group.buffers[0], self.report.peak.position):
            return peak_tag(self.sheet, "left")
        readers = [buffer for buffer in group.buffers if buffer.last_reader]
        if not readers:
            return op_label(["held to end"], "", self.sheet, "left")
        scopes = {buffer.last_reader_scope.removeprefix(self.model) for buffer in readers}
        scope = pattern(scopes) if len(set(map(skeleton, scopes))) == 1 else ""
        types = list(dict.fromkeys(buffer.last_reader_type for buffer in readers))
        known = scope == group.scope or (_framed(part) and scope.startswith(part.scope))
        unreadable = "{" in scope and text_width(scope, SIZE) > self.sheet.op - 2
        return op_label(types, "" if known or unreadable or len(types) > 1 else scope, self.sheet, "left")


def _framed(part: Cluster) -> bool:
    return len(part.groups) > 1 and part.scope != ""


def _full_names(group: Group, most: int = 4) -> list[str]:
    """What an SVG viewer shows over a box: the tensors' names and their last readers."""
    shown = [
        buffer.tensor + (f", last read by {buffer.last_reader}" if buffer.last_reader else "")
        for buffer in group.buffers[:most]
    ]
    hidden = len(group.buffers) - len(shown)
    return [*shown, *([f"and {hidden} others"] if hidden else [])]
