"""Engines: which one draws what, and what happens when it fails. Stand-ins for `dot` are shell scripts."""

from __future__ import annotations

import io
import re
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest
from PIL import Image

from graphmem.errors import TargetError
from graphmem.render import engines
from graphmem.render.engines import DPI, find_engine, render_dot
from graphmem.render.frontier import frontier_dot
from tests.render.frontier_cases import CASES

DOT = 'digraph { node [shape=box, fontname="Helvetica", fontsize=7]; a -> b [label="×"]; }\n'
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="9pt" viewBox="0 0 9 9"><!-- made by X --><g/></svg>'


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it but what a test puts there, and /bin's tools for scripts."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def script(folder: Path, body: str, name: str = "dot") -> Path:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def no_pure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_pure", lambda: None)


def test_pip_alone_draws_every_format_and_nothing_on_the_path_is_needed(path: Path) -> None:
    svg = render_dot(DOT, "svg")
    assert svg.startswith(b'<?xml version="1.0" encoding="UTF-8"')
    assert svg.rstrip().endswith(b"</svg>")
    assert b"<!--" not in svg
    png = render_dot(DOT, "png")
    width, height = struct.unpack(">II", png[16:24])
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    points = [float(n) for n in svg.split(b'viewBox="0.00 0.00 ')[1].split(b'"')[0].split()]
    assert (width, height) == pytest.approx([size / 72 * DPI for size in points], abs=DPI / 30)
    with Image.open(io.BytesIO(png)) as picture:
        picture.load()
        assert picture.info["dpi"] == pytest.approx((DPI, DPI), abs=0.02)
    assert render_dot(DOT, "pdf").startswith(b"%PDF-1.4")
    assert list(path.iterdir()) == []


@pytest.mark.parametrize("fmt", ["svg", "png", "pdf"])
def test_the_same_text_gives_the_same_bytes(fmt: str, path: Path) -> None:
    assert render_dot(DOT, fmt) == render_dot(DOT, fmt)


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(TargetError, match="'gif'; choose one of svg, png, pdf"):
        render_dot(DOT, "gif")


def test_a_machine_without_an_engine_is_told_what_to_do(path: Path, no_pure: None) -> None:
    assert find_engine() is None
    with pytest.raises(TargetError, match="pip install graphviz-pure"):
        render_dot(DOT, "svg")


def test_the_systems_dot_stands_in_for_a_missing_package(path: Path, no_pure: None) -> None:
    dot = script(path, f"echo '{SVG}'")
    assert find_engine() == dot
    assert render_dot(DOT, "svg").decode() == SVG.replace("<!-- made by X -->", "") + "\n"
    assert render_dot(DOT, "pdf").startswith(b"<svg")  # what dot says a PDF is, as it is


def test_a_pdf_of_the_systems_dot_has_no_time_of_day(path: Path) -> None:
    script(path, "echo '%PDF-1.5 (D:20261130142810Z)'")
    assert render_dot(DOT, "pdf") == b"%PDF-1.5 (D:19700101000000Z)\n"


def test_a_dot_that_cannot_write_pdf_is_no_obstacle(path: Path) -> None:
    script(path, 'echo "Format: \\"pdf\\" not recognized." >&2; exit 1')
    assert render_dot(DOT, "pdf").startswith(b"%PDF-1.4")


def test_a_broken_package_is_no_obstacle_where_dot_works(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = script(path, "exit 1", "broken")
    monkeypatch.setattr(engines, "_pure", lambda: broken)
    script(path, f"echo '{SVG}'")
    assert render_dot(DOT, "svg").startswith(b"<svg")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            'echo "syntax error in line 1" >&2; echo more >&2; exit 1',
            "dot could not draw the picture: syntax error in line 1.",
        ),
        ("exit 0", "dot could not draw the picture: it wrote nothing."),
        ("kill -9 $$", "dot could not draw the picture: it wrote nothing."),
    ],
)
def test_failures_are_one_sentence(body: str, said: str, path: Path, no_pure: None) -> None:
    script(path, body)
    with pytest.raises(TargetError) as error:
        render_dot(DOT, "svg")
    assert str(error.value) == said


def test_an_engine_that_hangs_is_stopped(path: Path, no_pure: None) -> None:
    script(path, f"exec {shutil.which('sleep', path='/bin:/usr/bin')} 30")
    start = time.monotonic()
    with pytest.raises(TargetError, match=r"dot took longer than 0\.2 s to draw"):
        render_dot(DOT, "png", timeout=0.2)
    assert time.monotonic() - start < 10


def test_a_file_that_is_no_program_is_one_sentence(path: Path, no_pure: None) -> None:
    file = path / "dot"
    file.write_bytes(b"\x7fELF nonsense")
    file.chmod(0o755)
    with pytest.raises(TargetError, match="cannot be run"):
        render_dot(DOT, "svg")


def test_bad_dot_text_is_one_sentence(path: Path) -> None:
    with pytest.raises(TargetError, match=r"could not draw the picture: .*syntax error"):
        render_dot("digraph {", "svg")


def test_the_packages_engine_runs_by_itself(path: Path) -> None:
    engine = find_engine()
    assert engine is not None
    assert engine.is_absolute()
    assert b"graphviz" in subprocess.run([engine, "-V"], capture_output=True, check=True).stderr


@pytest.mark.parametrize(("family", "used"), [("Liberation Sans", True), ("Arial", True), ("DejaVu Sans", False)])
def test_the_systems_dot_draws_pdf_only_with_a_font_of_the_right_widths(path: Path, family: str, used: bool) -> None:
    script(path, "echo '%PDF-1.5 of dot'")
    script(path, f"printf '{family}'", "fc-match")
    assert (render_dot(DOT, "pdf") == b"%PDF-1.5 of dot\n") is used


def test_svg_names_fonts_of_the_same_widths_in_a_row() -> None:
    svg = render_dot(frontier_dot(CASES["tiny"]()), "svg").decode()
    assert 'font-family="Arial"' not in svg
    assert svg.count('font-family="Arial,Helvetica,Liberation Sans,sans-serif"') == svg.count("<text ")


SYSTEM = shutil.which("dot")


@pytest.mark.skipif(SYSTEM is None or not engines._has_arial(), reason="no Graphviz with a font of Helvetica's widths")
@pytest.mark.parametrize("direction", ["lr", "tb"])
@pytest.mark.parametrize("case", ["resnet50", "transformer", "unet"])
def test_both_engines_lay_a_frontier_out_alike(case: str, direction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The width, and the edges of each box, within a few points: each engine measures text by its own means."""
    dot = frontier_dot(CASES[case](), direction=direction)
    pure = render_dot(dot, "svg").decode()
    monkeypatch.setattr(engines, "_pure", lambda: None)
    system = render_dot(dot, "svg").decode()
    one, other = boxes(pure), boxes(system)
    assert list(one) == list(other)
    assert len(one) >= 3
    for name, (left, right) in one.items():
        assert other[name] == pytest.approx((left, right), abs=6), name
    width = [float(svg.split('width="')[1].split("pt")[0]) for svg in (pure, system)]
    assert width[0] == pytest.approx(width[1], abs=2)


def boxes(svg: str) -> dict[str, tuple[float, float]]:
    """Name of a box -> its left and its right edge."""
    found = re.findall(r"<title>(box\d+|others\d+|resident)</title>.*?<polygon[^>]*points=\"([^\"]*)\"", svg, re.DOTALL)
    edges = {name: [float(point.split(",")[0]) for point in points.split()] for name, points in found}
    return {name: (min(edges[name]), max(edges[name])) for name in sorted(edges)}
