"""TensorFlow's allocators: chunk by chunk by hand, and what holds whatever is asked of them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.runtime.allocators import Exact, OutOfMemory, Stats
from graphmem.runtime.bfc import MOST_SLACK, Bfc

MIB = 1 << 20
fixed = settings(derandomize=True, deadline=None, max_examples=150)


def one_region(limit: int) -> Bfc:
    return Bfc(limit, growth=False)


def held(bfc: Bfc) -> dict[int, tuple[int, int]]:
    """Buffer -> (place in the lowest region, bytes) of every chunk in use."""
    return {buffer: (address - bfc.bottom, size) for buffer, (address, size) in bfc.chunks.items()}


def holes(bfc: Bfc) -> list[tuple[int, int]]:
    """(place in the lowest region, bytes) of every free chunk."""
    return sorted((address - bfc.bottom, size) for size, address in bfc.by_size)


# --- one region, by hand


def test_requests_are_rounded_up_and_placed_one_after_the_other():
    bfc = one_region(2048)
    for buffer, nbytes in enumerate((300, 300, 100)):
        bfc.alloc(buffer, nbytes)
    bfc.free(0)
    assert held(bfc) == {1: (512, 512), 2: (1024, 256)}
    assert holes(bfc) == [(0, 512), (1280, 768)]
    assert bfc.stats == Stats(bytes_in_use=768, peak_bytes_in_use=1280, pool_bytes=2048, largest_free=768)
    assert bfc.stats.fragmentation == (1280 - 768) / 1280


def test_the_smallest_hole_that_fits_is_taken_and_the_lowest_of_equals():
    bfc = one_region(16 * 256)
    for buffer, units in enumerate((3, 1, 2, 1, 2, 1, 6)):
        bfc.alloc(buffer, units * 256)
    for buffer in (0, 2, 4):
        bfc.free(buffer)
    assert holes(bfc) == [(0, 768), (4 * 256, 512), (7 * 256, 512)]
    bfc.alloc(10, 512)
    assert held(bfc)[10] == (4 * 256, 512)


def test_a_chunk_less_than_twice_the_request_is_given_whole():
    bfc = one_region(8 * 256)
    bfc.alloc(0, 3 * 256)
    bfc.alloc(1, 5 * 256)
    bfc.free(0)
    bfc.alloc(2, 2 * 256)
    assert held(bfc)[2] == (0, 3 * 256)
    bfc.free(2)
    bfc.alloc(3, 256)
    assert held(bfc)[3] == (0, 256)
    assert holes(bfc) == [(256, 512)]


def test_no_more_than_128_mib_is_wasted_in_a_chunk():
    request = 200 * MIB
    for spare, given_bytes in ((MOST_SLACK - 256, request + MOST_SLACK - 256), (MOST_SLACK, request)):
        bfc = one_region(request + spare)
        bfc.alloc(0, request)
        assert bfc.stats.bytes_in_use == given_bytes


def test_a_freed_chunk_merges_with_both_neighbours():
    bfc = one_region(4 * 256)
    for buffer in range(4):
        bfc.alloc(buffer, 256)
    bfc.free(0)
    bfc.free(2)
    assert holes(bfc) == [(0, 256), (512, 256)]
    bfc.free(1)
    assert holes(bfc) == [(0, 768)]
    bfc.free(3)
    assert holes(bfc) == [(0, 1024)]


def test_a_request_of_no_bytes_takes_nothing():
    bfc = one_region(1024)
    bfc.alloc(0, 0)
    bfc.free(0)
    assert bfc.stats == Stats()


def test_one_region_needs_a_limit():
    with pytest.raises(ValueError, match="limit"):
        Bfc(growth=False)


# --- growth


def test_each_region_is_twice_the_one_before_it():
    bfc = Bfc()
    for buffer in range(3):
        bfc.alloc(buffer, 2 * MIB)
    assert [size // MIB for size in bfc.regions.values()] == [2, 4]
    bfc.alloc(3, 2 * MIB)
    assert [size // MIB for size in bfc.regions.values()] == [2, 4, 8]


def test_a_large_request_doubles_the_size_until_it_fits_and_no_further():
    """As TensorFlow did for two tensors of 784 × 4096 floats after a few of some bytes: 2, 16, 16, 32 MiB."""
    bfc = Bfc()
    bfc.alloc(0, 8)
    for buffer in (1, 2, 3):
        bfc.alloc(buffer, 784 * 4096 * 4)
    assert [size // MIB for size in bfc.regions.values()] == [2, 16, 16, 32]
    assert [bfc.chunks[buffer][1] for buffer in (1, 2, 3)] == [16 * MIB, 16 * MIB, 784 * 4096 * 4]


def test_chunks_never_merge_across_regions():
    bfc = Bfc()
    bfc.alloc(0, 2 * MIB)
    bfc.alloc(1, 4 * MIB)
    bfc.free(0)
    bfc.free(1)
    assert [size // MIB for size, _ in bfc.by_size] == [2, 4]
    bfc.alloc(2, 5 * MIB)
    assert bfc.stats.pool_bytes == (2 + 4 + 8) * MIB


def test_newer_regions_lie_below_older_ones():
    bfc = Bfc()
    bfc.alloc(0, 2 * MIB)
    bfc.alloc(1, 4 * MIB)
    assert bfc.chunks[1][0] < bfc.chunks[0][0]


# --- the limit


def test_the_pool_grows_up_to_its_limit():
    bfc = Bfc(5 * MIB + 100)
    bfc.alloc(0, 2 * MIB)
    bfc.alloc(1, 3 * MIB)
    assert bfc.stats.pool_bytes == 5 * MIB
    with pytest.raises(OutOfMemory):
        bfc.alloc(2, 1)


def test_running_out_tells_the_request_what_is_free_and_the_largest_piece():
    bfc = one_region(6 * 256)
    for buffer in range(6):
        bfc.alloc(buffer, 256)
    for buffer in (1, 3, 4):
        bfc.free(buffer)
    with pytest.raises(OutOfMemory) as raised:
        bfc.alloc(9, 700)
    error = raised.value
    assert (error.requested, error.free, error.largest_free) == (700, 768, 512)
    assert bfc.stats.bytes_in_use == 3 * 256


def test_free_regions_are_given_back_before_failing_if_that_is_on():
    for collect in (False, True):
        bfc = Bfc(8 * MIB, collect=collect)
        bfc.alloc(0, 2 * MIB)
        bfc.alloc(1, 4 * MIB)
        bfc.free(0)
        bfc.free(1)
        if collect:
            bfc.alloc(2, 7 * MIB)
            assert list(bfc.regions.values()) == [8 * MIB]
        else:
            with pytest.raises(OutOfMemory):
                bfc.alloc(2, 7 * MIB)


def test_a_region_in_use_is_never_given_back():
    bfc = Bfc(8 * MIB, collect=True)
    bfc.alloc(0, 100)
    bfc.alloc(1, 4 * MIB)
    bfc.free(1)
    with pytest.raises(OutOfMemory):
        bfc.alloc(2, 7 * MIB)
    assert bfc.stats.pool_bytes == 6 * MIB


# --- counting only


def test_exact_counts_the_bytes_asked_for():
    exact = Exact(limit=1000)
    exact.alloc(0, 300)
    exact.alloc(1, 500)
    exact.free(0)
    assert exact.stats == Stats(bytes_in_use=500, peak_bytes_in_use=800, pool_bytes=500)
    with pytest.raises(OutOfMemory) as raised:
        exact.alloc(2, 501)
    assert (raised.value.requested, raised.value.free) == (501, 500)


# --- whatever is asked


sizes = st.one_of(st.integers(0, 3000), st.sampled_from([255, 256, 257, 512, MIB, 2 * MIB, 3 * MIB, 5 * MIB]))
requests = st.lists(st.tuples(st.booleans(), sizes, st.integers(0, 1000)), max_size=80)
pools = st.sampled_from([(None, True), (16 * MIB, True), (16 * MIB, False)])


@fixed
@given(requests, pools, st.booleans())
def test_no_two_chunks_overlap_and_the_free_ones_are_all_there_is_besides(asked, pool, collect):
    limit, growth = pool
    bfc = Bfc(limit, growth=growth, collect=collect)
    live: dict[int, int] = {}
    for number, (wants, nbytes, which) in enumerate(asked):
        if wants or not live:
            if served(bfc, number, nbytes):
                live[number] = nbytes
            else:
                assert bfc.stats.largest_free < nbytes
        else:
            gone = sorted(live)[which % len(live)]
            bfc.free(gone)
            del live[gone]
        check(bfc, live)


def served(bfc: Bfc, buffer: int, nbytes: int) -> bool:
    try:
        bfc.alloc(buffer, nbytes)
    except OutOfMemory:
        return False
    return True


def check(bfc: Bfc, live: dict[int, int]) -> None:
    """Every region is exactly its chunks, each free one between two in use, and the figures add up."""
    assert set(bfc.chunks) == {buffer for buffer, nbytes in live.items() if nbytes}
    tiles = sorted(
        [(address, size, True) for address, size in bfc.chunks.values()]
        + [(address, size, False) for size, address in bfc.by_size]
    )
    for start, length in bfc.regions.items():
        inside = [tile for tile in tiles if start <= tile[0] < start + length]
        assert inside[0][0] == start
        assert sum(size for _, size, _ in inside) == length
        for (address, size, used), (following, _, used_then) in pairwise(inside):
            assert address + size == following
            assert used or used_then
    assert sum(bfc.regions.values()) == sum(size for _, size, _ in tiles) == bfc.stats.pool_bytes
    assert bfc.by_size == sorted(bfc.by_size)
    assert bfc.starts == {address: size for size, address in bfc.by_size}
    assert bfc.ends == {address + size: address for size, address in bfc.by_size}
    for buffer, nbytes in live.items():
        if nbytes:
            size = bfc.chunks[buffer][1]
            assert nbytes <= size
            assert size < 2 * -(-nbytes // 256) * 256
    assert bfc.stats.bytes_in_use == sum(size for _, size in bfc.chunks.values()) >= sum(live.values())
    assert bfc.stats.peak_bytes_in_use >= bfc.stats.bytes_in_use
    assert 0 <= bfc.stats.fragmentation <= 1
