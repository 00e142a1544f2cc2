"""The parts of a frontier picture that stand over or below several of its boxes, or are wide themselves."""

from __future__ import annotations

from collections.abc import Sequence

from graphmem.render.markup import (
    BOX,
    FRAME,
    INSIDE,
    SIZE,
    TABLE,
    box_label,
    bytes_text,
    reverse,
    spread,
)
from graphmem.render.rows import plural
from graphmem.render.textfit import text_width
from graphmem.render.themes import Theme
from graphmem.report.report import FrontierBuffer, Report
from graphmem.units import format_bytes

_PLURALS = {"weight": "weights", "input": "inputs", "constant": "constants", "output": "outputs"}

_LOW = 2.0
"""Points above and below the words of a heading."""


def others_box(rows: Sequence[tuple[str, str]], width: float, share: float, theme: Theme, ports: str = "") -> str:
    """Attributes of the box for what has none of its own, so that the bytes add up.

    Args:
        rows: `others_words`, in one line or two.
        width: of the box in points.
        share: length of its bar as a share of `width`.
        ports: a first row of the table, for edges.
    """
    return f"{box_label(rows, width, share, theme.faint, theme, ports)}, {BOX}, penwidth=0.5"


def others_words(rest: Sequence[FrontierBuffer]) -> tuple[str, str]:
    """How many others there are, and their bytes."""
    return f"and {plural(len(rest), 'other')}", bytes_text(rest)


def strip(lines: Sequence[tuple[str, str]], width: float, theme: Theme, ports: str = "") -> str:
    """Attributes of the heading of a band: lines of text, left and right.

    Args:
        width: of what it stands over (points).
        ports: a last row of the table, for edges.
    """
    beside = FRAME - _LOW  # words stand where those of frames do
    texts = [spread(left, right, int(width - 2 * FRAME), bold=True) for left, right in lines]
    space = f'<td width="{round(beside)}"></td>'
    texts = [f"<table {TABLE}><tr>{space}<td>{text}</td>{space}</tr></table>" for text in texts]
    return f"label=<{_barred(texts, _LOW, theme.strip, ports)}>"


def _barred(lines: Sequence[str], padding: float, ground: str, ports: str = "") -> str:
    """Lines on a ground of their own, and a row without one below them."""
    rows = "".join(f"<tr><td>{line}</td></tr>" for line in lines)
    inner = f"<table {TABLE}>{rows}</table>"
    outer = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="{padding:g}" bgcolor="{ground}">'
    bar = f"{outer}<tr><td>{inner}</td></tr></table>"
    return f"<table {TABLE}><tr><td>{bar}</td></tr>{ports}</table>" if ports else bar


def resident_box(held: Sequence[tuple[str, int]], width: float, theme: Theme, ports: str = "") -> str:
    """Attributes of the one box for all that the step holds from start to end, (role, bytes)."""
    words, total = "held all along: ", format_bytes(sum(size for _, size in held))
    room = width - INSIDE - text_width(words + total, SIZE) - 6
    label = box_label([(words + roles_text(held, room), total)], width, 0, "", theme, ports)
    return f'{label}, {BOX}, penwidth=0.5, style=filled, fillcolor="{theme.band}"'


def roles_text(held: Sequence[tuple[str, int]], room: float) -> str:
    """Their roles, as many of the largest as fit in `room` points.

    >>> roles_text([("weight", 4), ("optimizer state", 8), ("input", 1)], 90)
    'optimizer state, weights, …'
    """
    names = [_PLURALS.get(role, role) for role, _ in sorted(held, key=lambda item: -item[1])]
    texts = [", ".join([*names[:count], *(["…"] if count < len(names) else [])]) for count in range(len(names), 0, -1)]
    return next((text for text in texts if text_width(text, SIZE) <= room), texts[-1] if texts else "")


def title(lines: Sequence[tuple[str, str]], width: float, ports: str = "") -> str:
    """Attributes of a frame's first row: lines of text, left and right."""
    rows = [spread(left, right, int(width), bold=True) for left, right in lines]
    if not ports:
        return f"label=<{rows[0]}>"
    return f"label=<<table {TABLE}>{''.join(f'<tr><td>{row}</td></tr>' for row in rows)}{ports}</table>>"


def peak_bar(report: Report, width: float, theme: Theme, ports: str = "") -> str:
    """Attributes of the op at the peak, over the whole width."""
    peak, inside = report.peak, int(width)
    when = f"{peak.phase}, position {peak.position:,} of {peak.positions:,}"
    lines = [spread(f"peak op: {peak.op_type}", "", inside, bold=True), spread(peak.scope, when, inside)]
    return f"label=<{_barred([reverse(line, theme) for line in lines], FRAME, theme.ink, ports)}>"
