"""The report as HTML in a notebook (`Report._repr_html_`); `graphmem.render.html` is the page of its own."""

from __future__ import annotations

import html
import re

from graphmem.errors import TargetError
from graphmem.render.colours import role_style
from graphmem.render.frontier_columns import kept_for, shape_cell, size_cell
from graphmem.render.rows import group_frontier, plural
from graphmem.render.words import breakable, common_prefix, headline, modelled, remarks, where_is_the_peak
from graphmem.report.report import Report
from graphmem.units import format_bytes

_ROWS = 12
_WIDTH_MM = 140.0
_NUMBER = ' style="text-align:right;white-space:nowrap"'
_TEXT = ' style="text-align:left"'
_SIDE_BY_SIDE = "display:flex;flex-wrap:wrap;gap:0 2em;align-items:flex-start"


def as_html(report: Report) -> str:
    """A fragment: headline, layers, step peak by role, timeline, frontier as table and, if it can be drawn, as picture.

    Every name of the user's is escaped.
    """
    parts = [
        f"<p><b>{html.escape(' '.join(headline(report, 1000)))}</b><br>{html.escape(modelled(report))}</p>",
        f"<p>{html.escape(breakable(where_is_the_peak(report)))}</p>" if report.frontier else "",
        f'<div style="{_SIDE_BY_SIDE}">{_layers(report)}{_roles(report)}</div>',
        _timeline(report),
        _picture(report),
        _frontier(report),
        _remarks(report),
    ]
    return f'<div class="graphmem">{"".join(parts)}</div>'


def _layers(report: Report) -> str:
    sizes = [
        ("weights", report.weight_bytes),
        ("optimizer state", report.optimizer_bytes),
        ("other state", report.other_state_bytes),
        ("constants", report.constant_bytes),
        ("inputs", report.argument_bytes),
        *([("outputs", report.output_bytes)] if report.output_bytes else []),
        ("step peak", report.step_peak_bytes),
        ("<b>needed</b>", report.needed_bytes),
    ]
    return _table([], [[name, format_bytes(size)] for name, size in sizes], numbers={1})


def _roles(report: Report) -> str:
    rows = [[_swatch(role), format_bytes(size)] for role, size in report.by_role.items()]
    return _table(["step peak by role", "bytes"], rows, numbers={1}) if rows else ""


def _swatch(role: str) -> str:
    box = f"display:inline-block;width:.8em;height:.8em;background:{role_style(role).fill}"
    return _whole(f'<span style="{box}"></span> {html.escape(role)}')


def _whole(cell: str) -> str:
    return f'<span style="white-space:nowrap">{cell}</span>'


def _name(text: str) -> str:
    """A name that may be long, in lines that begin where its parts do."""
    return re.sub("([/_])|(?<=[a-z0-9])(?=[A-Z])", r"\1<wbr/>", html.escape(text))


def _frontier(report: Report) -> str:
    groups = group_frontier(report.frontier)
    prefix = common_prefix(report)
    rows = []
    for group in groups[:_ROWS]:
        item = group.first
        count = f"{len(group.buffers)} ×" if len(group.buffers) > 1 else ""
        names = [shape_cell(item), group.scope.removeprefix(prefix), item.made_by, kept_for(report, group)]
        rows.append([size_cell(group.bytes), count, _swatch(item.role), *map(_name, names)])
    rest = groups[_ROWS:]
    if rest:
        total, others = sum(group.bytes or 0 for group in rest), sum(len(group.buffers) for group in rest)
        rows.append([format_bytes(total), "", f"… {plural(others, 'other')}", "", "", "", ""])
    titles = ["bytes", "", "alive at the peak", "shape", "made in", "by", "kept for"]
    return _table(titles, rows, numbers={0, 1}) if rows else ""


def _remarks(report: Report) -> str:
    rows = [[_whole(f"<b>{title}</b>"), html.escape(breakable(text))] for title, text in remarks(report)]
    return _table([], rows, numbers=set())


def _table(titles: list[str], rows: list[list[str]], numbers: set[int]) -> str:
    """Cells are HTML already."""

    def line(tag: str, cells: list[str]) -> str:
        sides = (_NUMBER if index in numbers else _TEXT for index in range(len(cells)))
        return f"<tr>{''.join(f'<{tag}{side}>{cell}</{tag}>' for side, cell in zip(sides, cells, strict=True))}</tr>"

    heading = line("th", titles) if titles else ""
    return f"<table>{heading}{''.join(line('td', row) for row in rows)}</table>"


def _picture(report: Report) -> str:
    """The frontier as inline SVG; nothing where nothing is alive or no program can draw it."""
    from graphmem.render.engines import render_dot
    from graphmem.render.frontier import frontier_dot

    if not report.frontier:
        return ""
    try:
        drawn = render_dot(frontier_dot(report), "svg").decode("utf-8")
    except TargetError:
        return ""
    return _inline(drawn)


def _timeline(report: Report) -> str:
    """Bytes over the step as inline SVG; nothing for a report that was saved without."""
    from graphmem.render.choices import Choices
    from graphmem.render.timeline import timeline_picture

    if report.timeline is None or not report.timeline.total:
        return ""
    return _inline(timeline_picture(report, ".svg", Choices(width=_WIDTH_MM)).decode("utf-8"))


def _inline(svg: str) -> str:
    """An SVG file as part of a page: without its prolog."""
    start = re.search(r"<svg\b", svg)
    return f"<div>{svg[start.start() :]}</div>" if start else ""
