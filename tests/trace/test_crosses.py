"""Crossed features of dense inputs have known sizes."""

import pytest

pytestmark = pytest.mark.tf


def test_a_cross_of_dense_features_has_a_value_per_row_and_combination():
    import keras
    import tensorflow as tf

    import graphmem

    cross = keras.layers.HashedCrossing(num_bins=64, output_mode="one_hot")

    @tf.function
    def step(x, y):
        return tf.reduce_sum(cross((x, y)), axis=0)

    spec = tf.TensorSpec((128, 1), tf.int64)
    report = graphmem.analyze(step, spec, spec)
    assert not report.at_least
    made = {op.type: [tensor.shape for tensor in op.outputs] for op in report.simulation.graph.ops}
    assert made["SparseCross"] == [(128, 2), (128,), (2,)]
    assert made["SparseToDense"] == [(128, 1)]
    assert made["OneHot"] == [(128, 64)]
