"""The frontier with arrows to the right: a row for each box, below each other, for one column of a paper.

Each row is a rank of the layout, so that the order of the rows is ours and lines never cross.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphmem.render.bands import Band
from graphmem.render.bars import others_box, others_words, peak_bar, resident_box, strip, title
from graphmem.render.boxes import BORDER, NODESEP, PAD, Sheet, headings, op_label, peak_tag, tensor_box
from graphmem.render.clusters import Cluster
from graphmem.render.fold import Group
from graphmem.render.frontier_content import Content, Ops, box_name, framed, full_names, held_all_along, phase_words
from graphmem.render.legend import foot
from graphmem.render.markup import FONT, FRAME, bytes_text, quote
from graphmem.render.rows import plural
from graphmem.render.themes import Theme


def rows_dot(content: Content, width_mm: float, theme: Theme) -> str:
    """The picture as DOT text, `width_mm` millimetres wide."""
    return "\n".join(_Rows(content, Sheet.of_width(width_mm, theme)).lines()) + "\n"


def preamble(width: float, theme: Theme) -> Iterator[str]:
    """The first lines of both layouts: the size of the picture (points), fonts and colours."""
    yield "digraph frontier {"
    # No wider than asked, whatever fonts the engine has.
    yield f'  graph [size="{width / 72:.4f},200"];'
    yield f'  graph [{FONT}, fontcolor="{theme.ink}", bgcolor="{theme.paper}"];'
    look = f'color="{theme.ink}", fontcolor="{theme.ink}"'
    yield f'  node [shape=plain, {FONT}, {look}];'
    yield "  node [margin=0, width=0, height=0];"
    yield f'  edge [color="{theme.faint}", penwidth=0.6, arrowsize=0.4];'


class _Rows:
    """One picture, written from top to bottom; `column` holds the nodes that stand below each other."""

    def __init__(self, content: Content, sheet: Sheet) -> None:
        self.content, self.report, self.sheet = content, content.report, sheet
        self.boxes, self.frames = 0, 0
        self.column: list[str] = []

    def lines(self) -> Iterator[str]:
        """The DOT text, line by line."""
        yield from preamble(self.sheet.width, self.sheet.theme)
        # Graphviz leaves 8 points beside a frame, of a narrow picture too many: a margin below 0 takes them back.
        frames = any(framed(part) for band in self.content.bands for part in band.clusters)
        taken = self.sheet.total + 2 * BORDER + 16 * frames
        pad = f"{(self.sheet.width - taken) / 2 / 72:.3f},{PAD / 72:.3f}"
        yield f'  graph [newrank=true, ranksep=0.02, nodesep={NODESEP / 72:.3f}, pad="{pad}", margin=0];'
        below = headings(self.sheet) if self.content.boxes else ""
        yield from self._row(peak=peak_bar(self.report, self.sheet.total, self.sheet.theme, below))
        for number, band in enumerate(self.content.bands):
            yield from self._band(number, band)
        held = held_all_along(self.report)
        if held:
            yield from self._row(resident=resident_box(held, self.sheet.total, self.sheet.theme))
        yield from self._row(foot=foot(self.report, self.sheet.total, self.sheet.theme))
        yield f"  {' -> '.join(self.column)} [style=invis, weight=100];"
        yield "}"

    def _row(self, **nodes: str) -> Iterator[str]:
        """One or three nodes side by side, name -> attributes; the middle one continues the column."""
        for name, attributes in nodes.items():
            yield f"  {name} [{attributes}];"
        self.column.append(list(nodes)[len(nodes) // 2])
        if len(nodes) > 1:
            yield f"  {{ rank=same; {' -> '.join(nodes)}; }}"

    def _band(self, number: int, band: Band) -> Iterator[str]:
        words = f"made in the {phase_words(band.phase)}"
        if not band.clusters:
            words += f": {plural(len(band.rest), 'tensor')}"
        line = words, bytes_text(band.buffers)
        heading = strip([line], self.sheet.total + 2 * FRAME, self.sheet.theme)
        yield from self._row(**{f"phase{number}": heading})
        for part in band.clusters:
            yield from self._cluster(part)
        if band.clusters and band.rest:
            share = sum(buffer.bytes or 0 for buffer in band.rest) / self.content.largest
            others = others_box([others_words(band.rest)], self.sheet.box, share, self.sheet.theme)
            yield from self._row(**{f"others{number}": others})

    def _cluster(self, part: Cluster) -> Iterator[str]:
        if framed(part):
            yield f"  subgraph cluster{self.frames} {{"
            yield f'  graph [margin={FRAME:g}, style=filled, color="{self.sheet.theme.band}"];'
            heading = title([(part.scope, bytes_text(part.buffers))], self.sheet.total)
            yield from self._row(**{f"title{self.frames}": heading})
            self.frames += 1
        for group in part.groups:
            yield from self._group(group, part)
        if framed(part):
            yield "  }"

    def _group(self, group: Group, part: Cluster) -> Iterator[str]:
        index, self.boxes = self.boxes, self.boxes + 1
        box = tensor_box(group, box_name(group, part), self.sheet, self.content.largest)
        yield from self._row(
            **{
                f"maker{index}": self._ops(self.content.maker(group), "right"),
                f"box{index}": f"{box}, tooltip={quote(full_names(group))}",
                f"reader{index}": self._ops(self.content.reader(group, part, self.sheet.op - 2), "left"),
            }
        )

    def _ops(self, ops: Ops, align: str) -> str:
        return op_label(ops.types, ops.scope, self.sheet, align) if ops.types else peak_tag(self.sheet, align)
