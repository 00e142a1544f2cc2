"""Files of every ending: right content, whole or not there."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from graphmem.errors import TargetError
from graphmem.graph.lifetimes_csv import peak_of, read_lifetimes
from graphmem.ops.registry import Env
from graphmem.render import output
from graphmem.render.choices import Choices
from graphmem.render.formats import GZIPPED
from graphmem.render.text import as_text
from graphmem.report.build import build_report
from graphmem.runtime.simulate import simulate
from tests.example_reports import mlp, resnet50
from tests.graphs import two_weights
from tests.steps import two_layers

STARTS = {
    ".svg": b"<?xml",
    ".png": b"\x89PNG\r\n\x1a\n",
    ".pdf": b"%PDF-",
    ".dot": b"digraph",
    ".html": b"<!DOCTYPE html>",
}


@pytest.mark.parametrize("ending", STARTS)
def test_the_ending_decides_the_format(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"peak{ending}"
    output.write_report(resnet50(), str(path))
    assert path.read_bytes().startswith(STARTS[ending])
    assert os.listdir(tmp_path) == [path.name]


def test_text_is_wide_and_json_has_all(tmp_path: Path) -> None:
    output.write_reports(mlp(), [str(tmp_path / "a.txt"), str(tmp_path / "A.JSON")], choices=Choices(top=3))
    assert (tmp_path / "a.txt").read_text() == as_text(mlp(), width=120, top=3)
    assert len(json.loads((tmp_path / "A.JSON").read_text())["frontier"]) == 4


def test_csv_has_the_lifetimes_of_the_step(tmp_path: Path) -> None:
    simulation = simulate(two_weights(), order="graph", env=Env(threads=1))
    output.write_report(build_report(simulation), str(tmp_path / "a.csv"))
    rows = read_lifetimes((tmp_path / "a.csv").read_text())
    assert peak_of(rows) == simulation.peak == 232
    assert [(row.lower, row.upper, row.size) for row in rows[:2]] == [(5, 9, 32), (6, 13, 8)]


def test_a_report_without_its_step_has_no_lifetimes(tmp_path: Path) -> None:
    loaded = replace(mlp(), simulation=None)
    with pytest.raises(TargetError, match="holds no lifetimes"):
        output.write_report(loaded, str(tmp_path / "a.csv"))


def test_report_render_is_the_same(tmp_path: Path) -> None:
    mlp().render(str(tmp_path / "a.txt"))
    assert (tmp_path / "a.txt").read_text() == as_text(mlp(), width=120)
    with pytest.raises(TargetError, match=r"a\.txt exists"):
        mlp().render(str(tmp_path / "a.txt"))
    mlp().render(str(tmp_path / "a.txt"), force=True)


@pytest.mark.parametrize("ending", GZIPPED)
def test_long_texts_are_compressed_where_their_name_says_so(tmp_path: Path, ending: str) -> None:
    report = two_layers()
    paths = [str(tmp_path / f"step{ending}"), str(tmp_path / f"step{ending}.gz")]
    output.write_reports(report, paths)
    plain, packed = (Path(path).read_bytes() for path in paths)
    assert gzip.decompress(packed) == plain
    output.write_report(two_layers(), paths[1], force=True)
    assert Path(paths[1]).read_bytes() == packed


def test_what_no_reader_takes_compressed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"the ending \.gz, .* are \.graphml\.gz, \.dag\.json\.gz, \.trace\.json\.gz"):
        output.check_outputs([str(tmp_path / "peak.svg.gz")])
    with pytest.raises(TargetError, match=r"the endings are \.csv\."):
        output.check_outputs([str(tmp_path / "table.csv.gz")], endings=(".csv",))


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(TargetError, match="cannot be written: No space left on device"):
        output.write_report(mlp(), str(path), force=True)
    assert os.listdir(tmp_path) == ["a.txt"]
    assert path.read_text() == "old"


def test_a_dangling_link_counts_as_existing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to(tmp_path / "nowhere")
    with pytest.raises(TargetError, match="exists"):
        output.check_outputs([str(tmp_path / "a.txt")])


def test_pictures_need_an_engine_and_say_so_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphmem.render.engines.find_engine", lambda: None)
    with pytest.raises(TargetError, match="pip install graphviz-pure"):
        output.check_outputs([str(tmp_path / "peak.svg")])
    output.check_outputs([str(tmp_path / "peak.dot")])
