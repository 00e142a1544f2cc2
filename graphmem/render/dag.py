"""The whole step as a picture, for small ones: every tensor, coloured by when it is alive, as DOT text.

An arrow goes from each tensor that an op reads to each that it writes. `graphmem.render.engines` draws it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from graphmem.errors import TargetError
from graphmem.render.colours import mix
from graphmem.render.markup import FONT, SIZE, escape, quote
from graphmem.render.textfit import elide_path
from graphmem.render.themes import THEMES, Theme
from graphmem.report.report import Report
from graphmem.units import format_bytes

if TYPE_CHECKING:
    import networkx

MOST_TENSORS = 300
"""Tensors that a reader can still follow."""

LIVES = ("freed before the peak", "alive at the peak", "made after the peak", "outlives the step", "takes no memory")
"""What the colours tell."""

_NAME_POINTS = 90.0


def dag_dot(report: Report, *, direction: str = "tb", width_mm: float | None = None, theme: str = "light") -> str:
    """Every tensor of a step as DOT text.

    Args:
        report: of a step that was analysed here; one loaded from JSON holds no graph.
        direction: one of `graphmem.render.choices.DIRECTIONS`.
        width_mm: a wider picture is made smaller until it is this wide; `None`: its text has 7 points.
        theme: a key of `graphmem.render.themes.THEMES`.

    Raises:
        TargetError: the report holds no graph, or one too large to be read.
    """
    tensors = report.dag
    if len(tensors) > MOST_TENSORS:
        raise TargetError(
            f"the step has {len(tensors):,} tensors, too many for a picture of all ({MOST_TENSORS} at most); "
            "draw the frontier, or write .graphml for a program that can zoom."
        )
    return "\n".join(_lines(tensors, direction, width_mm, THEMES[theme])) + "\n"


def life_of(node: dict[str, Any], position: int) -> str:
    """Which of `LIVES` a tensor of `Report.dag` has; host memory counts by its time as well."""
    if node["kind"] == "resident":
        return LIVES[3]
    if "born" not in node:
        return LIVES[4]
    if node["freed"] <= position:
        return LIVES[0]
    return LIVES[1] if node["born"] <= position else LIVES[2]


def _lines(tensors: networkx.DiGraph, direction: str, width_mm: float | None, look: Theme) -> Iterator[str]:
    position = tensors.graph.get("peak_position", 0)
    names = {name: f"t{index}" for index, name in enumerate(tensors)}
    yield "digraph step {"
    yield f'  graph [rankdir={direction.upper()}, bgcolor="{look.paper}"];'
    yield "  graph [ranksep=0.2, nodesep=0.1, pad=0.05, margin=0];"
    if width_mm is not None:
        yield f'  graph [size="{width_mm / 25.4:.4f},200"];'
    yield f'  graph [{FONT}, fontcolor="{look.ink}", labelloc=b, label=<{_legend(tensors, look)}>];'
    yield f'  node [shape=box, {FONT}, color="{look.ink}", margin="0.06,0.03", width=0, height=0];'
    yield f'  edge [color="{look.faint}", penwidth=0.6, arrowsize=0.4];'
    for name, node in tensors.nodes(data=True):
        life = life_of(node, position)
        at_peak = node["op"] == tensors.graph.get("peak_op")
        yield f"  {names[name]} [label=<{_label(node, at_peak)}>, {_style(life, look)}, tooltip={quote([name])}];"
    for one, other in tensors.edges:
        yield f"  {names[one]} -> {names[other]};"
    yield "}"


def _style(life: str, look: Theme) -> str:
    """Ground and outline: the second tells lives apart in a grey print as well."""
    ground, outline, pen, text = {
        LIVES[0]: (mix(look.layers[0], 0.5, look.paper), "solid", 0.5, look.ink),
        LIVES[1]: (look.ink, "solid", 0.5, look.paper),
        LIVES[2]: (look.paper, "dashed", 0.8, look.ink),
        LIVES[3]: (look.band, "solid", 1.6, look.ink),
        LIVES[4]: (look.paper, "dotted", 0.5, look.faint),
    }[life]
    return f'style="filled,{outline}", penwidth={pen:g}, fillcolor="{ground}", fontcolor="{text}"'


def _label(node: dict[str, Any], at_peak: bool) -> str:
    """Op type, scope, bytes and the positions between which the tensor is alive."""
    kind = node["kind"] if node["kind"] in ("scratch", "copy", "workspace") else ""
    what = " ".join(part for part in (node["type"], kind, "(peak op)" if at_peak else "") if part)
    lines = [f"<b>{escape(what)}</b>"]
    if node["scope"]:
        lines.append(escape(elide_path(node["scope"], _NAME_POINTS, SIZE)))
    size = format_bytes(node["bytes"]) if "bytes" in node else "size unknown"
    lives = "born" in node and node["kind"] != "resident"
    lines.append(f"{size}, {node['born']}–{node['freed']}" if lives else size)
    return "<br/>".join(lines)


def _legend(tensors: networkx.DiGraph, look: Theme) -> str:
    """The colours with how many tensors have each, and the peak."""
    position = tensors.graph.get("peak_position", 0)
    lives = [life_of(node, position) for _, node in tensors.nodes(data=True)]
    grounds = (mix(look.layers[0], 0.5, look.paper), look.ink, look.paper, look.band, look.paper)
    outlines = ("", "", ", dashed", ", thick outline", ", dotted")
    rows = "".join(
        f'<tr><td width="14" border="1" color="{look.faint}" bgcolor="{ground}"></td>'
        f'<td align="left">{life}{outline}: {lives.count(life)}</td></tr>'
        for life, ground, outline in zip(LIVES, grounds, outlines, strict=True)
        if life in lives
    )
    peak = f"peak: {format_bytes(tensors.graph['peak_bytes'])}, position {position} of {tensors.graph['positions']}"
    return (
        '<table border="0" cellborder="0" cellspacing="2" cellpadding="1">'
        f'<tr><td colspan="2" align="left"><b>{peak}</b></td></tr>{rows}</table>'
    )
