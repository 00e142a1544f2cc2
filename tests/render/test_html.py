"""The HTML report without a browser: what is written into the file."""

from __future__ import annotations

import fnmatch
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from graphmem.answers.compare import STATIC
from graphmem.graph.model import PHASES, ROLES
from graphmem.render.html import page as pages
from graphmem.render.html import payload as payloads
from graphmem.render.html.colours import stylesheet, variable_of
from graphmem.render.html.page import as_page
from graphmem.render.html.payload import payload
from graphmem.render.html.summary import guesses, layers
from graphmem.report.build import build_report
from graphmem.report.moments import placed
from graphmem.report.report import Report
from graphmem.units import format_bytes
from graphmem.xla.compiled import CompiledHlo
from graphmem.xla.read import read
from tests import example_reports
from tests.answers.test_compare_estimates import NESTED
from tests.graphs import two_weights
from tests.steps import MIB, report_of, tower, two_layers
from tests.xla.test_read_files import program

FOLDER = Path(pages.__file__).parent


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def saved(report: Report) -> Report:
    """The report as it is read from its JSON: without its step."""
    return Report.from_dict(json.loads(report.to_json(timeline=True)))


def summed(steps: list[int]) -> list[int]:
    values, value = [], 0
    for step in steps:
        value += step
        values.append(value)
    return values


def listed_at(data: dict[str, Any], position: int) -> int:
    """Bytes of the rows that are alive then."""
    rows = data["tensors"]
    alive = zip(rows["bytes"], rows["born"], rows["freed"], strict=True)
    return sum(size or 0 for size, born, freed in alive if born <= position < freed)


