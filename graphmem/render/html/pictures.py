"""Pictures inside the page: SVG files as parts of HTML, in colours that follow the page's."""

from __future__ import annotations

import re

from graphmem.errors import TargetError
from graphmem.render.choices import PAGE_MM, Choices
from graphmem.report.report import Report

Pairs = dict[str, tuple[str, str]]
"""CSS variable -> its colour in light and in dark."""

_COLOUR = re.compile(r'(?:(?<=fill=")|(?<=stroke="))#[0-9a-f]{6}(?=")')


def frontier(report: Report) -> tuple[str, Pairs]:
    """The cut at the peak as SVG and the colours that it names; "" where nothing is alive or no program can draw it."""
    from graphmem.render.engines import render_dot
    from graphmem.render.frontier import frontier_dot

    if not report.frontier:
        return "", {}
    try:
        light, dark = (
            _inline(render_dot(frontier_dot(report, width_mm=PAGE_MM, theme=theme), "svg").decode())
            for theme in ("light", "dark")
        )
    except TargetError:
        return "", {}
    return themed(light, dark)


def themed(light: str, dark: str) -> tuple[str, Pairs]:
    """Two drawings as one, each pair of colours as a variable; the light one if they differ in more than colours.

    >>> themed('<a fill="#ffffff"/>', '<a fill="#000000"/>')
    ('<a fill="var(--picture-0)"/>', {'--picture-0': ('#ffffff', '#000000')})
    """
    if _COLOUR.sub("", light) != _COLOUR.sub("", dark):
        return light, {}
    names: dict[tuple[str, str], str] = {}
    others = iter(_COLOUR.findall(dark))

    def name(found: re.Match[str]) -> str:
        return f"var({names.setdefault((found[0], next(others)), f'--picture-{len(names)}')})"

    return _COLOUR.sub(name, light), {name: pair for pair, name in names.items()}


def timeline(report: Report) -> str:
    """The timeline as SVG, for paper and for browsers without scripts; "" for a report that was saved without."""
    from graphmem.render.timeline import timeline_picture

    if report.timeline is None or not report.timeline.total:
        return ""
    return _inline(timeline_picture(report, ".svg", Choices(width=PAGE_MM)).decode())


def _inline(svg: str) -> str:
    """An SVG file without its prolog."""
    start = re.search(r"<svg\b", svg)
    return svg[start.start() :] if start else ""
