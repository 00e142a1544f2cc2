"""The table against TensorFlow's own allocator."""

from __future__ import annotations

from collections import Counter

import pytest

from graphmem.ops.registry import lookup
from tests.ops.allocator import THREADS, Case, Observed, measure
from tests.ops.cases import CASES
from tests.ops.predict import predict

pytestmark = pytest.mark.tf

SMALL = 256
"""Smaller buffers are not compared: Eigen's own bookkeeping."""

SHARDED = {
    "DepthwiseConv2dNative",
    "DepthwiseConv2dNativeBackpropInput",
    "Multinomial",
    "StatelessMultinomial",
}
"""Ops that ask for the same scratch again for each shard of the work: how often depends on the pool."""

SUMS = {"FusedBatchNormGradV3"}
"""Ops that ask for the same scratch again for each of several sums, one after the other."""


@pytest.fixture(scope="module")
def observed() -> dict[str, dict[str, Observed]]:
    """All cases measured in one process."""
    return dict(zip(map(str, CASES), measure(CASES), strict=True))


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("way", ["held", "dying"])
def test_row_agrees_with_the_allocator(case: Case, way: str, observed: dict[str, dict[str, Observed]]) -> None:
    found = observed[str(case)][way]
    prediction = predict(found.node, way == "dying", THREADS)
    sizes = [*prediction.outputs, *prediction.scratch]
    expected = Counter(size for size in sizes if size is not None and size > SMALL)
    seen = Counter(size for size, _ in found.allocations if size > SMALL)
    if case.op in SHARDED:
        assert set(seen) == set(expected)
        return
    assert expected - seen == Counter(), "buffers that the allocator was not asked for"
    if case.op in SUMS:
        assert set(seen) == set(expected)
        return
    assert (seen - expected).total() <= sizes.count(None), f"more was asked for: {seen - expected}"


WITH_SCRATCH = [case for case in CASES if (rule := lookup(case.op)) is not None and rule.cpu_scratch is not None]


@pytest.mark.parametrize("case", WITH_SCRATCH, ids=str)
@pytest.mark.parametrize("way", ["held", "dying"])
def test_outputs_and_scratch_come_in_order(case: Case, way: str, observed: dict[str, dict[str, Observed]]) -> None:
    """Told by sizes that only one of the two has: outputs come first, unless the row says otherwise."""
    found, rule = observed[str(case)][way], lookup(case.op)
    assert rule is not None
    prediction = predict(found.node, way == "dying", THREADS)
    asked = [size for size, _ in found.allocations]
    outputs = [asked.index(size) for size in set(prediction.outputs) - set(prediction.scratch) if size in asked]
    scratch = [asked.index(size) for size in set(prediction.scratch) - set(prediction.outputs) if size in asked]
    if outputs and scratch:
        assert (min(scratch) < min(outputs)) == rule.scratch_first


def test_cases_are_distinct() -> None:
    assert [name for name, count in Counter(map(str, CASES)).items() if count > 1] == []
