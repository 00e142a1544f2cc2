"""The options of pictures on the command line."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest


def width_of(path: str) -> float:
    """Millimetres."""
    points = re.search(r'<svg [^>]*?width="([\d.]+)pt"', Path(path).read_text())
    assert points
    return float(points[1]) / 72 * 25.4


def test_the_name_or_the_option_says_which_picture(cli) -> None:
    assert cli("peak", "m.py", "-o", "a.timeline.svg", "-o", "b.svg").code == 0
    assert "position in the schedule of ops" in Path("a.timeline.svg").read_text()
    assert "position in the schedule of ops" not in Path("b.svg").read_text()
    assert cli("peak", "m.py", "--picture", "timeline", "-o", "c.svg").code == 0
    assert Path("c.svg").read_bytes() == Path("a.timeline.svg").read_bytes()


@pytest.mark.parametrize(
    ("given", "millimetres"), [("84mm", 84), ("page", 174), ("column", 84), ("3.5in", 88.9), ("9.5 cm", 95)]
)
def test_widths_of_pictures(cli, given: str, millimetres: float) -> None:
    assert cli("peak", "m.py", "--width", given, "-o", "a.timeline.svg").code == 0
    assert width_of("a.timeline.svg") == pytest.approx(millimetres, abs=0.1)


@pytest.mark.parametrize(("given", "millimetres"), [("column", 84), ("page", 174), ("3.3in", 83.82), ("12cm", 120)])
def test_widths_of_frontiers(cli, given: str, millimetres: float) -> None:
    files = ("-o", "a.svg", "-o", "a.pdf", "-o", "a.png", "-o", "a.dot")
    assert cli("peak", "m.py", "--width", given, *files).code == 0
    assert width_of("a.svg") == pytest.approx(millimetres, abs=0.2)
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+)", Path("a.pdf").read_bytes())
    assert box
    assert float(box[1]) / 72 * 25.4 == pytest.approx(millimetres, abs=0.2)
    png = Path("a.png").read_bytes()
    at = png.index(b"pHYs") + 4
    (pixels,), (per_metre,) = struct.unpack(">I", png[16:20]), struct.unpack(">I", png[at : at + 4])
    assert pixels / per_metre * 1000 == pytest.approx(millimetres, abs=0.2)
    assert f'size="{millimetres / 25.4:.4f},' in Path("a.dot").read_text()


def test_theme_depth_and_top_reach_the_frontier(cli) -> None:
    def dot(name: str, *options: str) -> str:
        assert cli("peak", "m.py", *options, "-o", name).code == 0
        return Path(name).read_text()

    plain = dot("a.dot")
    assert 'bgcolor="#14161a"' in dot("b.dot", "--theme", "dark")
    assert "subgraph" not in dot("c.dot", "--depth", "0")
    assert dot("d.dot", "--top", "1").count("box") < plain.count("box")
    assert dot("e.dot", "--top", "500").count("box") >= plain.count("box")
    assert dot("f.dot") == plain


def test_width_is_columns_of_text_as_well(cli) -> None:
    wide, both = cli("peak", "m.py", "--width", "120"), cli(
        "peak", "m.py", "--width", "120", "--width", "84mm", "-o", "a.timeline.svg"
    )  # fmt: skip
    assert wide.out == both.out != cli("peak", "m.py").out
    assert width_of("a.timeline.svg") == pytest.approx(84, abs=0.1)


@pytest.mark.parametrize("given", ["59", "-84mm", "84 parsec", "mm", ""])
def test_what_is_no_width_is_refused(cli, analysis, given: str) -> None:
    outcome = cli("peak", "m.py", f"--width={given}")
    assert outcome.code == 2
    assert "neither 60 or more columns of text nor the width of a picture" in outcome.err
    assert analysis.calls == []


def test_captions_are_told_of(cli) -> None:
    outcome = cli("peak", "m.py", "--caption", "-o", "a.timeline.pdf", "-o", "b.timeline.svg", "-o", "c.json")
    assert outcome.code == 0
    wrote = re.findall(r"^Wrote (.*)$", outcome.err, re.MULTILINE)
    assert wrote == [
        "a.timeline.pdf", "a.timeline.pdf.caption.tex", "b.timeline.svg", "b.timeline.svg.caption.txt", "c.json",
    ]  # fmt: skip
    assert all(Path(name).exists() for name in wrote)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--caption"], "--caption: no picture is written"),
        (["--depth", "1", "-o", "a.timeline.svg"], "--depth is for frontiers"),
        (["--depth", "-1", "-o", "a.svg"], "invalid value for '--depth': -1"),
        (["--width", "2in", "-o", "a.svg"], "50.8 mm wide cannot be drawn"),
        (["--width", "70mm", "-o", "a.svg"], "a frontier picture is 83 to 300 mm wide, not 70"),
        (["--by", "scope", "-o", "a.svg"], "--by is for timelines"),
        (["--width", "9999mm", "-o", "a.timeline.svg"], "9999 mm wide cannot be drawn"),
        (["--picture", "timeline", "-o", "a.json"], "--picture: no picture is written"),
    ],
)
def test_choices_without_effect_stop_before_the_analysis(cli, analysis, argv: list[str], said: str) -> None:
    outcome = cli("peak", "m.py", *argv)
    assert outcome.code == 2
    assert said in outcome.err
    assert analysis.calls == []


@pytest.mark.parametrize("ending", [".lifetimes.svg", ".graphml", ".dag.json", ".explorer.json", ".csv"])
def test_what_needs_the_step_says_so(cli, ending: str) -> None:
    """The report of these tests holds none, as one loaded from JSON does."""
    outcome = cli("peak", "m.py", "-o", f"a{ending}")
    assert outcome.code == 2
    assert "loaded from JSON" in outcome.err
    assert not Path(f"a{ending}").exists()


@pytest.mark.parametrize("ending", [".tex", ".md", ".trace.json", ".speedscope.json", ".nodedata.json"])
def test_what_does_not_is_written(cli, ending: str) -> None:
    assert cli("peak", "m.py", "-o", f"a{ending}").code == 0
    assert Path(f"a{ending}").stat().st_size > 100


def test_arrows_of_a_frontier_go_where_they_are_told(cli) -> None:
    assert cli("peak", "m.py", "-o", "a.dot").code == 0
    assert cli("peak", "m.py", "--direction", "lr", "-o", "b.dot").code == 0
    assert cli("peak", "m.py", "--direction", "tb", "-o", "c.dot", "-o", "c.svg").code == 0
    plain, right, down = (Path(f"{name}.dot").read_text() for name in "abc")
    assert plain == right
    assert "maker0 -> box0 -> reader0" in right
    assert "maker_box0 -> box0 -> reader_box0" in down
    assert width_of("c.svg") == pytest.approx(174, abs=0.4)
    assert cli("peak", "m.py", "--direction", "tb", "--width", "84mm", "-o", "d.svg").code == 2
