"""Pictures inside the page: SVG files as parts of HTML."""

from __future__ import annotations

import re

from graphmem.errors import TargetError
from graphmem.render.choices import PAGE_MM, Choices
from graphmem.report.report import Report


def frontier(report: Report) -> str:
    """The cut at the peak as SVG; "" where nothing is alive or no program can draw it."""
    from graphmem.render.engines import render_dot
    from graphmem.render.frontier import frontier_dot

    if not report.frontier:
        return ""
    try:
        return _inline(render_dot(frontier_dot(report, width_mm=PAGE_MM), "svg").decode())
    except TargetError:
        return ""


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
