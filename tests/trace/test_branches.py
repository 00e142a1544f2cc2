"""Sizes inside branches that depend on constants from outside of them."""

from __future__ import annotations

import pytest

tf = pytest.importorskip("tensorflow")

from graphmem.target.step import Step  # noqa: E402
from graphmem.target.weightless import weightless  # noqa: E402
from graphmem.trace.tracer import trace  # noqa: E402

pytestmark = pytest.mark.tf


@pytest.mark.parametrize("depth", [1, 2])
def test_a_constant_that_is_handed_into_a_branch_tells_sizes_there(depth: int) -> None:
    def inside(x, ids, when, rows, depth):
        if not depth:
            return tf.math.unsorted_segment_sum(x, ids, rows[0])
        return tf.cond(when, lambda: inside(x, ids, when, rows, depth - 1), lambda: tf.zeros((20, 3)))

    @tf.function
    def step(x, ids, when):
        return inside(x, ids, when, tf.constant([20, 3]), depth)

    specs = tf.TensorSpec((8, 3)), tf.TensorSpec((8,), tf.int32), tf.TensorSpec((), tf.bool)
    with weightless():
        graph = trace(Step(step, specs, {}))
    sums = [op for op in graph.ops if op.type == "UnsortedSegmentSum"]
    assert [op.outputs[0].shape for op in sums] == [(20, 3)]
