"""The frontier with arrows down: a column for each box, side by side, for the whole width of a page or a slide.

The columns are a grid that is worked out here. Bars over several columns have a port over the middle of each, and
unseen edges from there down each column keep everything in its place, whatever engine draws it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphmem.render.bars import others_box, others_words, peak_bar, resident_box, strip, title
from graphmem.render.boxes import PAD
from graphmem.render.frontier_content import Content, box_name, full_names, held_all_along
from graphmem.render.frontier_grid import LABEL, Grid
from graphmem.render.frontier_rows import preamble
from graphmem.render.legend import foot
from graphmem.render.markup import FRAME, INSIDE, SIZE, bytes_text, faint, quote
from graphmem.render.rows import plural
from graphmem.render.textfit import text_width
from graphmem.render.themes import Theme
from graphmem.render.tiles import op_lines, op_node, tensor_lines, tensor_tile
from graphmem.report.report import Report

LEAST_MM = 120.0
"""Least width of such a picture in millimetres: four columns and the words beside them."""

_EDGE = 6.0
"""Points that stay free on either side."""


def stacks_dot(report: Report, top: int, depth: int | None, width_mm: float, theme: Theme) -> str:
    """The picture as DOT text, `width_mm` millimetres wide, with as many of the `top` boxes as have room."""
    width = width_mm / 25.4 * 72
    for count in range(min(top, Grid.most(width)), 0, -1):
        content = Content.of(report, count, depth)
        grid = Grid(content.bands, width - 2 * _EDGE)
        if grid.fits:
            break
    return "\n".join(_Stacks(content, grid, width, theme).lines()) + "\n"


class _Stacks:
    """One picture, written from top to bottom."""

    def __init__(self, content: Content, grid: Grid, page: float, theme: Theme) -> None:
        self.content, self.report, self.grid, self.theme, self.page = content, content.report, grid, theme, page
        self.boxes = [
            (column, column.part, column.group)
            for column in grid.columns
            if column.part is not None and column.group is not None
        ]
        self.held = held_all_along(self.report)

    def lines(self) -> Iterator[str]:
        """The DOT text, line by line."""
        yield from preamble(self.page, self.theme)
        total, ports = self.grid.total, self.grid.ports()
        pad = f"{(self.page - total) / 2 / 72:.3f},{PAD / 72:.3f}"
        yield f'  graph [newrank=true, ranksep=0.11, nodesep=0.03, pad="{pad}", margin=0];'
        yield f"  peak [{peak_bar(self.report, total - 2 * FRAME, self.theme, ports)}];"
        yield from self._headings()
        yield from self._ops_and_boxes()
        yield from self._others()
        if self.held:
            inside = self.grid.ports(INSIDE / 2, total - INSIDE)
            yield f"  resident [{resident_box(self.held, total, self.theme, inside)}];"
        yield f"  foot [{foot(self.report, total, self.theme, ports)}];"
        yield from self._edges()
        yield "}"

    def _headings(self) -> Iterator[str]:
        """The strips of the bands, all with one line or all with two."""
        cells = []
        for number, band in enumerate(self.content.bands):
            left, width = self.grid.span(band)
            cells.append((number, (band.phase, bytes_text(band.buffers)), left, width))
        lines = _lines([(words, width - 2 * FRAME) for _, words, _, width in cells])
        for (number, _, left, width), texts in zip(cells, lines, strict=True):
            yield f"  phase{number} [{strip(texts, width, self.theme, self.grid.ports(left, width))}];"

    def _others(self) -> Iterator[str]:
        """Below each band what has no box; of a band without one how many there are, as its strip has the bytes."""
        cells = []
        for number, band in enumerate(self.content.bands):
            if band.rest:
                words = others_words(band.rest) if band.clusters else (plural(len(band.rest), "tensor"), "")
                cells.append((number, band, words, *self.grid.span(band)))
        lines = _lines([(words, width - INSIDE) for _, _, words, _, width in cells])
        for (number, band, _, left, width), rows in zip(cells, lines, strict=True):
            size = sum(buffer.bytes or 0 for buffer in band.rest)
            share = size / self.content.largest * self.grid.width / width if band.clusters else 0
            ports = self.grid.ports(left + INSIDE / 2, width - INSIDE)
            yield f"  others{number} [{others_box(rows, width, share, self.theme, ports)}];"

    def _ops_and_boxes(self) -> Iterator[str]:
        """The words at the left, ops, boxes and ops, frames around them."""
        width = self.grid.width
        tiles, makers, readers = {}, {}, {}
        for column, part, group in self.boxes:
            made, read = self.content.maker(group), self.content.reader(group, part, width)
            tiles[column.name] = tensor_lines(group, box_name(group, part), width)
            makers[column.name] = op_lines(made.types, made.scope, width, self.theme)
            readers[column.name] = op_lines(read.types, read.scope, width, self.theme)
        high, above, below = (max(map(len, side.values()), default=1) for side in (tiles, makers, readers))
        for row, words in enumerate((["made by"], ["alive at", "the peak"], ["last read", "by"])):
            texts = [faint(word, self.theme, italic=True) for word in words]
            yield f"  label{row} [{op_node(texts, (above, 0, below)[row], LABEL, above=row == 0)}];"
        frames = {column.frame: (part, self.grid.span(part)) for column, part, _ in self.boxes if column.frame >= 0}
        titles = _lines([((part.scope, bytes_text(part.buffers)), width) for part, (_, width) in frames.values()])
        open_frame = -1
        for column, _, group in self.boxes:
            if column.frame != open_frame:
                yield from ["  }"] * (open_frame >= 0)
                if column.frame >= 0:
                    yield from self._frame(column.frame, titles[column.frame], *frames[column.frame][1])
                open_frame = column.frame
            lines = [*tiles[column.name], *[""] * (high - len(tiles[column.name]))]
            box = tensor_tile(group, lines, width, self.content.largest, self.theme)
            yield f"  maker_{column.name} [{op_node(makers[column.name], above, width, above=True)}];"
            yield f"  {column.name} [{box}, tooltip={quote(full_names(group))}];"
            yield f"  reader_{column.name} [{op_node(readers[column.name], below, width, above=False)}];"
        yield from ["  }"] * (open_frame >= 0)

    def _frame(self, number: int, words: Sequence[tuple[str, str]], left: float, width: float) -> Iterator[str]:
        yield f"  subgraph cluster{number} {{"
        yield f'  graph [margin={FRAME:g}, style=filled, color="{self.theme.band}"];'
        yield f"  title{number} [{title(words, width, self.grid.ports(left, width))}];"

    def _edges(self) -> Iterator[str]:
        """The arrows, and unseen edges that keep rows level, columns straight and both in their order."""
        last = ["resident"] if self.held else []
        chains = [["peak:label", "label0", "label1", "label2", *(f"{name}:label" for name in [*last, "foot"])]]
        for column in self.grid.columns:
            name, number = column.name, self.content.bands.index(column.band)
            above = ["peak", f"phase{number}", *([f"title{column.frame}"] if column.frame >= 0 else [])]
            below = [*([f"others{number}"] if column.band.rest else []), *last, "foot"]
            above, below = ([f"{node}:{name}" for node in side] for side in (above, below))
            if column.group is None:
                chains.append([*above, *below])
                continue
            chains += [[*above, f"maker_{name}"], [f"reader_{name}", *below]]
            yield f"  maker_{name} -> {name} -> reader_{name};"
        for chain in chains:
            yield f"  {' -> '.join(chain)} [style=invis, weight=10];"
        for row in self._ranks():
            if len(row) > 1:
                yield f"  {{ rank=same; {' -> '.join(row)} [style=invis, weight=0]; }}"

    def _ranks(self) -> list[list[str]]:
        """What stands side by side, from left to right."""
        columns = [column for column, _, _ in self.boxes]
        names = [column.name for column in columns]
        bands = range(len(self.content.bands))
        return [
            [f"phase{number}" for number in bands],
            [f"title{number}" for number in dict.fromkeys(column.frame for column in columns if column.frame >= 0)],
            ["label0", *(f"maker_{name}" for name in names)],
            ["label1", *names],
            ["label2", *(f"reader_{name}" for name in names)],
            [f"others{number}" for number in bands if self.content.bands[number].rest],
        ]


def _lines(texts: Sequence[tuple[tuple[str, str], float]]) -> list[list[tuple[str, str]]]:
    """Pairs of texts with the points that each has: side by side if all have room so, else one below the other."""
    if all(text_width(" ".join(pair), SIZE, bold=True) + 2 <= width for pair, width in texts):
        return [[pair] for pair, _ in texts]
    return [[(one, ""), (other, "")] for (one, other), _ in texts]
