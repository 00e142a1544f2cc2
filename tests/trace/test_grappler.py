"""Grappler without the device: for the CPU it must give the graph that TensorFlow itself would execute."""

from __future__ import annotations

import contextlib
from collections import Counter

import pytest

from tests.trace.node_defs import FLOAT, graph, node

pytestmark = pytest.mark.tf


def dense_step():
    """Two layers, a loss and momentum, written out; the biases' sums, the labels' one-hot form."""
    import tensorflow as tf

    shapes = [(12, 16), (16,), (16, 4), (4,)]
    weights = [tf.Variable(tf.zeros(shape)) for shape in shapes]
    slots = [tf.Variable(tf.zeros(shape)) for shape in shapes]

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(x @ weights[0] + weights[1])
            logits = tf.nn.bias_add(hidden @ weights[2], weights[3])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        for weight, slot, grad in zip(weights, slots, tape.gradient(loss, weights), strict=True):
            slot.assign(0.9 * slot + grad)
            weight.assign_sub(0.1 * slot)
        return loss

    return step.get_concrete_function(tf.TensorSpec((8, 12)), tf.TensorSpec((8,), tf.int32))


def conv_step(dtype="float32"):
    """Convolutions with bias and relu, a pooling and the gradients with respect to the weights."""
    import tensorflow as tf

    kernels = [tf.Variable(tf.zeros(shape, dtype)) for shape in ((3, 3, 8, 16), (3, 3, 16, 16))]
    biases = [tf.Variable(tf.zeros(16, dtype)) for _ in kernels]

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            for kernel, bias in zip(kernels, biases, strict=True):
                x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), bias))
            loss = tf.reduce_sum(tf.square(tf.nn.max_pool2d(x, 2, 2, "SAME")))
        for kernel, grad in zip(kernels, tape.gradient(loss, kernels), strict=True):
            kernel.assign_sub(grad)
        return loss

    return step.get_concrete_function(tf.TensorSpec((4, 16, 16, 8), dtype))


def loop_step():
    """A while loop with its gradient, a branch, and an effect that nobody reads."""
    import tensorflow as tf

    weight, calls = tf.Variable(tf.zeros((6, 6))), tf.Variable(0, dtype=tf.int64)

    @tf.function
    def step(x):
        calls.assign_add(1)
        with tf.GradientTape() as tape:
            for _ in tf.range(5):
                x = tf.tanh(x @ weight)
            loss = tf.reduce_sum(x)
        grad = tape.gradient(loss, weight)
        if loss > 1.0:
            weight.assign_sub(grad)
        else:
            weight.assign_sub(2.0 * grad)
        return x

    return step.get_concrete_function(tf.TensorSpec((3, 6)))


@contextlib.contextmanager
def optimizer_options(**options):
    import tensorflow as tf

    before = tf.config.optimizer.get_experimental_options()
    tf.config.optimizer.set_experimental_options(options)
    try:
        yield
    finally:
        defaults = {name: name != "disable_meta_optimizer" for name in options}
        tf.config.optimizer.set_experimental_options(defaults | before)


def handed_over(concrete, rewrite):
    """The graph that TensorFlow would execute, with or without its own Grappler."""
    import tensorflow as tf

    from graphmem.trace.handover import executed_graph

    count = len(concrete.inputs) - len(concrete.captured_inputs)
    arguments = [tf.zeros([0], tensor.dtype) for tensor in concrete.inputs[:count]]
    with optimizer_options(disable_meta_optimizer=not rewrite):
        return executed_graph(concrete, arguments)


def effects(concrete):
    return [op.name for op in concrete.graph.control_outputs]


def described(graph_def):
    return [(n.name, n.op, list(n.input)) for n in graph_def.node]


@pytest.mark.parametrize("make", [dense_step, conv_step, loop_step])
def test_the_cpus_graph_is_tensorflows_own(make):
    from graphmem.trace.grappler import optimise

    concrete = make()
    lowered, executed = handed_over(concrete, rewrite=False), handed_over(concrete, rewrite=True)
    assert described(lowered) != described(executed)
    assert described(optimise(lowered, effects(concrete))) == described(executed)


def test_arguments_come_back_as_they_were():
    from graphmem.trace.grappler import optimise

    concrete = dense_step()
    lowered = handed_over(concrete, rewrite=False)
    before = {n.name: n for n in lowered.node if n.op == "_Arg"}
    after = {n.name: n for n in optimise(lowered, effects(concrete)).node if n.op == "_Arg"}
    assert after == before
    assert len(after) == 2 + 8