class _Links(HTMLParser):
    """Collects what a page would load, and what it has of each element."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [
            f"{tag} {name}={value}" for name, value in attrs if name in ("src", "href", "data", "xlink:href")
        ]


@pytest.mark.parametrize("case", example_reports.CASES)
def test_every_report_has_a_page_with_its_figures(case: str) -> None:
    report = example_reports.CASES[case]()
    page = as_page(report)
    figure = format_bytes(report.needed_bytes)
    assert f'<span id="peak-figure">{"at least " if report.at_least else ""}{figure}</span>' in page
    assert data_of(page)["needed"] == report.needed_bytes
    assert page.startswith("<!DOCTYPE html>\n")
    assert page.endswith("</html>\n")


def test_nothing_is_loaded_from_elsewhere() -> None:
    page = as_page(report_of(tower()))
    links = _Links()
    links.feed(page)
    assert [load for load in links.loads if "=#" not in load] == []
    assert not {"link", "img", "iframe", "object"} & set(links.tags)
    assert "url(" not in re.sub(r"url\(#\w+\)", "", page)
    assert "default-src 'none'" in page


def test_the_same_report_gives_the_same_page() -> None:
    assert as_page(report_of(tower())) == as_page(report_of(tower()))


def test_the_licence_of_the_chart_library_is_in_the_page() -> None:
    assert (FOLDER / "vendor/uPlot.LICENSE").read_text() in as_page(example_reports.mlp())


def test_names_cannot_leave_their_place() -> None:
    evil = '</script><img src="x" onerror="alert(1)">'
    frontier = [example_reports.buffer(64, (16,), "activation", "forward", evil, "Relu", source=f"{evil}.py:1")]
    page = as_page(example_reports.report_of(frontier, target=evil, notes=[evil]))
    links = _Links()
    links.feed(page)
    assert "img" not in links.tags
    assert evil in data_of(page)["texts"]


@pytest.mark.parametrize("report", [two_layers(), report_of(tower()), report_of(tower(), device="gpu")])
def test_at_each_moment_the_rows_add_up_to_the_timeline(report: Report) -> None:
    data = payload(report)
    at = summed(data["timeline"]["at"])
    roles = [summed(values) for values in data["timeline"]["roles"].values()]
    assert at == list(range(report.peak.positions))
    assert [listed_at(data, position) for position in at] == [sum(values) for values in zip(*roles, strict=True)]
    assert listed_at(data, data["peak"]["position"]) == report.needed_bytes


def test_ops_are_told_where_they_run() -> None:
    report = report_of(tower())
    data = payload(report)
    types, scopes, phases = ([data["texts"][number] for number in column] for column in data["timeline"]["ops"])
    simulation = report.simulation
    ops = [simulation.graph.ops[index] for index in simulation.schedule.ops]
    assert types == [op.type for op in ops]
    assert scopes == [op.scope for op in ops]
    assert phases == [op.phase for op in ops]


def test_the_allocator_has_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "curves" not in payload(report_of(tower()))["timeline"]
    report = report_of(tower(), allocator="bfc")
    placement = placed(report).placement
    curves = {name: summed(values) for name, values in payload(report)["timeline"]["curves"]}
    assert curves == {"in use (BFC)": list(placement.in_use), "pool": list(placement.pool)}
    assert max(curves["pool"]) >= report.needed_bytes
    monkeypatch.setattr(payloads, "COLUMNS", 10)
    few = {name: summed(values) for name, values in payload(report)["timeline"]["curves"]}
    assert {name: (len(values), max(values)) for name, values in few.items()} == {
        name: (10, max(values)) for name, values in curves.items()
    }
    assert "curves" not in payload(saved(report))["timeline"]


def test_curves_end_where_the_allocator_fails() -> None:
    report = report_of(tower(), allocator="bfc", limit=8 * MIB)
    assert report.allocator["fails"] is not None
    (_, in_use), (_, pool) = payload(report)["timeline"]["curves"]
    assert 0 < len(in_use) == len(pool) < report.peak.positions
    nothing_fits = report_of(tower(), allocator="bfc", limit=1)
    assert "curves" not in payload(nothing_fits)["timeline"]


def test_a_saved_report_has_what_is_alive_at_its_peak() -> None:
    report = report_of(tower())
    data = payload(saved(report))
    assert not data["whole"]
    assert "ops" not in data["timeline"]
    assert listed_at(data, report.peak.position) == report.needed_bytes
    assert data["timeline"]["roles"] == payload(report)["timeline"]["roles"]
    assert payload(Report.from_dict(json.loads(report.to_json())))["timeline"] is None


def test_what_is_held_all_along_has_a_row_for_each_variable() -> None:
    data = payload(two_layers())
    names = [data["texts"][number] for number in data["tensors"]["name"]]
    phases = [data["texts"][number] for number in data["tensors"]["phase"]]
    held = {name for name, phase in zip(names, phases, strict=True) if phase == "whole step"}
    graph = two_weights()
    assert held == {variable.name for variable in graph.variables} | {argument.name for argument in graph.arguments}


def test_long_steps_have_bounded_rows_and_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    report = report_of(tower(60))
    monkeypatch.setattr(payloads, "COLUMNS", 10)
    monkeypatch.setattr(payloads, "ROWS", 7)
    data = payload(report)
    at = summed(data["timeline"]["at"])
    assert len(at) == 10
    assert report.peak.position in at
    assert len(data["tensors"]["bytes"]) == 7
    assert data["tensors"]["all"] == len(payloads.tensors_of(report, 10**6)[0]) > 100
    assert listed_at(data, report.peak.position) == 7 * MIB < report.needed_bytes
    monkeypatch.setattr(payloads, "TEXT", 40)
    assert 0 < len(payload(report)["tensors"]["bytes"]) < 7


def test_the_parts_are_those_of_the_peak() -> None:
    report = two_layers()
    assert sum(layer.bytes for layer in layers(report)) == report.needed_bytes
    assert sum(layer.share for layer in layers(report)) == pytest.approx(1)


def test_estimates_stand_beside_the_peak() -> None:
    graph = two_weights()
    graph.info["models"] = NESTED.to_plain()
    report = report_of(graph)
    bars, no_figure = guesses(report)
    assert (bars[0].bytes, bars[0].peak, bars[0].ratio) == (report.needed_bytes, True, "")
    assert len(bars) == 9
    assert max(bar.width for bar in bars) == 100
    naive = next(bar for bar in bars if bar.name == "all tensors of the step")
    assert naive.bytes == report.naive_sum_bytes
    assert naive.ratio == f"{report.naive_sum_bytes / report.needed_bytes:.2f}×"
    assert list(no_figure.values()) == [["Grappler's static estimate"]]
    graph.info[STATIC] = 5000
    assert next(bar.bytes for bar in guesses(report_of(graph))[0] if "Grappler" in bar.name) == 5000
    assert [bar.name for bar in guesses(saved(report))[0]] == ["simulated peak", "all tensors of the step"]


def test_each_role_has_a_colour_in_each_theme() -> None:
    style = stylesheet({"--picture-0": ("#123456", "#abcdef")})
    assert (style.count("--picture-0:#123456;"), style.count("--picture-0:#abcdef;")) == (2, 2)
    for role in ROLES:
        assert style.count(f"{variable_of(role)}:#") == 4
        assert style.count(f"{variable_of(role)}-ink:#") == 4


def test_phases_are_those_of_the_table() -> None:
    page = as_page(example_reports.resnet50())
    assert all(f'<th scope="col" class="number">{phase}</th>' in page for phase in PHASES)


def test_all_files_are_package_data() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    globs = re.search(r'^"graphmem.render.html" = (\[.*\])$', project, re.MULTILINE)
    assert globs is not None
    files = [path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()]
    others = [name for name in files if not name.endswith((".py", ".pyc"))]
    assert [name for name in others if not any(fnmatch.fnmatch(name, glob) for glob in json.loads(globs[1]))] == []
    assert sorted(name[3:-3] for name in others if name.startswith("js/")) == sorted(pages.SCRIPTS)


@pytest.mark.parametrize("name", ["mlp_gpu", "lstm_gpu", "unet_gpu", "lstm_cpu"])
def test_a_compiled_step_adds_up_as_well(name: str) -> None:
    step = CompiledHlo(program(name), name.rpartition("_")[2], "a device", "a compiler", (), None, 0.0)
    report = build_report(read(step))
    data = payload(report)
    at = summed(data["timeline"]["at"])
    roles = [summed(values) for values in data["timeline"]["roles"].values()]
    totals = [sum(values) for values in zip(*roles, strict=True)]
    some = range(0, len(at), max(1, len(at) // 30))
    assert [listed_at(data, at[column]) for column in some] == [totals[column] for column in some]
    assert listed_at(data, report.peak.position) == report.needed_bytes
    assert format_bytes(report.needed_bytes) in as_page(report)
