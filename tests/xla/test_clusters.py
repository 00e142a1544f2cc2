"""Functions that XLA compiles inside a step of TensorFlow's executor."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.tf

tf = pytest.importorskip("tensorflow")

from graphmem.trace.xla_clusters import Allocations, Cluster, allocations_of_clusters  # noqa: E402
from graphmem.xla.proto import parse  # noqa: E402


def library_of(concrete: Any) -> Any:
    library = concrete.graph.as_graph_def().library
    library.function.add().CopyFrom(concrete.function_def)
    return library


def own_allocations(function: Any, *specs: Any) -> Allocations:
    """What TensorFlow itself says in this process."""
    proto = function.experimental_get_compiler_ir(*specs)(stage="optimized_hlo_proto_serialized")
    asked = [
        item
        for item in parse(proto).buffer_assignment.buffer_allocations
        if not (item.is_thread_local or item.is_entry_computation_parameter or item.is_constant)
    ]
    temp, outputs = (tuple(item.size for item in asked if item.maybe_live_out == out) for out in (False, True))
    return Allocations(temp, outputs)


def test_the_temporary_memory_of_calls():
    weight = tf.Variable(tf.ones((64, 64)))

    @tf.function(jit_compile=True)
    def inner(x: Any) -> Any:
        return tf.matmul(tf.sort(tf.matmul(x, weight)), x, transpose_b=True)

    @tf.function
    def outer(x: Any) -> Any:
        return inner(x) + 1.0

    @tf.function(jit_compile=True)
    def refused(x: Any) -> Any:
        return tf.strings.length(tf.strings.as_string(x))

    library = library_of(outer.get_concrete_function(tf.TensorSpec((128, 64))))
    called = refused.get_concrete_function(tf.TensorSpec((3,)))
    library.function.add().CopyFrom(called.function_def)
    name = next(f.signature.name for f in library.function if "inner" in f.signature.name)
    weights = ("float32", (64, 64), True)
    one = Cluster(name, (("float32", (128, 64), False), weights))
    two = Cluster(name, (("float32", (256, 64), False), weights))
    none = Cluster(called.function_def.signature.name, (("float32", (3,), False),))
    sizes = allocations_of_clusters([one, none, two, one], library)
    assert sizes[0] == sizes[3] == own_allocations(inner, tf.TensorSpec((128, 64)))
    assert (sizes[0].temp, sizes[0].outputs) == ((128 * 64 * 4,), (128 * 128 * 4,))
    assert sizes[1] is None
    assert sizes[2] == own_allocations(inner, tf.TensorSpec((256, 64)))
    assert (sizes[2].temp, sizes[2].outputs) == ((256 * 64 * 4,), (256 * 256 * 4,))


def test_handles_may_come_first_and_values_that_decide_a_shape_are_not_made_up():
    @tf.function(jit_compile=True)
    def handle_first(variable: Any, x: Any) -> Any:
        return tf.matmul(tf.sort(tf.matmul(x, variable)), x, transpose_b=True)

    @tf.function(jit_compile=True)
    def shaped(n: Any, x: Any) -> Any:
        return tf.zeros(n) + tf.reduce_sum(x)

    variable = tf.Variable(tf.ones((64, 64)))
    concrete = handle_first.get_concrete_function(variable, tf.TensorSpec((128, 64)))
    other = shaped.get_concrete_function(tf.TensorSpec((2,), "int32"), tf.TensorSpec((4,)))
    library = library_of(concrete)
    library.function.add().CopyFrom(other.function_def)
    calls = [
        Cluster(concrete.function_def.signature.name, (("float32", (64, 64), True), ("float32", (128, 64), False))),
        Cluster(other.function_def.signature.name, (("int32", (2,), False), ("float32", (4,), False))),
    ]
    sizes = allocations_of_clusters(calls, library)
    assert sizes[0] == Allocations((128 * 64 * 4,), (128 * 128 * 4,))
    assert sizes[1] is None


def test_no_calls_need_no_process():
    assert allocations_of_clusters([], None) == []