def test_effects_that_nobody_reads_stay():
    import tensorflow as tf

    from graphmem.trace.grappler import optimise

    variable = tf.Variable(tf.zeros(3))

    @tf.function
    def step(x):
        unused = tf.exp(x)  # noqa: F841
        variable.assign_add(x * (tf.constant(2.0) + tf.constant(3.0)))

    concrete = step.get_concrete_function(tf.TensorSpec((3,)))
    executed = handed_over(concrete, rewrite=True)
    result = optimise(handed_over(concrete, rewrite=False), effects(concrete))
    assert described(result) == described(executed)
    assert Counter(n.op for n in result.node) == {"_Arg": 2, "Const": 1, "Mul": 1, "AssignAddVariableOp": 1}


def test_graphs_that_tensorflow_leaves_alone_are_left_alone():
    from graphmem.trace.grappler import optimise

    tiny = graph(
        node("x", "_Arg", T=FLOAT), node("same", "Identity", "x", T=FLOAT), node("r", "_Retval", "same", T=FLOAT)
    )
    assert optimise(tiny) == tiny
    without_result = graph(*(node(f"n{i}", "NoOp") for i in range(9)))
    assert optimise(without_result) == without_result


def test_the_users_optimizer_options_hold():
    from graphmem.trace.grappler import optimise

    concrete = conv_step()
    lowered = handed_over(concrete, rewrite=False)
    with optimizer_options(disable_meta_optimizer=True):
        assert optimise(lowered, effects(concrete)) == lowered
    assert "_FusedConv2D" in {n.op for n in optimise(lowered, effects(concrete)).node}
    with optimizer_options(remapping=False):
        assert "_FusedConv2D" not in {n.op for n in optimise(lowered, effects(concrete)).node}


@pytest.mark.parametrize(
    ("dtype", "architecture", "layout", "transposes"),
    [
        ("float32", "8.0", b"NCHW", True),
        ("float32", "9.0", b"NCHW", True),
        ("float16", "8.0", b"NHWC", False),
        ("float16", "6.1", b"NCHW", True),
    ],
)
def test_the_gpus_layout(dtype, architecture, layout, transposes):
    from graphmem.trace.grappler import gpu_graph

    concrete = conv_step(dtype)
    result = gpu_graph(handed_over(concrete, rewrite=False), effects(concrete), architecture=architecture)
    ops = Counter(n.op for n in result.node)
    assert {n.attr["data_format"].s for n in result.node if "Conv2D" in n.op} == {layout}
    assert (ops["Transpose"] > 0) == transposes
    assert (ops["_FusedConv2D"], ops["Conv2DBackpropFilter"], ops["Conv2DBackpropInput"]) == (2, 2, 1)
    assert {n.device[-5:] for n in result.node} == {"GPU:0"}


def test_without_rewrites_only_devices_and_copies_are_added():
    from graphmem.trace.grappler import gpu_graph

    concrete = dense_step()
    lowered = handed_over(concrete, rewrite=False)
    result = gpu_graph(lowered, effects(concrete), rewrite=False)
    assert [n.name for n in result.node if n.op != "_Copy"] == [n.name for n in lowered.node]
    # The labels are an int32 argument: in host memory, and the loss needs them on the GPU.
    assert [n.input[0] for n in result.node if n.op == "_Copy"] == ["y"]


def test_a_small_gpu_has_tensors_wait_in_host_memory():
    import tensorflow as tf

    from graphmem.trace.grappler import gpu_graph
    from graphmem.trace.placement import memory_types

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(12):
                y = tf.nn.conv2d(tf.tanh(y), tf.ones((3, 3, 32, 32)), 1, "SAME")
        return tape.gradient(y, x)

    concrete = step.get_concrete_function(tf.TensorSpec((16, 64, 64, 32)))
    lowered = handed_over(concrete, rewrite=False)
    large = Counter(n.op for n in gpu_graph(lowered).node)
    small = gpu_graph(lowered, memory_bytes=64 << 20)
    moved = {n.op: memory_types(n) for n in small.node if n.op.startswith("_CopyFrom")}
    assert large["_CopyFromGpuToHost"] == 0
    assert moved == {"_CopyFromGpuToHost": ((False,), (True,)), "_CopyFromHostToGpu": ((True,), (False,))}
