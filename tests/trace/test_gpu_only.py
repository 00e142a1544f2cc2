"""Ops that only GPUs run go through TensorFlow's instantiation in disguise and come out as they were."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.tf


def rnn_step(nested: bool = False):
    import tensorflow as tf

    params = tf.Variable(tf.zeros((416,)))

    def network(x):
        return tf.raw_ops.CudnnRNNV3(
            input=x, input_h=tf.zeros((1, 3, 8)), input_c=tf.zeros((1, 3, 8)), params=params, rnn_mode="lstm",
            sequence_lengths=tf.fill([3], 5), is_training=True,
        )  # fmt: skip

    inner = tf.function(network) if nested else network

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            outputs = inner(x)
            loss = tf.reduce_sum(outputs.output) + tf.reduce_sum(outputs.output_c)
        return tape.gradient(loss, [params])

    return step.get_concrete_function(tf.TensorSpec((5, 3, 4)))


@pytest.mark.parametrize("nested", [False, True])
def test_the_ops_come_back_with_their_attributes_and_edges(nested: bool) -> None:
    import tensorflow as tf

    from graphmem.trace.gpu_only import handed_over_for_gpu

    concrete = rnn_step(nested)
    graph = handed_over_for_gpu(concrete, [tf.zeros([0])]).executed
    nodes = {node.op: node for node in graph.node}
    assert not {"PyFunc", "PyFuncStateless", "PartitionedCall", "StatefulPartitionedCall"} & set(nodes)
    forward, backward = nodes["CudnnRNNV3"], nodes["CudnnRNNBackpropV3"]
    assert forward.attr["rnn_mode"].s == b"lstm"
    assert forward.attr["is_training"].b
    data = [name for name in backward.input if not name.startswith("^")]
    assert f"{forward.name}:3" in data  # the reserve space
    assert f"{forward.name}:4" in data  # what is kept on the host
    assert forward.name in data


def test_nothing_is_left_in_tensorflows_library() -> None:
    import tensorflow as tf
    from tensorflow.python.eager import context

    from graphmem.trace.gpu_only import handed_over_for_gpu

    concrete = rnn_step(nested=True)
    before = set(context.context().list_function_names())
    handed_over_for_gpu(concrete, [tf.zeros([0])])
    assert not {name for name in set(context.context().list_function_names()) - before if "graphmem" in name}


def test_other_functions_are_handed_over_as_they_are() -> None:
    import tensorflow as tf

    from graphmem.trace.gpu_only import handed_over_for_gpu
    from graphmem.trace.handover import handed_over

    def made():
        function = tf.function(lambda x: tf.nn.relu(x) * 2.0)
        return function.get_concrete_function(tf.TensorSpec((5, 3)))

    graphs = [hand(made(), [tf.zeros([0])]).executed for hand in (handed_over_for_gpu, handed_over)]
    assert [(node.name, node.op) for node in graphs[0].node] == [(node.name, node.op) for node in graphs[1].node]


@pytest.mark.parametrize(("architecture", "dtype", "layout"), [
    ("6.1", "float16", "NCHW"), ("7.0", "float16", "NHWC"), ("8.6", "bfloat16", "NHWC"), ("6.1", "float32", "NCHW"),
    ("8.6", "float32", "NCHW"), ("9.0", "float32", "NCHW"),
])  # fmt: skip
def test_the_card_decides_the_layout(architecture: str, dtype: str, layout: str) -> None:
    import tensorflow as tf

    from graphmem.target.functions import step_of_pair
    from graphmem.target.step import Options
    from graphmem.trace.tracer import trace

    kernel = tf.Variable(tf.zeros((3, 3, 8, 16), dtype))

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME")))
        kernel.assign_sub(tape.gradient(loss, kernel))

    made = step_of_pair(step, (tf.TensorSpec((4, 16, 16, 8), dtype),), Options(), "step")
    graph = trace(made, device="gpu", architecture=architecture)
    assert graph.info["architecture"] == architecture
    assert {op.attrs["data_format"] for op in graph.ops if op.type.startswith("Conv2D")} == {layout}
