"""Bytes over time by layer, and where they lie: rows that add up, and errors that say what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphmem.errors import TargetError
from graphmem.report.moments import NO_LAYER, OTHERS, common_scope, placed, timeline_by_layer
from tests.steps import MIB, report_of, tower, two_layers


def added_up(curves: dict[str, list[int]]) -> list[int]:
    return [sum(values) for values in zip(*curves.values(), strict=True)]


def test_layers_add_up_to_the_timeline() -> None:
    report = two_layers()
    curves = timeline_by_layer(report)
    assert list(curves) == ["second", "first"]
    assert added_up(curves) == report.timeline.total
    assert [curves[name][report.peak.position] for name in curves] == [168, 64]


def test_layers_are_those_below_what_all_share_joined_by_name() -> None:
    report = report_of(tower(layers=16))
    assert common_scope(report) == "tower/"
    curves = timeline_by_layer(report, most=4)
    assert sorted(curves) == ["block0…", "block1…", "block2…", "block3…"]
    assert added_up(curves) == report.timeline.total
    assert max(curves["block0…"]) >= 4 * MIB


def test_what_is_in_no_layer_does_not_hide_what_layers_share() -> None:
    graph = tower(layers=8)
    for op in graph.ops[:4]:
        op.scope = ""
    report = report_of(graph)
    assert common_scope(report) == "tower/"
    assert {NO_LAYER, "block1_4"} <= set(timeline_by_layer(report))


def test_what_is_not_shown_is_added_up() -> None:
    report = report_of(tower(layers=16))
    curves = timeline_by_layer(report, most=2)
    assert list(curves)[-1] == OTHERS
    assert len(curves) == 3
    assert added_up(curves) == report.timeline.total


def test_what_has_no_layer_is_named_so() -> None:
    graph = tower(layers=2)
    for op in graph.ops:
        op.scope = ""
    assert list(timeline_by_layer(report_of(graph))) == [NO_LAYER]


def test_every_block_has_a_role() -> None:
    found = placed(two_layers())
    assert len(found.roles) == len(found.placement.blocks)
    assert {"weight", "input", "activation", "gradient"} <= set(found.roles)
    assert found.positions == len(found.placement.in_use)


def test_errors_say_what_to_do() -> None:
    report = two_layers()
    with pytest.raises(TargetError, match="loaded from JSON holds no step for a lifetime map"):
        placed(replace(report, simulation=None))
    with pytest.raises(TargetError, match="variables alone are too large"):
        placed(replace(report, device="gpu", allocator={"name": "bfc", "limit_bytes": 512}))
