"""A sweep as a picture: a heat map of two axes, or lines over one axis, a line per combination of the others."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from graphmem.answers.points import Value
from graphmem.answers.sweep import Sweep, SweptPoint
from graphmem.errors import TargetError
from graphmem.render.charts import FORMATS, picture, unit_of
from graphmem.render.colours import FAINT, INK
from graphmem.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLOTS = ("auto", "heat", "line")
PICTURES = FORMATS

_BUDGET = "#bd431a"
_COLOURS = ("#16233b", "#2a78c2", "#c2571a", "#3f8f4f", "#8a4fa3", "#a08a1c", "#5b5b5b", "#c2417f")
_MARKS = "osD^vPX*"
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)))


def chart(sweep: Sweep, ending: str, plot: str = "auto") -> bytes:
    """The picture as the bytes of a file, the same each time.

    Args:
        ending: one of `PICTURES`.
        plot: "heat" (two axes), "line", or "auto": heat for two axes, else lines.

    Raises:
        TargetError: no point has figures, or a heat map is asked for of another number of axes.
    """
    check_plot(len(sweep.axes), plot)
    if len(sweep.failed) == len(sweep.points):
        raise TargetError("there is nothing to draw: no point has figures.")
    heat = plot == "heat" or (plot == "auto" and len(sweep.axes) == 2)
    if heat:
        rows, columns = (len(axis.values) for axis in sweep.axes)
        return picture(lambda figure: _heat(figure, sweep), (1.6 + 0.85 * columns, 1.1 + 0.42 * rows), ending)
    return picture(lambda figure: _lines(figure, sweep), (5.6, 3.4), ending)


def check_plot(axes: int, plot: str) -> None:
    """Raises TargetError where a plot cannot be drawn of so many axes."""
    if plot == "heat" and axes != 2:
        raise TargetError(f"a heat map has two axes, and this sweep has {axes}: take --plot line.")


def _heat(figure: Figure, sweep: Sweep) -> None:
    import numpy as np
    from matplotlib.colors import LinearSegmentedColormap

    rows, columns = (axis.values for axis in sweep.axes)
    cells = np.array(sweep.points, dtype=object).reshape(len(rows), len(columns))
    needs = np.array([[_need(point) for point in row] for row in cells], float)
    unit, scale = unit_of(int(np.nanmax(needs)))
    axes = figure.subplots()
    shades = LinearSegmentedColormap.from_list("needs", ["#eef5fb", "#74a9d8", "#16233b"])
    shown = axes.pcolormesh(np.ma.masked_invalid(needs / scale), cmap=shades, vmin=0, edgecolors="white", linewidth=0.8)
    for row, column in itertools.product(range(len(rows)), range(len(columns))):
        _write(axes, cells[row, column], (column + 0.5, row + 0.5), needs[row, column] > 0.55 * np.nanmax(needs))
    _boundary(axes, cells)
    axes.set_xticks(np.arange(len(columns)) + 0.5, [str(value) for value in columns])
    axes.set_yticks(np.arange(len(rows)) + 0.5, [str(value) for value in rows])
    axes.set_xlabel(sweep.axes[1].name, color=INK)
    axes.set_ylabel(sweep.axes[0].name, color=INK)
    axes.tick_params(length=0, labelcolor=INK)
    axes.spines[:].set_visible(False)
    axes.invert_yaxis()
    bar = figure.colorbar(shown, ax=axes, fraction=0.06, pad=0.03)
    bar.set_label(f"needs ({unit})", color=INK)
    bar.outline.set_visible(False)
    if sweep.budget_bytes is not None:
        figure.suptitle(f"the line: a budget of {format_bytes(sweep.budget_bytes)}", color=_BUDGET, fontsize=7)


def _need(point: SweptPoint) -> float:
    return float("nan") if point.error is not None else float(point.result["needed_bytes"])


def _write(axes: Axes, point: SweptPoint, place: tuple[float, float], dark: bool) -> None:
    """The figure of a cell, in a colour that can be read on it."""
    text = "failed" if point.error is not None else format_bytes(point.result["needed_bytes"])
    colour = FAINT if point.error is not None else "white" if dark else INK
    axes.text(*place, text, ha="center", va="center", color=colour, fontsize=7)


def _boundary(axes: Axes, cells: Any) -> None:
    """A line between the cells that fit into the budget and those that do not."""
    height, width = cells.shape
    fits = [[point.result.get("fits") for point in row] for row in cells]
    for row, column in itertools.product(range(height), range(width)):
        here = fits[row][column]
        if column + 1 < width and here is not None and fits[row][column + 1] == (not here):
            axes.plot([column + 1] * 2, [row, row + 1], color=_BUDGET, linewidth=2, solid_capstyle="butt")
        if row + 1 < height and here is not None and fits[row + 1][column] == (not here):
            axes.plot([column, column + 1], [row + 1] * 2, color=_BUDGET, linewidth=2, solid_capstyle="butt")


def _lines(figure: Figure, sweep: Sweep) -> None:
    along = _along(sweep)
    axis = sweep.axes[along]
    numbers = [value for value in axis.values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    counted = len(numbers) == len(axis.values)
    places: dict[Value, float] = {
        value: float(value) if counted else index  # type: ignore[arg-type]
        for index, value in enumerate(axis.values)
    }
    budget = sweep.budget_bytes
    unit, scale = unit_of(max([int(need) for need in map(_need, sweep.points) if need == need] + [budget or 0]))
    axes = figure.subplots()
    for number, (label, points) in enumerate(_series(sweep, along).items()):
        have = sorted((places[point.values[axis.name]], _need(point) / scale) for point in points if not point.error)
        axes.plot(
            [x for x, _ in have], [y for _, y in have], label=label, color=_COLOURS[number % len(_COLOURS)],
            marker=_MARKS[number % len(_MARKS)], markersize=3.5, linewidth=1.1,
            linestyle=_DASHES[number // len(_COLOURS) % len(_DASHES)],
        )  # fmt: skip
    if budget is not None:
        axes.axhline(budget / scale, color=_BUDGET, linewidth=0.9, linestyle=(0, (4, 2)))
        axes.annotate(format_bytes(budget), (1, budget / scale), (-2, 2), xycoords=("axes fraction", "data"),
                      textcoords="offset points", ha="right", color=_BUDGET)  # fmt: skip
    axes.set_xticks(list(places.values()), [str(value) for value in axis.values])
    axes.set_ylim(bottom=0)
    axes.set_xlabel(axis.name, color=INK)
    axes.set_ylabel(f"needs ({unit})", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(color=FAINT, labelcolor=INK)
    if len(sweep.axes) > 1:
        axes.legend(frameon=False, fontsize=7)


def _along(sweep: Sweep) -> int:
    """The axis that lines go along: the first of numbers, else the first."""
    for index, axis in enumerate(sweep.axes):
        if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in axis.values):
            return index
    return 0


def _series(sweep: Sweep, along: int) -> dict[str, list[SweptPoint]]:
    """The points of each combination of the other axes' values."""
    others = [axis.name for index, axis in enumerate(sweep.axes) if index != along]
    found: dict[str, list[SweptPoint]] = {}
    for point in sweep.points:
        label = ", ".join(f"{name} {point.values[name]}" for name in others)
        found.setdefault(label, []).append(point)
    return found
