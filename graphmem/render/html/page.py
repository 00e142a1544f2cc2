"""One self-contained HTML file: what it shows is written into it, and so are style, scripts and data."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from graphmem.graph.model import PHASES
from graphmem.render.html import pictures, summary
from graphmem.render.html.colours import stylesheet, variable_of
from graphmem.render.html.payload import payload
from graphmem.render.rows import plural
from graphmem.render.words import (
    breakable,
    headline_range,
    modelled,
    remarks,
    short_target,
    step_words,
    where_is_the_peak,
)
from graphmem.report.report import Report
from graphmem.units import format_bytes

if TYPE_CHECKING:
    from jinja2 import Environment

SCRIPTS = ("format", "data", "store", "theme", "columns", "chart", "moment", "tensors", "tree", "scopes", "main")
"""Files of `js/`, in the order in which they are joined; they share one function's scope."""

_FILES = files("graphmem.render.html")


def as_page(report: Report) -> str:
    """The whole page; the same report gives the same text."""
    template = _environment().get_template("report.html.j2")
    drawn, colours = pictures.frontier(report)
    context = {**_context(report), **_assets(stylesheet(colours)), "frontier": drawn}
    return template.render(**context, data=_script_json(payload(report))) + "\n"


def _context(report: Report) -> dict[str, Any]:
    said = [(title, breakable(text)) for title, text in remarks(report)]
    guesses, no_figure = summary.guesses(report)
    return {
        "report": report,
        "name": short_target(report.target),
        "step": step_words(report.step, report.batch),
        "range": headline_range(report),
        "modelled": modelled(report),
        "moment": breakable(where_is_the_peak(report)) if report.frontier else "",
        "layers": summary.layers(report),
        "phases": PHASES,
        "by_phase": summary.phases(report),
        "allocator": summary.allocator(report),
        "guesses": guesses,
        "no_figure": no_figure,
        "remarks": said,
        "timeline": pictures.timeline(report),
    }


def _assets(colours: str) -> dict[str, str]:
    scripts = "\n".join(_read(f"js/{name}.js") for name in SCRIPTS)
    return {
        "style": f"{_read('vendor/uPlot.min.css')}\n{colours}{_read('page.css')}",
        "script": f'(function () {{\n"use strict";\n{scripts}}})();',
        "chart_library": _read("vendor/uPlot.iife.min.js"),
        "chart_licence": _read("vendor/uPlot.LICENSE"),
    }


def _read(name: str) -> str:
    return _FILES.joinpath(name).read_text(encoding="utf-8")


def _script_json(data: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(lambda name: _read(f"templates/{name}")), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"bytes": format_bytes, "variable": variable_of, "plural": plural}
    return environment
