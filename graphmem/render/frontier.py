"""The frontier as a picture: the cut of the step at its peak, as DOT text.

The op at the peak is the black bar on top. Below it is a band for each phase with the groups of tensors that it made
and that are alive at that moment: what made them, their box, what reads them last. Groups of one scope share a frame.
What the step holds all along is one box, and the foot has the sums by role. Text has 7 points.
`graphmem.render.engines` draws it.

Arrows go to the right, with the groups below each other (`graphmem.render.frontier_rows`), for one column of a paper;
or down, with the groups side by side (`graphmem.render.frontier_stacks`), for its whole width.
"""

from __future__ import annotations

from graphmem.errors import TargetError
from graphmem.render.choices import COLUMN_MM, DIRECTIONS, PAGE_MM
from graphmem.render.frontier_content import Content
from graphmem.render.frontier_rows import rows_dot
from graphmem.render.frontier_stacks import LEAST_MM, stacks_dot
from graphmem.render.themes import THEMES
from graphmem.report.report import Report

TOP = 10
"""Boxes shown unless asked otherwise."""

MOST = 14
"""Boxes that a picture may show: with an op on each side, frames and bands it stays within 60 nodes."""

NARROW, WIDE = 83.0, 300.0
"""Least and greatest width in millimetres."""


def frontier_dot(
    report: Report, *, top: int = TOP, depth: int | None = None, width_mm: float | None = None, theme: str = "light",
    direction: str = "lr",
) -> str:  # fmt: skip
    """The tensors alive at the peak as DOT text.

    Args:
        report: may be loaded from JSON; only its plain data is read.
        top: how many boxes at most; what they leave is a box "and … others" for each phase, so that the bytes add up.
        depth: components of the scopes, below the model, that make a frame; `None`: where it gives a handful of frames.
        width_mm: width of the picture in millimetres; `None`: one column of a paper, or both where arrows go down.
        theme: a key of `graphmem.render.themes.THEMES`.
        direction: where arrows go, "lr" (to the right) or "tb" (down, with as many boxes as have room side by side).

    Raises:
        TargetError: an option out of its range.
    """
    if not 1 <= top <= MOST:
        raise TargetError(f"a frontier picture shows 1 to {MOST} boxes, not {top}.")
    if depth is not None and depth < 0:
        raise TargetError(f"the depth of the scopes cannot be {depth}; it is 0 or more.")
    if direction not in DIRECTIONS:
        raise TargetError(f"there is no direction {direction!r}; choose one of {', '.join(DIRECTIONS)}.")
    if width_mm is None:
        width_mm = COLUMN_MM if direction == "lr" else PAGE_MM
    check_width(width_mm, direction)
    if theme not in THEMES:
        raise TargetError(f"there is no theme {theme!r}; choose one of {', '.join(THEMES)}.")
    look = THEMES[theme]
    if direction == "tb":
        return stacks_dot(report, top, depth, width_mm, look)
    return rows_dot(Content.of(report, top, depth), width_mm, look)


def check_width(width_mm: float, direction: str | None = None) -> None:
    """See to it that a frontier can be drawn this wide (mm).

    Raises:
        TargetError: its text would not fit, or stand lost.
    """
    least = LEAST_MM if direction == "tb" else NARROW
    if not least <= width_mm <= WIDE:
        which = "a frontier picture with arrows down" if direction == "tb" else "a frontier picture"
        raise TargetError(f"{which} is {least:g} to {WIDE:g} mm wide, not {width_mm:g}.")
