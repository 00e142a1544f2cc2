"""Charts by matplotlib: vector or pixels, the same bytes each time, at the size of a paper's column."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphmem.render.colours import FAINT, INK
from graphmem.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png", ".pdf")

_BAR = "#74c3ee"
_BOLD = "#16233b"
_LINE = "#bd431a"
_WIDTH = 5.6
"""Inches: readable in one column of a page on the screen, and in a paper over both."""

_NO_DATE: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": "graphmem"},
    ".pdf": {"CreationDate": None, "Creator": "graphmem", "Producer": "graphmem"},
    ".png": {"Software": "graphmem"},
}


@dataclass(frozen=True)
class Bar:
    """One bar.

    Attributes:
        label: at its left.
        value: bytes; `None` draws none and leaves the text.
        text: at its end.
        bold: whether it stands out.
    """

    label: str
    value: int | None
    text: str
    bold: bool = False


def bar_chart(bars: Sequence[Bar], ending: str, *, line: int | None = None, xlabel: str = "", title: str = "") -> bytes:
    """Horizontal bars of bytes, the first on top.

    Args:
        bars: at least one.
        ending: one of `FORMATS`.
        line: bytes at which a vertical line is drawn, to read the bars against.
        xlabel: what the axis tells; its unit is added.
        title: "" for none.
    """

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        most = max([bar.value or 0 for bar in bars] + [line or 0])
        unit, scale = unit_of(most)
        at = range(len(bars))
        colours = [_BOLD if bar.bold else _BAR for bar in bars]
        axes.barh(at, [(bar.value or 0) / scale for bar in bars], height=0.7, color=colours)
        for place, bar in zip(at, bars, strict=True):
            axes.annotate(
                bar.text, ((bar.value or 0) / scale, place), (3, 0), textcoords="offset points", va="center", color=INK,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},  # the line does not strike it through
            )  # fmt: skip
        axes.set_yticks(list(at), [bar.label for bar in bars])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.4 * most / scale or 1)
        if line is not None:
            axes.axvline(line / scale, color=_LINE, linewidth=0.9, linestyle=(0, (4, 2)))
        axes.set_xlabel(f"{xlabel} ({unit})".strip(), color=INK)
        if title:
            figure.suptitle(title, color=INK, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(FAINT)
        axes.tick_params(color=FAINT, labelcolor=INK)

    return picture(draw, (_WIDTH, 0.24 * len(bars) + (0.75 if title else 0.55)), ending)


def picture(draw: Callable[[Figure], None], size: tuple[float, float], ending: str) -> bytes:
    """A figure as the bytes of a file, the same each time: no dates, no random ids, text as text.

    Args:
        draw: fills the figure.
        size: width and height in inches.
        ending: one of `FORMATS`.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {
        "svg.hashsalt": "graphmem", "svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 8,
        "hatch.linewidth": 0.5, "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"],
    }  # fmt: skip
    with matplotlib.rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        out = io.BytesIO()
        figure.savefig(out, format=ending[1:], metadata=_NO_DATE[ending], dpi=300)
    return out.getvalue()


def unit_of(most: int) -> tuple[str, int]:
    """The unit in which `format_bytes` writes a figure, and its bytes.

    >>> unit_of(3 << 30), unit_of(0)
    (('GiB', 1073741824), ('B', 1))
    """
    unit = format_bytes(most).split()[1]
    return unit, 1024 ** ("B", "KiB", "MiB", "GiB", "TiB", "PiB").index(unit)
