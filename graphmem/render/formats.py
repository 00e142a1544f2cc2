"""What each ending of a report's file stands for; a renderer is imported when its format is asked for."""

from __future__ import annotations

from collections.abc import Callable

from graphmem.errors import TargetError
from graphmem.render.choices import PICTURES, Choices
from graphmem.report.report import Report


def draw(report: Report, kind: str, ending: str, choices: Choices) -> bytes:
    """A picture as a file.

    Args:
        kind: one of `graphmem.render.choices.KINDS`.
        ending: one of `graphmem.render.choices.PICTURES`, or ".dot" for one of `DOT_KINDS`.
    """
    if kind == "timeline":
        from graphmem.render.timeline import timeline_picture

        return timeline_picture(report, ending, choices)
    if kind == "lifetimes":
        from graphmem.render.lifetime_map import lifetime_map

        return lifetime_map(report, ending, choices)
    from graphmem.render.engines import render_dot

    dot = _dot(report, kind, choices)
    return dot.encode() if ending == ".dot" else render_dot(dot, ending[1:])


def _drawn(ending: str) -> Callable[[Report, Choices], bytes]:
    return lambda report, choices: draw(report, choices.picture, ending, choices)


def _dot(report: Report, kind: str, choices: Choices) -> str:
    if kind == "dag":
        from graphmem.render.dag import dag_dot

        return dag_dot(report, direction=choices.direction or "tb", width_mm=choices.width, theme=choices.theme)
    from graphmem.render.frontier import MOST, frontier_dot

    return frontier_dot(
        report,
        top=min(choices.top, MOST),
        depth=choices.depth,
        width_mm=choices.width,
        theme=choices.theme,
        direction=choices.direction or "lr",
    )


def _json(report: Report, choices: Choices) -> bytes:
    from graphmem.render.as_json import as_json

    return (as_json(report, timeline=True) + "\n").encode()


def _text(report: Report, choices: Choices) -> bytes:
    from graphmem.render.text import as_text

    return as_text(report, width=120, top=choices.top).encode()


def _html(report: Report, choices: Choices) -> bytes:
    from graphmem.render.html.page import as_page

    return as_page(report).encode()


def _trace(report: Report, choices: Choices) -> bytes:
    from graphmem.graph.store import to_bytes
    from graphmem.report.lifetimes import graph_to_save

    if report.simulation is None:
        raise TargetError("a report loaded from JSON holds no graph to save as a trace; analyse its target again.")
    return to_bytes(graph_to_save(report.simulation))


def _lifetimes(report: Report, choices: Choices) -> bytes:
    from graphmem.graph.lifetimes_csv import write_lifetimes
    from graphmem.report.lifetimes import lifetimes_of

    if report.simulation is None:
        raise TargetError("a report loaded from JSON holds no lifetimes to write; analyse its target again.")
    return write_lifetimes(lifetimes_of(report.simulation)).encode()


def _latex(report: Report, choices: Choices) -> bytes:
    from graphmem.render.peak_table import peak_table
    from graphmem.render.tables import as_latex

    return as_latex(peak_table(report)).encode()


def _markdown(report: Report, choices: Choices) -> bytes:
    from graphmem.render.peak_table import peak_table
    from graphmem.render.tables import as_markdown

    return as_markdown(peak_table(report)).encode()


def _graphml(report: Report, choices: Choices) -> bytes:
    from graphmem.render.export_dag import as_graphml

    return as_graphml(report)


def _node_link(report: Report, choices: Choices) -> bytes:
    from graphmem.render.export_dag import as_node_link

    return as_node_link(report).encode()


def _chrome_trace(report: Report, choices: Choices) -> bytes:
    from graphmem.render.export_trace import as_chrome_trace

    return as_chrome_trace(report).encode()


def _speedscope(report: Report, choices: Choices) -> bytes:
    from graphmem.render.export_speedscope import as_speedscope

    return as_speedscope(report).encode()


def _explorer(report: Report, choices: Choices) -> bytes:
    from graphmem.render.export_explorer import as_explorer_graph

    return as_explorer_graph(report).encode()


def _node_data(report: Report, choices: Choices) -> bytes:
    from graphmem.render.export_explorer import as_node_data

    return as_node_data(report).encode()


FORMATS: dict[str, Callable[[Report, Choices], bytes]] = {
    **{ending: _drawn(ending) for ending in (*PICTURES, ".dot")},
    ".json": _json,
    ".txt": _text,
    ".html": _html,
    ".tex": _latex,
    ".md": _markdown,
    ".csv": _lifetimes,
    ".graphml": _graphml,
    ".dag.json": _node_link,
    ".trace.json": _chrome_trace,
    ".speedscope.json": _speedscope,
    ".explorer.json": _explorer,
    ".nodedata.json": _node_data,
    ".graphmem": _trace,
}
"""Ending -> (report, what was chosen) -> the file's content."""

GZIPPED = (".graphml", ".dag.json", ".trace.json", ".speedscope.json")
"""Endings that may be followed by ".gz": texts that can be long, and whose readers take them compressed."""
