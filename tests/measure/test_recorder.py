"""Which op an allocation without a name belongs to."""

from __future__ import annotations

import pytest

from graphmem.measure.recorder import _running

KERNELS = [(10, 20, "a"), (20, 25, "b"), (40, 50, "c")]


@pytest.mark.parametrize(
    ("time", "op"), [(9, ""), (10, "a"), (19, "a"), (20, "b"), (25, ""), (39, ""), (40, "c"), (50, "")]
)
def test_the_kernel_that_runs_at_the_time(time: int, op: str) -> None:
    assert _running(KERNELS, time) == op
