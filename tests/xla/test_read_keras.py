"""Reading what TensorFlow's own XLA makes of a Keras step here: names of layers and variables, and the protos."""

from __future__ import annotations

import pytest

from graphmem.report.build import build_report
from graphmem.xla import proto
from graphmem.xla.compiled import CompiledHlo
from graphmem.xla.read import read
from graphmem.xla.step import Meaning

pytestmark = pytest.mark.tf


def test_fields_are_those_of_the_public_protos():
    from tensorflow.compiler.xla import xla_data_pb2
    from tensorflow.compiler.xla.service import hlo_pb2

    checked = 0
    todo = [(type(proto.parse(b"")).DESCRIPTOR, hlo_pb2.HloProto.DESCRIPTOR)]
    seen = set()
    while todo:
        ours, theirs = todo.pop()
        if ours.full_name in seen:
            continue
        seen.add(ours.full_name)
        for field in ours.fields:
            public = theirs.fields_by_name[field.name]
            assert (field.number, field.is_repeated) == (public.number, public.is_repeated), field.full_name
            same = field.type == public.type or (field.type, public.type) == (field.TYPE_INT32, field.TYPE_ENUM)
            assert same, field.full_name
            checked += 1
            if field.message_type:
                todo.append((field.message_type, public.message_type))
    assert len(seen) == len(proto._MESSAGES)
    assert checked > 50
    from graphmem.xla import shapes

    types = xla_data_pb2.DESCRIPTOR.enum_types_by_name["PrimitiveType"].values_by_number
    for number, (name, _) in shapes._TYPES.items():
        assert _spelled(types[number].name) == name


def _spelled(name: str) -> str:
    """TensorFlow's name of XLA's type."""
    special = {"PRED": "bool", "BF16": "bfloat16", "OPAQUE_TYPE": "opaque"}
    if name in special or name.isalpha():
        return special.get(name, name.lower())
    for prefix, text in (
        ("F8", "float8_"),
        ("F4", "float4_"),
        ("F", "float"),
        ("C", "complex"),
        ("S", "int"),
        ("U", "uint"),
    ):
        if name.startswith(prefix):
            return text + name.removeprefix(prefix).lower()
    raise AssertionError(f"no name is known for {name}")


@pytest.fixture(scope="module")
def net():
    """A simulation of a train step, compiled in this process: TensorFlow's variables are real, and small."""
    import keras
    import tensorflow as tf
    from keras import layers

    from graphmem.trace import scopes, variables

    tower = keras.Sequential([layers.Dense(64, "relu", name="wide"), layers.Dense(32, name="narrow")], name="tower")
    model = keras.Sequential([keras.Input((48,)), tower, layers.Dense(8, name="scores")], name="net")
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)

    class Step:
        models, optimizers = [model], [model.optimizer]

    specs = tf.TensorSpec((16, 48)), tf.TensorSpec((16, 8))
    step = tf.function(lambda x, y: model.train_step((x, y)), jit_compile=True)
    with scopes.watched([model]) as seen:
        concrete = step.get_concrete_function(*specs)
    seen.ops = {op.name for op in concrete.graph.get_operations()}
    given = variables.arguments(concrete), variables.captured(concrete, Step, seen)
    written = step.experimental_get_compiler_ir(*specs)(stage="optimized_hlo_proto_serialized")
    compiled = CompiledHlo(written, "cpu", "this CPU", "tensorflow", (), None, 0.0)
    return read(compiled, Meaning([*given[0], *given[1]], scopes=seen, optimizers=["adam"]))


def test_parameters_are_the_variables_of_the_model(net):
    report = build_report(net)
    parameters = 48 * 64 + 64 + 64 * 32 + 32 + 32 * 8 + 8
    assert report.weight_bytes == 4 * parameters
    assert report.optimizer_bytes == 2 * 4 * parameters
    assert report.argument_bytes == 4 * 16 * (48 + 8)
    assert {"tower/wide/kernel", "scores/bias"} <= {item.name.removeprefix("net/") for item in net.graph.variables}


def test_ops_belong_to_layers_and_passes(net):
    products = {(op.scope, op.phase) for op in net.graph.ops if "MatMul" in op.attrs["op_type"]}
    forward = {("net/tower/wide", "forward"), ("net/tower/narrow", "forward"), ("net/scores", "forward")}
    backward = {("net/tower/wide", "backward"), ("net/tower/narrow", "backward"), ("net/scores", "backward")}
    assert forward | backward <= products
    updates = {op.scope for op in net.graph.ops if op.phase == "update" and op.outputs}
    assert {"net/tower/wide", "net/tower/narrow", "net/scores"} <= updates


def test_the_peak_is_of_layers(net):
    report = build_report(net)
    assert report.step_peak_bytes > 0
    scoped = sum(row.bytes or 0 for row in report.frontier if row.scope)
    assert scoped >= 0.95 * report.step_peak_bytes
    assert "what matrix products and convolutions allocate" in report.not_counted[0]
