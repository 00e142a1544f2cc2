"""Where TensorFlow's allocator, or XLA, put each buffer, and for how long: time across, address up, coloured by role.

What is white within the pool is free; white that is cut into pieces is fragmentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphmem.graph.model import ROLES
from graphmem.render.charts import picture, unit_of
from graphmem.render.choices import Choices
from graphmem.render.schedule_axes import name_phases, points_of, style_axes
from graphmem.render.themes import THEMES, Theme
from graphmem.report.report import Report
from graphmem.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from graphmem.report.moments import Placed

_FINEST = 1e-4
"""Blocks that are lower than this share of the map are left out: no eye or print would show them."""

_PIXELS = 2500
"""More blocks of one role than this are drawn as pixels within the vector picture, so that its file stays small."""

_PEN = 0.15
"""Width in points of the line around a block; one that is not ten times as high has none, which would hide it."""

_VISIBLE = 0.003
"""A role whose blocks never take this share of the height together is drawn, but has no line in the legend."""


def lifetime_map(report: Report, ending: str, choices: Choices) -> bytes:
    """The map of a report as a file.

    Args:
        ending: ".svg", ".pdf" or ".png".

    Raises:
        TargetError: as `graphmem.report.moments.placed`.
    """
    from graphmem.report.moments import placed

    theme, found = THEMES[choices.theme], placed(report)

    def draw(figure: Figure) -> None:
        figure.set_facecolor(theme.paper)
        axes = figure.subplots()
        shown = draw_map(axes, report, found, theme)
        legend = figure.legend(
            [artist for artist, _ in shown], [label for _, label in shown], loc="outside upper left",
            ncols=max(3, int(choices.inches / 1.05)), fontsize=6.5, frameon=False, labelcolor=theme.ink,
            handlelength=1.3, columnspacing=1.0, handletextpad=0.5, borderpad=0.1, labelspacing=0.35,
            title=_summary(report, found), title_fontproperties={"size": 6.5}, alignment="left",
        )  # fmt: skip
        legend.get_title().set_color(theme.ink)

    return picture(draw, (choices.inches, 1.75 + 0.35 * choices.inches), ending)


def _summary(report: Report, found: Placed) -> str:
    """What there is at the moment when most is in use."""
    placement = found.placement
    most = max(placement.in_use, default=0)
    pool = placement.pool[placement.in_use.index(most)] if placement.pool else 0
    of = f"{format_bytes(pool)} of temporary memory" if report.runtime == "xla" else f"a pool of {format_bytes(pool)}"
    return f"most in use (dashed line): {format_bytes(most)}, of {of}"


def draw_map(axes: Axes, report: Report, found: Placed, theme: Theme) -> list[tuple[Any, str]]:
    """Fill axes with a map; what a legend is to show, (artist, label), is returned."""
    placement = found.placement
    high = max((start + size for start, size in placement.regions), default=0)
    used = max((block.address + block.nbytes for block in placement.blocks), default=0)
    top = min(high, 1.25 * used) or 1  # a pool may be much larger than what the step ever touches
    unit, scale = unit_of(round(top))
    where = "temporary memory" if report.runtime == "xla" else "the pool"
    style_axes(axes, theme, found.positions, top / scale, f"address in {where} ({unit})")
    axes.set_facecolor(theme.band)
    _pool(axes, theme, found, top, scale)
    shown = _blocks(axes, theme, found, scale, top / scale)
    if report.timeline is not None:
        name_phases(axes, theme, report.timeline, 1.015, shade=False)
    most = placement.in_use.index(max(placement.in_use)) if placement.in_use else 0
    axes.axvline(most, color=theme.line, linewidth=0.6, linestyle=(0, (3, 2)), zorder=4)
    if placement.failure is not None:
        _failure(axes, theme, len(placement.in_use), placement.failure.requested, found.positions)
    return shown


def _pool(axes: Axes, theme: Theme, found: Placed, top: float, scale: int) -> None:
    """The pool as it grows, in the paper's colour: what no block covers of it is free. Lines part its regions."""
    placement = found.placement
    pool = placement.pool
    changes = [i for i in range(len(pool)) if i == 0 or pool[i] != pool[i - 1]]
    at, sizes = [*changes, len(pool)], [pool[i] / scale for i in changes]
    axes.fill_between(
        at, [0.0] * len(at), [*sizes, *sizes[-1:]], step="post", facecolor=theme.paper, linewidth=0, zorder=1
    )
    for start, _ in placement.regions[1:]:
        if start < top:
            axes.axhline(start / scale, color=theme.faint, linewidth=0.25, zorder=3)


def _blocks(axes: Axes, theme: Theme, found: Placed, scale: int, top: float) -> list[tuple[Any, str]]:
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    by_role: dict[str, list[Sequence[tuple[float, float]]]] = {}
    for block, role in zip(found.placement.blocks, found.roles, strict=True):
        low, high = block.address / scale, (block.address + block.nbytes) / scale
        if high - low < _FINEST * top:
            continue
        corners = ((block.born, low), (block.freed, low), (block.freed, high), (block.born, high))
        by_role.setdefault(role, []).append(corners)
    shown = []
    points = points_of(axes)[1] / top
    for role in (*ROLES, *sorted(set(by_role) - set(ROLES))):
        if role not in by_role:
            continue
        look: dict[str, Any] = {"facecolor": theme.fill(role), "hatch": (theme.hatch(role) or None)}
        look["edgecolor"] = theme.ink if theme.outlined else theme.paper
        heights = [corners[2][1] - corners[0][1] for corners in by_role[role]]
        pens = [_PEN if height * points > 10 * _PEN else 0.0 for height in heights]
        blocks = PolyCollection(by_role[role], zorder=2, linewidth=pens, **look)
        blocks.set_rasterized(len(by_role[role]) > _PIXELS)
        axes.add_collection(blocks, autolim=False)
        if sum(heights) > _VISIBLE * top:
            shown.append((Patch(linewidth=_PEN, **look), role))
    return shown


def _failure(axes: Axes, theme: Theme, at: int, requested: int, positions: int) -> None:
    left = at < 0.5 * positions
    axes.axvline(at, color=theme.accent, linewidth=1.2, zorder=5)
    axes.annotate(
        f"no room for {format_bytes(requested)}", (at, 0.97), (3 if left else -3, 0),
        xycoords=axes.get_xaxis_transform(), textcoords="offset points", ha="left" if left else "right", va="top",
        fontsize=6.5, color=theme.accent, zorder=6,
        bbox={"facecolor": theme.paper, "edgecolor": "none", "pad": 0.8},
    )  # fmt: skip
