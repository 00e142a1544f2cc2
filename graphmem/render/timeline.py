"""Bytes alive over a step, stacked by role or by layer, with what is allowed and what an allocator has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphmem.errors import TargetError
from graphmem.graph.model import ROLES
from graphmem.render.charts import picture
from graphmem.render.choices import Choices
from graphmem.render.rows import shorten
from graphmem.render.stacked import VISIBLE, Area, Line, draw_stacked
from graphmem.render.themes import THEMES, Theme
from graphmem.report.report import Report, Timeline
from graphmem.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def timeline_picture(report: Report, ending: str, choices: Choices) -> bytes:
    """The timeline of a report as a file.

    Args:
        ending: ".svg", ".pdf" or ".png".

    Raises:
        TargetError: the report was saved without its timeline; or, `by` scope, without its step.
    """
    theme, found = THEMES[choices.theme], timeline_of(report)
    held = held_of(report)
    if choices.by == "scope":
        areas = _areas_by_layer(report, held, theme)
    else:
        areas = areas_by_role(found, held, theme)
    lines, limit = _lines(report), report.allocator.get("limit_bytes")

    def draw(figure: Figure) -> None:
        figure.set_facecolor(theme.paper)
        axes = figure.subplots()
        shown = draw_stacked(axes, found, areas, theme, lines, limit)
        _legend(figure, shown, theme, choices.inches)

    rows = -(-(_legend_entries(areas, found) + len(lines)) // _legend_columns(choices.inches))
    return picture(draw, (choices.inches, 1.55 + 0.2 * choices.inches + 0.15 * (rows + 1)), ending)


def timeline_of(report: Report) -> Timeline:
    """The timeline of a report.

    Raises:
        TargetError: it was saved without.
    """
    if report.timeline is None:
        raise TargetError("this report was saved without its timeline; save it with -o report.json to keep that.")
    return report.timeline


def plot(timeline: Timeline, ax: Axes | None, theme: str) -> Axes:
    """`Timeline.plot`."""
    look = THEMES[Choices(theme=theme).theme]
    if ax is None:
        import matplotlib.pyplot

        figure, ax = matplotlib.pyplot.subplots(figsize=(6, 3.4), layout="constrained")
        figure.set_facecolor(look.paper)
    shown = draw_stacked(ax, timeline, areas_by_role(timeline, timeline.held, look), look)
    ax.legend(
        [artist for artist, _ in shown], [label for _, label in shown], loc="upper left", bbox_to_anchor=(1.0, 1.0),
        fontsize=6.5, frameon=False, labelcolor=look.ink, title="at the peak:", title_fontproperties={"size": 6.5},
        alignment="left",
    ).get_title().set_color(look.faint)  # fmt: skip
    return ax


def held_of(report: Report) -> dict[str, int]:
    """Role -> bytes that are there for the whole step: what `needed_bytes` has besides the step peak."""
    held = {
        "weight": report.weight_bytes, "optimizer state": report.optimizer_bytes,
        "other state": report.other_state_bytes, "input": report.argument_bytes, "constant": report.constant_bytes,
        "output": report.output_bytes,
    }  # fmt: skip
    return {role: size for role, size in held.items() if size}


def areas_by_role(timeline: Timeline, held: dict[str, int], theme: Theme) -> list[Area]:
    """The stack, what is held all along at its foot."""
    areas = []
    for role in (*ROLES, *sorted(set(timeline.by_role) - set(ROLES))):
        always, values = held.get(role, 0), timeline.by_role.get(role)
        if values is None and not always:
            continue
        whole = [always + value for value in values] if values else [always] * len(timeline.total)
        areas.append(Area(role, whole, theme.fill(role), theme.hatch(role)))
    return areas


def _areas_by_layer(report: Report, held: dict[str, int], theme: Theme) -> list[Area]:
    from graphmem.report.moments import OTHERS, timeline_by_layer

    always = [sum(held.values())] * len(timeline_of(report).total)
    areas = [Area("held all along", always, theme.fill("input"))] if sum(held.values()) else []
    for number, (name, values) in enumerate(timeline_by_layer(report).items()):
        fill = theme.fill("constant") if name == OTHERS else theme.layers[number % len(theme.layers)]
        hatch = "" if name == OTHERS else theme.layer_hatches[number % len(theme.layer_hatches)]
        areas.append(Area(shorten(name, 24), values, fill, hatch))
    return areas


def allocator_curves(report: Report) -> list[tuple[str, Sequence[int]]]:
    """What the allocator that was simulated has at each position: (name, bytes), the pool last.

    TensorFlow's has chunks in use and a pool, up to where it fails; XLA allocates once. A report that was loaded from
    JSON, or whose variables alone are too large for the limit, has none.
    """
    name, positions = report.allocator.get("name"), len(timeline_of(report).total)
    if name == "xla":
        return [("allocated by XLA", [report.allocator["peak_in_use_bytes"]] * positions)]
    if name != "bfc" or report.simulation is None:
        return []
    from graphmem.report.moments import placed

    try:
        placement = placed(report).placement
    except TargetError:
        return []
    return [("in use (BFC)", placement.in_use), ("pool", placement.pool)]


def _lines(report: Report) -> list[Line]:
    """The curves; what holds memory that may be free is dashed."""
    return [
        Line(f"{name} {format_bytes(max(values))}", values, None if name.startswith("in use") else (4, 2))
        for name, values in allocator_curves(report)
    ]


def _legend_columns(inches: float) -> int:
    return max(2, int(inches / 1.6))


def _legend_entries(areas: Sequence[Area], timeline: Timeline) -> int:
    stacked = max((sum(area.values[at] for area in areas) for at in range(len(timeline.total))), default=0)
    return sum(max(area.values, default=0) >= max(1, VISIBLE * stacked) for area in areas)


def _legend(figure: Figure, shown: Sequence[tuple[Any, str]], theme: Theme, inches: float) -> None:
    legend = figure.legend(
        [artist for artist, _ in shown], [label for _, label in shown], loc="outside upper left",
        ncols=_legend_columns(inches), fontsize=6.5, frameon=False, labelcolor=theme.ink, handlelength=1.3,
        columnspacing=1.0, handletextpad=0.5, borderpad=0.1, labelspacing=0.35, title="at the peak:",
        title_fontproperties={"size": 6.5}, alignment="left",
    )  # fmt: skip
    legend.get_title().set_color(theme.faint)
