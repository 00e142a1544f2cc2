"""Timelines: areas that add up to the figure of line one, text that is text, the same bytes each time."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise

import pytest

from graphmem.errors import TargetError
from graphmem.graph.model import ROLES
from graphmem.render.choices import Choices
from graphmem.render.spans import bands, columns
from graphmem.render.themes import THEMES, Theme
from graphmem.render.timeline import areas_by_role, held_of, plot, timeline_picture
from graphmem.report.report import Report
from graphmem.units import format_bytes
from tests.example_reports import MIB, mlp, with_timeline
from tests.steps import report_of, tower, two_layers

_SVG = "{http://www.w3.org/2000/svg}"


def texts(report: Report, **chosen: object) -> list[str]:
    """What is written in the picture."""
    svg = timeline_picture(report, ".svg", Choices(**chosen)).decode()
    return ["".join(item.itertext()) for item in ElementTree.fromstring(svg).iter(f"{_SVG}text")]


def test_the_areas_add_up_to_what_is_needed() -> None:
    report = two_layers()
    areas = areas_by_role(report.timeline, held_of(report), THEMES["light"])
    stacked = [sum(area.values[at] for area in areas) for at in range(report.peak.positions)]
    assert max(stacked) == stacked[report.peak.position] == report.needed_bytes
    assert report.timeline.held == held_of(report)
    assert [area.label for area in areas] == ["weight", "input", "activation", "gradient"]


def test_it_says_the_peak_the_roles_and_the_phases() -> None:
    report = report_of(tower())
    found = texts(report)
    assert f"peak {format_bytes(report.needed_bytes)}" in found
    assert "activation 12.0 MiB" in found
    assert "gradient 1.00 MiB" in found
    assert {"forward", "backward", "alive (MiB)", "position in the schedule of ops", "at the peak:"} <= set(found)


def test_layers_instead_of_roles() -> None:
    found = texts(report_of(tower()), by="scope")
    assert "held all along 1.00 MiB" in found
    sizes = [float(text.split()[1]) for text in found if text.startswith("block") and text.endswith("MiB")]
    assert sum(sizes) == 13.0


def test_a_limit_is_drawn_or_told() -> None:
    report = report_of(tower(), allocator="exact", limit=20 * MIB)
    assert "20.0 MiB allowed" in texts(report)
    far = report_of(tower(), allocator="exact", limit=999 * MIB)
    assert "999 MiB allowed, above" in texts(far)
    assert not [text for text in texts(report_of(tower())) if "allowed" in text]


def test_the_allocator_has_curves_if_it_was_simulated() -> None:
    report = report_of(tower(), allocator="bfc")
    used, pool = report.allocator["peak_in_use_bytes"], report.allocator["pool_bytes"]
    found = texts(report)
    assert f"in use (BFC) {format_bytes(used)}" in found
    assert f"pool {format_bytes(pool)}" in found
    assert not [text for text in texts(report_of(tower())) if "BFC" in text]


def test_a_step_that_fails_is_still_drawn() -> None:
    report = report_of(tower(), allocator="bfc", limit=8 * MIB)
    assert report.allocator["fails"]
    assert "8.00 MiB allowed" in texts(report)


def test_what_xla_allocates_is_a_line() -> None:
    report = replace(with_timeline(), runtime="xla", allocator={"name": "xla", "peak_in_use_bytes": 90 * MIB})
    assert "allocated by XLA 90.0 MiB" in texts(report)


@pytest.mark.parametrize("ending", [".svg", ".pdf", ".png"])
@pytest.mark.parametrize("theme", THEMES)
def test_the_same_bytes_each_time(ending: str, theme: str) -> None:
    report = with_timeline()
    once, twice = (timeline_picture(report, ending, Choices(theme=theme)) for _ in range(2))
    assert once == twice
    assert once.startswith({".svg": b"<?xml", ".pdf": b"%PDF-", ".png": b"\x89PNG"}[ending])


def test_the_width_is_the_one_chosen_and_text_is_no_path() -> None:
    for width in (84.0, 174.0):
        svg = timeline_picture(with_timeline(), ".svg", Choices(width=width)).decode()
        points = float(re.search(r'<svg [^>]*?width="([\d.]+)pt"', svg)[1])
        assert points == pytest.approx(width / 25.4 * 72, abs=0.1)
        assert "font" in svg


def test_print_is_grey_with_patterns() -> None:
    svg = timeline_picture(report_of(tower()), ".svg", Choices(theme="print")).decode()
    colours = {colour.lower() for colour in re.findall(r"#[0-9a-fA-F]{6}", svg)}
    assert colours
    assert all(colour[1:3] == colour[3:5] == colour[5:7] for colour in colours)
    assert "<pattern" in svg
    assert "<pattern" not in timeline_picture(report_of(tower()), ".svg", Choices()).decode()


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_no_two_roles_or_layers_look_alike(theme: Theme) -> None:
    roles = [(theme.fill(role), theme.hatch(role)) for role in ROLES]
    assert len(set(roles)) == len(ROLES)
    hatches = [theme.layer_hatches[number % len(theme.layer_hatches)] for number in range(len(theme.layers))]
    assert len(set(zip(theme.layers, hatches, strict=True))) == len(theme.layers)
    assert len(theme.layers) >= 8  # as many as `timeline_by_layer` names


def test_a_report_without_a_timeline_says_so() -> None:
    with pytest.raises(TargetError, match="saved without its timeline"):
        timeline_picture(mlp(), ".svg", Choices())
    loaded = Report.from_dict(two_layers().to_dict(timeline=True))
    assert timeline_picture(loaded, ".svg", Choices()).startswith(b"<?xml")
    with pytest.raises(TargetError, match="holds no step for a timeline by scope"):
        timeline_picture(loaded, ".svg", Choices(by="scope"))


def test_plot_draws_into_axes_and_returns_them() -> None:
    from matplotlib.figure import Figure

    report = two_layers()
    axes = Figure().subplots()
    assert report.timeline.plot(axes) is axes
    assert [text.get_text() for text in axes.texts][-1] == f"peak {report.needed_bytes} B"
    assert axes.get_ylabel() == "alive (B)"
    with pytest.raises(TargetError, match="no theme 'loud'"):
        report.timeline.plot(axes, theme="loud")


def test_plot_makes_a_figure_of_pyplot(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot

    axes = plot(two_layers().timeline, None, "dark")
    assert axes.figure.number in matplotlib.pyplot.get_fignums()
    assert axes.get_legend() is not None
    matplotlib.pyplot.close(axes.figure)


def test_columns_hold_the_worst_moment_of_each_stretch() -> None:
    total = [(37 * i) % 101 for i in range(1000)]
    starts, at = columns(total, 48)
    assert len(starts) == len(at) == 48
    assert max(total[place] for place in at) == max(total)
    for start, end, place in zip(starts, [*starts[1:], 1000], at, strict=True):
        assert total[place] == max(total[start:end])


def test_bands_cover_the_schedule_once() -> None:
    phases = []
    for start in range(0, 300, 5):
        phases += [("forward", start, start + 4), ("update", start + 4, start + 5)]
    phases.append(("backward", 300, 600))
    found = bands(phases, list(range(600)))
    assert (found[0][1], found[-1][2]) == (0, 600)
    assert all(one[2] == other[1] and one[0] != other[0] for one, other in pairwise(found))
    assert [name for name, _, _ in found] == ["forward", "backward"]


def test_what_comes_before_the_first_bytes_has_no_phase_of_its_own() -> None:
    phases = [("backward", 0, 40), ("forward", 40, 70), ("backward", 70, 100)]
    total = [0] * 40 + list(range(1, 31)) + list(range(30, 0, -1))
    assert bands(phases, total, count=10) == [("forward", 0, 70), ("backward", 70, 100)]
    assert bands([("forward", 0, 4)], [0] * 4, count=2) == [("forward", 0, 4)]
    assert bands([], []) == []


def test_what_moves_next_to_nothing_has_no_phase_of_its_own_and_what_moves_much_has() -> None:
    """Variables that the update reads early are 1 byte each; a forward op late in the update makes most of all."""
    phases = [("forward", 0, 10), ("update", 10, 30), ("forward", 30, 50), ("update", 50, 60), ("forward", 60, 70),
              ("update", 70, 100)]  # fmt: skip
    total = [1] * 10 + [2] * 20 + list(range(10, 210, 10)) + [100] * 5 + [50] * 5 + [1000] * 10 + [10] * 30
    assert bands(phases, total, count=10) == [("forward", 0, 50), ("update", 50, 60), ("forward", 60, 70),
                                              ("update", 70, 100)]  # fmt: skip
    total[60:70] = [60] * 10
    assert bands(phases, total, count=10) == [("forward", 0, 50), ("update", 50, 100)]


def test_bands_follow_the_bytes() -> None:
    """Ten update ops that move nothing beside two that allocate: the stretch is a forward one."""
    total = [0] * 5 + [100, 200] + [200] * 5
    assert bands([("update", 0, 5), ("forward", 5, 7), ("update", 7, 12)], total, count=1) == [("forward", 0, 12)]


def test_nothing_alive_can_be_drawn() -> None:
    empty = replace(with_timeline().timeline, total=[0], by_role={}, phases=[("forward", 0, 1)])
    report = replace(mlp(), timeline=empty, weight_bytes=0, optimizer_bytes=0, other_state_bytes=0, argument_bytes=0,
                     constant_bytes=0, step_peak_bytes=0)  # fmt: skip
    assert "peak 0 B" in texts(report)
