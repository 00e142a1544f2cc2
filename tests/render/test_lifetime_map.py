"""Maps of the allocator's pool: one block per buffer, at its place and in its colour."""

from __future__ import annotations

import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from graphmem.render.choices import Choices
from graphmem.render.lifetime_map import draw_map, lifetime_map
from graphmem.render.themes import THEMES
from graphmem.report.build import build_report
from graphmem.report.moments import placed
from graphmem.report.report import Report
from graphmem.xla.read import read
from tests.graphs import Builder
from tests.steps import MIB, report_of, tower
from tests.xla.modules import training_step


def blocks(report: Report) -> list[tuple[float, float, float, float, tuple[float, ...]]]:
    """(born, freed, low, high, colour) of every block drawn, in MiB."""
    axes = Figure().subplots()
    draw_map(axes, report, placed(report), THEMES["light"])
    found = []
    for item in axes.collections:
        if isinstance(item, PolyCollection) and item.get_zorder() == 2:
            for path in item.get_paths():
                (left, low), (right, high) = path.vertices.min(axis=0), path.vertices.max(axis=0)
                found.append((left, right, low, high, tuple(item.get_facecolor()[0])))
    return found


def test_a_block_for_each_buffer() -> None:
    report = report_of(tower(layers=3))
    drawn = {item[:4] for item in blocks(report)}
    assert drawn == {
        (block.born, block.freed, block.address / MIB, (block.address + block.nbytes) / MIB)
        for block in placed(report).placement.blocks
    }
    assert len({item[4] for item in blocks(report)}) == 3  # input, activation, gradient


def test_what_is_too_thin_to_see_is_left_out() -> None:
    b = Builder()
    b.argument("x", MIB)
    b.op("small", "MatMul", ["x", "x"], 4)
    b.op("large", "MatMul", ["x", "small"], 8 * MIB)
    report = report_of(b.returns("large"))
    assert len(placed(report).placement.blocks) == 3
    assert sorted(high - low for _, _, low, high, _ in blocks(report)) == [1, 8]


def test_text_and_bytes() -> None:
    report = report_of(tower())
    once, twice = (lifetime_map(report, ".svg", Choices()) for _ in range(2))
    assert once == twice
    assert "most in use (dashed line): 14.0 MiB, of a pool of 14.0 MiB" in once.decode()
    for text in ("address in the pool (MiB)", "activation", "gradient", "input", "forward"):
        assert f">{text}</text>" in once.decode()


@pytest.mark.parametrize("ending", [".pdf", ".png"])
def test_other_endings(ending: str) -> None:
    drawn = lifetime_map(report_of(tower(layers=3)), ending, Choices(theme="dark", width=120))
    assert drawn.startswith({".pdf": b"%PDF-", ".png": b"\x89PNG"}[ending])


def test_a_failure_is_marked() -> None:
    report = report_of(tower(), allocator="bfc", limit=8 * MIB)
    assert "no room for 1.00 MiB" in lifetime_map(report, ".svg", Choices(theme="print")).decode()


def test_many_blocks_become_pixels_within_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphmem.render.lifetime_map._PIXELS", 5)
    drawn = lifetime_map(report_of(tower()), ".svg", Choices())
    assert b"<image" in drawn
    assert b"activation" in drawn


def test_what_xla_planned_is_drawn_as_it_is() -> None:
    """`y` takes the lower half of 1024 bytes from position 2, `dy` the quarter above it from position 3."""
    report = build_report(read(training_step().compiled()))
    assert sorted(item[:4] for item in blocks(report)) == [(2, 6, 0, 512), (3, 7, 512, 768)]
    once, twice = (lifetime_map(report, ".svg", Choices(theme="print", width=174)) for _ in range(2))
    assert once == twice
    assert "most in use (dashed line): 768 B, of 1.00 KiB of temporary memory" in once.decode()
    assert ">address in temporary memory (B)</text>" in once.decode()


def test_a_compiled_step_without_temporary_memory_has_an_empty_map() -> None:
    simulation = read(training_step().compiled())
    simulation.graph.info["xla"].update(temp_places=[], temp_allocations=[])
    simulation.total[:] = 0
    assert "most in use (dashed line): 0 B" in lifetime_map(build_report(simulation), ".svg", Choices()).decode()
