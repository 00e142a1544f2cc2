"""Where the allocator puts each buffer: blocks that never overlap and add up to what the replay counts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from graphmem.runtime.bfc import Bfc
from graphmem.runtime.placement import BEFORE, Placement, Watched, place
from graphmem.runtime.replay import replay
from graphmem.runtime.simulate import Simulation
from tests import graphs
from tests.runtime.random_graphs import step_graphs
from tests.steps import KIB, MIB, simulated, tower


def check(simulation: Simulation, placement: Placement) -> None:
    """No two blocks share an address at one time; each is in the pool; they are what the replay has in use."""
    blocks, regions = placement.blocks, placement.regions
    for i, one in enumerate(blocks):
        assert one.born < one.freed
        assert any(start <= one.address and one.address + one.nbytes <= start + size for start, size in regions)
        for other in blocks[i + 1 :]:
            together = one.born < other.freed and other.born < one.freed
            apart = one.address + one.nbytes <= other.address or other.address + other.nbytes <= one.address
            assert apart or not together
    seen = replay(simulation, Bfc())
    if placement.in_use:
        assert max(seen.base_bytes, *placement.in_use) == seen.peak.bytes_in_use
    if seen.position >= 0:
        assert placement.in_use[seen.position] == seen.peak.bytes_in_use
        assert placement.pool[seen.position] == seen.peak.pool_bytes
    assert all(used <= pool for used, pool in zip(placement.in_use, placement.pool, strict=True))


@pytest.mark.parametrize("make", graphs.ALL, ids=lambda make: make.__name__)
def test_every_step_lies_without_overlaps(make) -> None:
    simulation = simulated(make())
    check(simulation, place(simulation, Watched()))


@given(step_graphs())
@settings(max_examples=40, deadline=None)
def test_random_steps_too(graph) -> None:
    simulation = simulated(graph)
    check(simulation, place(simulation, Watched()))


def test_by_hand() -> None:
    """The input of 1 MiB takes the first half of the first region, `a` the second; `b` needs a region of its own."""
    b = graphs.Builder()
    b.argument("x", MIB)
    b.op("a", "MatMul", ["x", "x"], MIB)
    b.op("b", "MatMul", ["a", "a"], MIB)
    b.op("c", "MatMul", ["b", "b"], MIB)
    placement = place(simulated(b.returns("c")), Watched())
    assert placement.regions == ((0, 2 * MIB), (2 * MIB, 4 * MIB))
    assert [(block.buffer == BEFORE, block.role) for block in placement.blocks] == [(True, "input"), *[(False, "")] * 3]
    assert [(block.address, block.nbytes) for block in placement.blocks] == [
        (0, MIB), (MIB, MIB), (2 * MIB, MIB), (MIB, MIB),
    ]  # fmt: skip
    assert [(block.born, block.freed) for block in placement.blocks] == [(0, 5), (1, 3), (2, 4), (3, 5)]
    assert placement.in_use == (MIB, 2 * MIB, 3 * MIB, 3 * MIB, 2 * MIB)
    assert placement.pool == (6 * MIB,) * 5  # the first step has grown it


def test_a_step_that_fails_ends_there() -> None:
    placement = place(simulated(tower(layers=8)), Watched(6 * MIB, growth=False, collect=True))
    assert placement.failure is not None
    assert (placement.failure.step, placement.failure.requested) == (1, MIB)
    assert len(placement.in_use) == len(placement.pool) == 7  # x, h0 to h4 have room; h5, at 6, has none
    assert placement.in_use[-1] == 6 * MIB
    assert {block.freed for block in placement.blocks} == {7}


def test_variables_that_do_not_fit_leave_nothing_to_place() -> None:
    placement = place(simulated(graphs.two_weights()), Watched(512, growth=False))
    assert placement.failure is not None
    assert placement.failure.step == 0
    assert placement.blocks == ()


def test_what_was_there_before_has_its_role() -> None:
    simulation = simulated(graphs.two_weights())
    before = [block for block in place(simulation, Watched()).blocks if block.buffer == BEFORE]
    assert sorted(block.role for block in before) == ["input", *["other state"] * 2, *["weight"] * 2]
    assert all(block.nbytes % 256 == 0 for block in before)
    assert KIB == 1024
