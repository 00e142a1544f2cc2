"""A step lowered to HLO: its parameters by name, what XLA refuses, and TensorFlow's own compiler in a child."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.errors import CompilerError, TargetError, UserCodeError
from graphmem.xla.proto import parse
from tests.xla.allocations import temp_bytes

pytestmark = pytest.mark.tf

tf = pytest.importorskip("tensorflow")

from graphmem.target.step import Step  # noqa: E402
from graphmem.target.weightless import weightless  # noqa: E402
from graphmem.trace.hlo import Lowered, hlo_of  # noqa: E402
from graphmem.trace.xla_cpu import program_of  # noqa: E402
from graphmem.xla.compiler import compile_cpu  # noqa: E402


def spec(*shape: int | None, dtype: Any = "float32", name: str | None = None) -> Any:
    return tf.TensorSpec(shape, dtype, name)


def lowered(function: Any, *args: Any, files: set[str] | None = None) -> Lowered:
    return hlo_of(Step(function, args, user_files=files if files is not None else {__file__}))


def entry(low: Lowered) -> Any:
    from tensorflow.compiler.xla.service import hlo_pb2

    return hlo_pb2.HloModuleProto.FromString(low.hlo)


@pytest.fixture(scope="module")
def model_step() -> Lowered:
    """The train step of a small Keras model whose variables own no memory."""
    import keras

    from graphmem.target.keras_models import step_of_model
    from graphmem.target.step import Options

    with weightless():
        model = keras.Sequential(
            [
                keras.Input((32,)),
                keras.layers.Dense(512, activation="relu", name="wide"),
                keras.layers.Dense(10, name="end"),
            ]
        )
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        return hlo_of(step_of_model(model, Options(batch=16), specs=None, target="model", live=True))


def test_parameters_are_the_arguments_then_the_variables_with_their_roles(model_step):
    names = [(argument.name, argument.shape) for argument in model_step.arguments]
    assert [shape for _, shape in names] == [(16, 32), (16,)]
    count = len(model_step.variables)
    assert model_step.parameters == [("argument", 0), ("argument", 1), *(("variable", i) for i in range(count))]
    kinds = {variable.name: (variable.role, variable.scope) for variable in model_step.variables}
    weights = {name: scope for name, (role, scope) in kinds.items() if role == "weight"}
    assert {name.split("/")[-2] for name in weights} == {"wide", "end"}
    assert sum(role == "optimizer state" for role, _ in kinds.values()) == 8  # two of each kernel and bias
    shapes = [tuple(shape.dimensions) for shape in entry(model_step).host_program_shape.parameters]
    assert shapes == [argument.shape for argument in model_step.arguments] + [v.shape for v in model_step.variables]


def test_updated_variables_share_the_memory_of_their_new_values(model_step):
    updated = {entry.parameter_number for entry in entry(model_step).input_output_alias.entries}
    roles = {model_step.variables[model_step.parameters[number][1]].role for number in updated}
    assert roles == {"weight", "optimizer state", "other state"}
    learned = [i for i, v in enumerate(model_step.variables) if v.role in ("weight", "optimizer state")]
    assert {model_step.parameters.index(("variable", i)) for i in learned} <= updated


def test_the_step_is_traced_as_jit_compile_traces_it_and_the_users_function_is_left_alone():
    seen = []

    @tf.function
    def step(x: Any) -> Any:
        from tensorflow.python.framework import ops
        from tensorflow.python.ops import control_flow_util

        seen.append(control_flow_util.GraphOrParentsInXlaContext(ops.get_default_graph()))
        return x * 2.0

    lowered(step, spec(3))
    assert seen == [True]
    assert step.experimental_get_tracing_count() == 0
    assert not step._jit_compile


def test_a_variable_of_a_type_that_cannot_be_weightless_gets_a_stand_in():
    with weightless():
        table = tf.Variable(tf.cast(tf.zeros((4096, 64)), "float8_e5m2"), trainable=False)
        low = lowered(lambda x: x + tf.reduce_sum(tf.cast(table, tf.float32)), spec(3))
    assert [(v.shape, v.dtype) for v in low.variables] == [((4096, 64), "float8_e5m2")]


def test_a_captured_tensor_that_decides_a_shape_is_no_parameter():
    shape, table, weight = tf.constant([4, 2]), tf.ones((3, 5)), tf.Variable(tf.ones(8))
    low = lowered(lambda x: tf.reshape(weight, shape) + tf.reduce_sum(table) + x, spec(2))
    kinds = [low.arguments[i].shape if kind == "argument" else low.variables[i].shape for kind, i in low.parameters]
    given = [tuple(shape.dimensions) for shape in entry(low).host_program_shape.parameters]
    assert kinds == given
    assert len(low.variables) == len(low.parameters)  # one more is captured than is a parameter, and x is one


def test_an_argument_that_decides_a_shape_is_named():
    shape = tf.constant([4, 2])  # captured, so that TensorFlow is asked with values, here zeros
    with pytest.raises(UserCodeError, match="each value of its input 'n', which decides a shape; use --runtime graph"):
        lowered(lambda x, n: (tf.zeros(n), tf.reshape(x, shape)), spec(8), spec(2, dtype="int32", name="n"))
    with pytest.raises(UserCodeError, match=r"input 1 of op Reshape .* which decides a shape, depends on data"):
        lowered(lambda x, n: tf.reshape(tf.reshape(x, shape), n), spec(8), spec(2, dtype="int32", name="n"))


def test_an_op_without_a_kernel_is_named_with_its_line():
    def step(x: Any) -> Any:
        return tf.strings.length(tf.strings.as_string(x))

    line = step.__code__.co_firstlineno + 1
    with pytest.raises(UserCodeError) as raised:
        lowered(step, spec(3))
    assert str(raised.value) == (
        f"XLA cannot compile the step: it has no kernel for the op AsString, test_hlo.py line {line}; use --runtime "
        "graph, or compile the model with jit_compile=False."
    )


def test_a_shape_that_depends_on_data_is_told():
    with pytest.raises(
        UserCodeError, match=r"input 1 of op Reshape \(node 'Reshape', test_hlo.py line \d+\), which decides"
    ):
        lowered(lambda x, n: tf.reshape(x, n), spec(8), spec(2, dtype="int32"))


def test_a_lookup_table_is_told():
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4]), 0)
    with pytest.raises(
        UserCodeError, match="uses a resource that is no variable, such as a lookup table; use --runtime"
    ):
        lowered(lambda x: table.lookup(x), spec(2, dtype="int32"))


def test_open_dimensions_and_handles_are_refused():
    with pytest.raises(TargetError, match="input 'x' of the step leaves dimension 0 open"):
        lowered(lambda x: x, spec(None, 3, name="x"))
    variable = tf.Variable([1.0])
    with pytest.raises(TargetError, match="is a resource handle, which XLA does not take"):
        lowered(lambda v: v + 1.0, variable)


def test_the_child_compiles_what_this_process_would():
    """A loop, a captured tensor, variables without memory: the same buffers as TensorFlow makes here."""
    big = tf.ones((300, 64)) * 3.0

    def step(x: Any) -> Any:
        def body(i: Any, y: Any) -> Any:
            return i + 1, tf.tanh(tf.matmul(y, weight))

        _, y = tf.while_loop(lambda i, y: i < 5, body, (0, x))
        counter.assign_add(1.0)
        return tf.reduce_sum(tf.matmul(y, big, transpose_b=True))

    with weightless():
        weight, counter = tf.Variable(tf.zeros((64, 64))), tf.Variable(0.0)
        low = lowered(step, spec(128, 64))
        compiled = compile_cpu(program_of(low.concrete), tf.__version__)
        here = tf.function(step, jit_compile=True).experimental_get_compiler_ir(spec(128, 64))
        expected = here(stage="optimized_hlo_proto_serialized")
    assert temp_bytes(compiled.proto) == temp_bytes(expected) > 128 * 64 * 4
    mine, theirs = (parse(proto).buffer_assignment.buffer_allocations for proto in (compiled.proto, expected))
    assert [allocation.size for allocation in mine] == [allocation.size for allocation in theirs]
    assert (compiled.platform, compiled.device_memory_bytes) == ("cpu", None)
    assert compiled.compiler == f"tensorflow {tf.__version__}"


def test_what_the_child_cannot_compile_is_told():
    with pytest.raises(CompilerError, match="XLA ended without a program"):
        compile_cpu(b"{}\n", tf.__version__)
