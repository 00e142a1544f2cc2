"""Nodes that no effect and no result depends on never run."""

import pytest

pytestmark = pytest.mark.tf


def test_what_nobody_needs_is_dropped():
    import tensorflow as tf

    from graphmem.trace.prune import without_dead

    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, (2,), "x")
        used = tf.raw_ops.Relu(features=x, name="used")
        tf.raw_ops.Neg(x=used, name="dead_end")
        dead = tf.raw_ops.Exp(x=x, name="dead")
        tf.raw_ops.Log(x=dead, name="dead_as_well")
        with graph.control_dependencies([tf.raw_ops.Sin(x=x, name="waited_for")]):
            tf.raw_ops.Assert(condition=True, data=[used], name="effect")
        tf.raw_ops.NoOp(name="asked_for")
        tf.raw_ops.NoOp(name="not_asked_for")
    given = graph.as_graph_def()
    given.node.add(name="given", op="_Arg").attr["index"].i = 0
    left = [node.name for node in without_dead(given, ["asked_for"]).node]
    constants = [name for name in left if "condition" in name]
    assert set(left) - set(constants) == {"x", "used", "waited_for", "effect", "asked_for", "given"}


def test_a_graph_without_dead_nodes_is_left_alone():
    import tensorflow as tf

    from graphmem.trace.prune import without_dead

    graph = tf.Graph()
    with graph.as_default():
        tf.raw_ops.NoOp(name="end")
    given = graph.as_graph_def()
    assert without_dead(given, ["end"]) is given
