"""Choices of pictures: none is ignored, each wrong one is told."""

from __future__ import annotations

import pytest

from graphmem.errors import TargetError
from graphmem.render.choices import Choices, check_choices, kind_of


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("peak.svg", "frontier"),
        ("peak.timeline.svg", "timeline"),
        ("PEAK.LIFETIMES.PDF", "lifetimes"),
        ("a/b.timeline/peak.png", "frontier"),
        ("timeline.svg", "frontier"),
        ("peak.json", ""),
        ("peak.dag.svg", "dag"),
        ("peak.dag.dot", "dag"),
        ("peak.dot", "frontier"),
        ("peak.dag.json", ""),
        ("peak.timeline.json", ""),
    ],
)
def test_the_name_says_which_picture(path: str, kind: str) -> None:
    assert kind_of(path, Choices()) == kind


def test_the_name_goes_before_the_choice() -> None:
    assert kind_of("a.svg", Choices(picture="timeline")) == "timeline"
    assert kind_of("a.dot", Choices(picture="dag")) == "dag"
    assert kind_of("a.frontier.svg", Choices(picture="timeline")) == "frontier"


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"picture": "pie"}, "no picture 'pie'; choose one of frontier, timeline, lifetimes, dag"),
        ({"by": "op"}, "choose one of role, scope"),
        ({"theme": "neon"}, "choose one of light, dark, print"),
        ({"width": 20}, "20 mm wide cannot be drawn; choose 60 to 600"),
        ({"width": float("nan")}, "cannot be drawn"),
        ({"direction": "up"}, "no direction 'up'; choose one of tb, lr"),
        ({"depth": -1}, "depth of the scopes cannot be -1"),
    ],
)
def test_a_wrong_choice_is_told(chosen: dict[str, object], said: str) -> None:
    with pytest.raises(TargetError, match=said):
        Choices(**chosen)


@pytest.mark.parametrize(
    ("paths", "chosen", "said"),
    [
        ([], {"caption": True}, "--caption: no picture is written"),
        (["a.json"], {"theme": "dark", "width": 90.0}, "--theme, --width: no picture is written"),
        (["a.lifetimes.svg"], {"by": "scope"}, "--by is for timelines"),
        (["a.timeline.svg"], {"depth": 1}, "--depth is for frontiers"),
        (["a.json"], {"depth": 0}, "--depth: no picture is written"),
        (["a.dot"], {"picture": "timeline"}, "a .dot file holds a frontier or a dag"),
        (["a.lifetimes.svg", "a.timeline.svg"], {"direction": "lr"}, "--direction is for a frontier or a dag"),
        (["a.svg"], {"direction": "tb", "width": 100.0}, "with arrows down is 120 to 300 mm wide, not 100"),
        (["a.timeline.svg", "a.svg"], {"width": 70.0}, "a frontier picture is 83 to 300 mm wide, not 70"),
        (["a.dot"], {"width": 301.0}, "83 to 300 mm wide, not 301"),
    ],
)
def test_a_choice_without_effect_is_told(paths: list[str], chosen: dict[str, object], said: str) -> None:
    with pytest.raises(TargetError, match=said):
        check_choices(paths, Choices(**chosen))


def test_choices_with_effect_pass() -> None:
    check_choices(["a.timeline.svg", "a.json"], Choices(by="scope", theme="dark", width=90.0, caption=True))
    check_choices(["a.svg"], Choices(caption=True, theme="print", width=174.0, depth=2))
    check_choices(["a.dot"], Choices(theme="dark", width=84.0, depth=0))
    check_choices(["a.timeline.svg"], Choices(width=70.0))
    check_choices(["a.dag.svg", "a.dot"], Choices(direction="lr", theme="dark", caption=True))
    check_choices(["a.dag.svg"], Choices(width=70.0))
    check_choices(["a.dot", "a.timeline.svg"], Choices(direction="tb"))
    check_choices(["a.svg"], Choices(direction="lr", width=84.0))
    check_choices([], Choices(top=3))
