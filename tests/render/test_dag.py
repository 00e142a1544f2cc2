"""The picture of a whole small step: every tensor, its life, its arrows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from graphmem.errors import TargetError
from graphmem.graph.model import StepGraph
from graphmem.ops.registry import Env
from graphmem.render.choices import Choices
from graphmem.render.dag import LIVES, MOST_TENSORS, dag_dot, life_of
from graphmem.render.engines import render_dot
from graphmem.render.output import write_report
from graphmem.report.build import build_report
from graphmem.report.report import Report
from graphmem.runtime.simulate import simulate
from tests.example_reports import mlp
from tests.graphs import Builder, chain, empty, loop, two_weights, unknown_size


def report_of(graph: StepGraph) -> Report:
    return build_report(simulate(graph, order="graph", env=Env(threads=1)))


def long_chain(length: int) -> Report:
    b = Builder()
    last = b.argument("x", 8)
    for number in range(length - 1):
        last = b.op(f"op{number}", "MatMul", [last, last], 8)
    return report_of(b.returns(last))


def test_lives_add_up_to_the_peak() -> None:
    report = report_of(two_weights())
    position = report.dag.graph["peak_position"]
    lives = {name: life_of(node, position) for name, node in report.dag.nodes(data=True)}
    assert Counter(lives.values()) == {LIVES[0]: 1, LIVES[1]: 4, LIVES[3]: 3, LIVES[4]: 2}
    assert lives["h:0"] == LIVES[0]
    alive = [report.dag.nodes[name]["bytes"] for name, life in lives.items() if life == LIVES[1]]
    assert sum(alive) == report.step_peak_bytes == 232


def test_what_is_made_after_the_peak() -> None:
    assert [life_of({"kind": "new", "born": born, "freed": born + 2}, 5) for born in (3, 4, 5, 6)] == [
        LIVES[0], LIVES[1], LIVES[1], LIVES[2],
    ]  # fmt: skip


def test_every_tensor_and_arrow_is_there() -> None:
    report = report_of(two_weights())
    dot = dag_dot(report)
    assert len(re.findall(r"^  t\d+ \[", dot, re.MULTILINE)) == len(report.dag) == 10
    assert len(re.findall(r"^  t\d+ -> t\d+;", dot, re.MULTILINE)) == report.dag.number_of_edges() == 12
    assert "<b>MatMul (peak op)</b><br/>first<br/>64 B, 9–12" in dot
    assert dot.count("(peak op)") == 1
    assert "peak: 232 B, position 9 of 13" in dot
    assert "alive at the peak: 4" in dot


def test_direction_width_and_theme() -> None:
    report = report_of(chain())
    assert "rankdir=TB" in dag_dot(report)
    assert "rankdir=LR" in dag_dot(report, direction="lr")
    assert 'size="3.3071,200"' in dag_dot(report, width_mm=84)
    assert 'bgcolor="#14161a"' in dag_dot(report, theme="dark")
    grey = re.findall(r"#([0-9a-f]{6})", dag_dot(report, theme="print"))
    assert all(colour[:2] == colour[2:4] == colour[4:] for colour in grey)
    size = [
        [float(n) for n in re.findall(r'(?:width|height)="([\d.]+)pt"', render_dot(dot, "svg").decode())]
        for dot in (dag_dot(report, direction="lr"), dag_dot(report, direction="lr", width_mm=60), dag_dot(report))
    ]
    assert size[0][0] > size[2][0]
    assert size[0][1] < size[2][1]
    assert size[1][0] == pytest.approx(60 / 25.4 * 72, abs=1)


@pytest.mark.parametrize("graph", [two_weights, loop, unknown_size, empty])
@pytest.mark.parametrize("fmt", ["svg", "png", "pdf"])
def test_the_same_step_gives_the_same_bytes(graph, fmt: str) -> None:
    first, second = (render_dot(dag_dot(report_of(graph())), fmt) for _ in range(2))
    assert first == second


def test_the_largest_is_drawn_and_one_more_is_refused() -> None:
    assert render_dot(dag_dot(long_chain(MOST_TENSORS)), "svg").count(b'class="node"') == MOST_TENSORS
    with pytest.raises(TargetError, match=r"the step has 301 tensors, too many .*\(300 at most\); draw the frontier"):
        dag_dot(long_chain(MOST_TENSORS + 1))


def test_a_report_from_json_says_what_is_missing() -> None:
    with pytest.raises(TargetError, match="holds no graph"):
        dag_dot(mlp())


def test_files(tmp_path: Path) -> None:
    report = report_of(two_weights())
    report.render(str(tmp_path / "a.dag.svg"), direction="lr", caption=True)
    assert "All tensors, coloured by when they are alive, of one step" in next(
        tmp_path.glob("*.caption.txt")
    ).read_text()  # fmt: skip
    write_report(report, str(tmp_path / "b.dot"), choices=Choices(picture="dag", direction="lr"))
    assert (tmp_path / "b.dot").read_text() == dag_dot(report, direction="lr")
    assert (tmp_path / "a.dag.svg").read_bytes() == render_dot(dag_dot(report, direction="lr"), "svg")
