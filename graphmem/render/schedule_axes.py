"""Axes whose abscissa is the schedule: how charts of a whole step look, and where its phases are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphmem.render.spans import bands
from graphmem.render.themes import Theme
from graphmem.report.report import Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL, TEXT = 6.5, 7.0
"""Points of secondary text and of text."""


def points_of(axes: Axes) -> tuple[float, float]:
    """Width and height of axes in points, before a layout makes room for what is around them."""
    bounds, figure = axes.get_position(), axes.get_figure(root=True)
    width, height = figure.get_size_inches() if figure is not None else (6.4, 4.8)
    return 72 * bounds.width * float(width), 72 * bounds.height * float(height)


def style_axes(axes: Axes, theme: Theme, positions: int, top: float, ylabel: str) -> None:
    """Limits, labels and colours.

    Args:
        positions: of the schedule.
        top: where the ordinate ends, in its unit.
    """
    axes.set_facecolor(theme.paper)
    axes.set(xlim=(0, max(1, positions)), ylim=(0, top))
    axes.set_xlabel("position in the schedule of ops", color=theme.ink, fontsize=TEXT)
    axes.set_ylabel(ylabel, color=theme.ink, fontsize=TEXT)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.locator_params(axis="x", nbins=5, integer=True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(theme.faint)
    axes.tick_params(color=theme.faint, labelcolor=theme.ink, labelsize=SMALL, length=2.5)


def name_phases(axes: Axes, theme: Theme, timeline: Timeline, height: float, *, shade: bool) -> None:
    """Write the name of each phase where there is room for it, and shade every other one or part them by ticks.

    Args:
        height: of the names, as a share of that of the axes.
    """
    positions, last = len(timeline.total), ""
    for number, (name, start, end) in enumerate(bands(timeline.phases, timeline.total)):
        if shade and number % 2:
            axes.axvspan(start, end, color=theme.band, linewidth=0, zorder=0)
        if not shade and number:
            axes.plot([start, start], [1, 1.03], transform=axes.get_xaxis_transform(), color=theme.faint, linewidth=0.6,
                      clip_on=False)  # fmt: skip
        if (end - start) / positions * points_of(axes)[0] > 4 * len(name) and name != last:
            axes.text((start + end) / 2, height, name, transform=axes.get_xaxis_transform(), ha="center",
                      va="top" if height < 1 else "bottom", fontsize=SMALL, color=theme.faint)  # fmt: skip
            last = name
