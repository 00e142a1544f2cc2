"""A stack of areas over the schedule, with curves over it, the peak marked, and the limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from graphmem.render.charts import unit_of
from graphmem.render.schedule_axes import SMALL, TEXT, name_phases, points_of, style_axes
from graphmem.render.spans import columns
from graphmem.render.textfit import text_width
from graphmem.render.themes import Theme
from graphmem.report.report import Timeline
from graphmem.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PER_INCH = 90
"""Columns of a curve in an inch: as fine as print."""

VISIBLE = 0.004
"""An area that is never this share of the picture's height is drawn, but has no line in the legend."""

_FAR = 2.5
"""A limit above so many times the peak is told, not drawn: it would press the curve flat."""


@dataclass(frozen=True)
class Area:
    """One layer of the stack: its bytes at each position."""

    label: str
    values: Sequence[int]
    fill: str
    hatch: str = ""


@dataclass(frozen=True)
class Line:
    """A curve over the stack: its bytes at each position, up to where it ends."""

    label: str
    values: Sequence[int]
    dashes: tuple[float, float] | None = None


def draw_stacked(
    axes: Axes,
    timeline: Timeline,
    areas: Sequence[Area],
    theme: Theme,
    lines: Sequence[Line] = (),
    limit: int | None = None,
) -> list[tuple[Any, str]]:
    """Fill axes with a timeline.

    Args:
        limit: bytes that are allowed.

    Returns:
        What a legend is to show: (artist, label), as the stack is seen from top to bottom.
    """
    positions = len(timeline.total)
    stacked = [sum(area.values[at] for area in areas) for at in range(positions)] if positions else []
    peak = max(stacked, default=0)
    at_peak = stacked.index(peak) if stacked else 0
    most = max([peak, *(max(line.values, default=0) for line in lines), 1])
    if limit is not None and limit <= _FAR * most:
        most = max(most, limit)
    unit, scale = unit_of(most)
    starts, at = columns(timeline.total, int(points_of(axes)[0] / 72 * _PER_INCH))
    style_axes(axes, theme, positions, 1.32 * most / scale, f"alive ({unit})")
    name_phases(axes, theme, timeline, 0.985, shade=True)
    shown = _stack(axes, areas, theme, [*starts, positions], at, scale, at_peak, peak)
    for line in lines:
        shown.insert(0, (_curve(axes, line, theme, [*starts, positions], scale), line.label))
    if positions:
        on_the_right = at_peak < 0.55 * positions
        text = text_width(f" peak {format_bytes(peak)} ", TEXT, bold=True) * 1.15
        width = round(text / points_of(axes)[0] * positions)
        under = slice(at_peak, at_peak + width) if on_the_right else slice(max(0, at_peak - width), at_peak + 1)
        near = [max(line.values[under]) for line in lines if line.values[under]]
        clear = max((size for size in near if size < 1.5 * peak), default=peak)
        _mark(axes, theme, at_peak, peak / scale, max(peak, clear) / scale, on_the_right, peak)
    if limit is not None:
        _limit(axes, theme, limit, scale, most, positions)
    return shown


def _stack(
    axes: Axes,
    areas: Sequence[Area],
    theme: Theme,
    edges: list[int],
    at: list[int],
    scale: int,
    at_peak: int,
    peak: int,
) -> list[tuple[Any, str]]:
    low = [0.0] * len(edges)
    shown: list[tuple[Any, str]] = []
    for area in areas:
        values = [area.values[place] / scale for place in at]
        high = [below + value for below, value in zip(low, [*values, *values[-1:]], strict=True)]
        if max(area.values, default=0):
            kept = _corners(low, high)
            drawn = axes.fill_between(
                [edges[i] for i in kept], [low[i] for i in kept], [high[i] for i in kept], step="post",
                facecolor=area.fill, edgecolor=theme.ink if area.hatch else area.fill, linewidth=0,
                hatch=area.hatch or None, zorder=2,
            )  # fmt: skip
            if theme.outlined:
                axes.step([edges[i] for i in kept], [high[i] for i in kept], where="post", color=theme.ink,
                          linewidth=0.3, zorder=3)  # fmt: skip
            if max(area.values) >= VISIBLE * peak:
                shown.append((drawn, f"{area.label} {format_bytes(area.values[at_peak])}"))
        low = high
    kept = _corners(low, low)
    axes.step([edges[i] for i in kept], [low[i] for i in kept], where="post", color=theme.line, linewidth=0.5, zorder=3)
    return shown[::-1]


def _curve(axes: Axes, line: Line, theme: Theme, edges: Sequence[int], scale: int) -> Any:
    """A line, highest value of each column, as far as it has values: an allocator that fails has no more."""
    spans = [(start, min(end, len(line.values))) for start, end in pairwise(edges) if start < len(line.values)]
    highest = [max(line.values[start:end]) / scale for start, end in spans]
    across = [start for start, _ in spans] + [end for _, end in spans[-1:]]
    style: Any = (0, line.dashes) if line.dashes else "solid"
    drawn = axes.step(across, [*highest, *highest[-1:]], where="post", color=theme.line, linewidth=0.7, linestyle=style)
    return drawn[0]


def _corners(low: Sequence[float], high: Sequence[float]) -> list[int]:
    """The columns at which an area changes, and the last: what lies between is the same."""
    inner = [i for i in range(1, len(low) - 1) if (low[i], high[i]) != (low[i - 1], high[i - 1])]
    return [0, *inner, *([len(low) - 1] if len(low) > 1 else [])]


def _mark(axes: Axes, theme: Theme, at: int, height: float, clear: float, on_the_right: bool, peak: int) -> None:
    """The peak's point, and its figure above all curves near it."""
    axes.plot([at], [height], marker="o", markersize=3, color=theme.line, markerfacecolor=theme.paper,
              markeredgewidth=0.8, zorder=5, clip_on=False)  # fmt: skip
    axes.annotate(
        f"peak {format_bytes(peak)}", (at, clear), (3 if on_the_right else -3, 4), textcoords="offset points",
        ha="left" if on_the_right else "right", va="bottom", fontsize=TEXT, fontweight="bold",
        color=theme.ink, zorder=6,
    )  # fmt: skip


def _limit(axes: Axes, theme: Theme, limit: int, scale: int, most: int, positions: int) -> None:
    said = f"{format_bytes(limit)} allowed"
    if limit > most:
        axes.text(0.99, 0.90, f"{said}, above", transform=axes.transAxes, ha="right", va="top", fontsize=SMALL,
                  color=theme.accent)  # fmt: skip
        return
    axes.axhline(limit / scale, color=theme.accent, linewidth=0.9, linestyle=(0, (1, 1)), zorder=4)
    axes.annotate(said, (0, limit / scale), (3, 2), textcoords="offset points", ha="left", va="bottom", fontsize=SMALL,
                  color=theme.accent, zorder=6)  # fmt: skip
