"""TensorFlow hands over the graph of small and odd steps, too."""

from __future__ import annotations

from typing import Any

import pytest

import graphmem

pytestmark = pytest.mark.tf


def test_an_input_that_is_not_read_is_held_all_the_same() -> None:
    import tensorflow as tf

    def step(x: Any, unused: Any) -> Any:
        return tf.sin(x) @ x

    report = graphmem.analyze((step, (tf.TensorSpec((4, 4)), tf.TensorSpec((4, 6)))))
    assert (report.argument_bytes, report.step_peak_bytes) == (64 + 96, 128)


@pytest.mark.parametrize("name", ["identity", "shape", "ones_like"])
def test_a_step_may_have_hardly_any_nodes(name: str) -> None:
    import tensorflow as tf

    report = graphmem.analyze((getattr(tf, name), (tf.TensorSpec((4, 4)),)))
    assert report.argument_bytes == 64
    assert report.at_least is False
