"""Bytes alive over a step, predicted over measured, drawn by matplotlib: vector or pixels, the same bytes each time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from graphmem.render.charts import FORMATS, picture, unit_of
from graphmem.render.colours import FAINT, INK, ROLE_STYLES
from graphmem.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from graphmem.measure.result import Verification

__all__ = ["FORMATS", "curves_picture"]

_MEASURED, _PREDICTED = ROLE_STYLES["activation"].fill, ROLE_STYLES["gradient"].fill
_SIZE = (3.5, 2.3)
"""Inches: one column of a paper."""

_COLUMNS = 500
"""Points of a curve: finer than print, and a small file however long the step is."""


def curves_picture(result: Verification, ending: str) -> bytes:
    """The curves of the run whose tensors are compared, and of the order that is nearest to it.

    The horizontal axis is the share of the step's allocations made so far, which both have in common.

    Args:
        ending: one of `FORMATS`.
    """
    tensors = result.tensors
    unit, scale = unit_of(max(tensors.predicted_peak_bytes, tensors.measured_peak_bytes))

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        across, up = _points(tensors.measured_curve, scale)
        measured = f"measured, peak {format_bytes(tensors.measured_peak_bytes)}"
        axes.fill_between(across, up, step="post", color=_MEASURED, linewidth=0, label=measured)
        across, up = _points(tensors.predicted_curve, scale)
        predicted = f"predicted, peak {format_bytes(tensors.predicted_peak_bytes)}"
        axes.step(across, up, where="post", color=_PREDICTED, linewidth=0.8, label=predicted)
        axes.set(xlim=(0, 100), xlabel="allocations of the step made so far (%)", ylabel=f"alive ({unit})")
        axes.set_ylim(bottom=0, top=1.25 * axes.get_ylim()[1])
        axes.legend(loc="upper left", frameon=False, labelcolor=INK, handlelength=1.2)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(FAINT)
        axes.tick_params(color=FAINT, labelcolor=INK)

    return picture(draw, _SIZE, ending)


def _points(curve: Sequence[int], scale: int) -> tuple[list[float], list[float]]:
    """Where to draw a curve: all its points, or the highest of each of `_COLUMNS` stretches of it.

    >>> _points([1, 3, 2, 2], 1)
    ([0.0, 25.0, 50.0, 75.0, 100.0], [1.0, 3.0, 2.0, 2.0, 2.0])
    """
    count = min(len(curve), _COLUMNS)
    edges = [len(curve) * column // count for column in range(count + 1)] if count else []
    highest = [max(curve[start:end]) / scale for start, end in pairwise(edges)]
    across = [100 * edge / len(curve) for edge in edges]
    return across, highest + highest[-1:]
