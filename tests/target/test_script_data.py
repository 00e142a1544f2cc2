"""The specs that graphmem reads off a call's data are what arrives in the step when Keras really runs it."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402

from graphmem.errors import TargetError  # noqa: E402
from graphmem.target.data import Described, Feed, describe, describe_batch, inputs_only, with_batch  # noqa: E402
from graphmem.target.leaves import argument_spec  # noqa: E402

pytestmark = pytest.mark.tf

N = 40
OPEN = tf.TensorSpec((None,), tf.int32)
RNG = np.random.default_rng(0)


def x64():
    return RNG.random((N, 6))


def labels():
    return RNG.integers(0, 3, (N,))


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return [x64()[:8], labels()[:8]]


def pairs():
    while True:
        yield x64()[:8], labels()[:8]


def dataset(*, batch=16):
    return tf.data.Dataset.from_tensor_slices((x64(), labels())).batch(batch)


def model_of(package, seen):
    """A model whose steps write down the data they get, one element for each call of Python."""

    class Recorder(package.Model):
        def __init__(self):
            super().__init__()
            self.dense = package.layers.Dense(3)

        def call(self, x):
            first = x[0] if isinstance(x, (tuple, list)) else next(iter(x.values())) if isinstance(x, dict) else x
            return self.dense(tf.cast(first, "float32"))

        def train_step(self, data):
            seen.append(tf.nest.map_structure(lambda t: t if t is None else (t.shape, t.dtype), data))
            return {"loss": tf.constant(0.0)}

        def predict_step(self, data):
            seen.append(tf.nest.map_structure(lambda t: t if t is None else (t.shape, t.dtype), data))
            return tf.zeros([1])

    model = Recorder()
    # Eagerly, so that the shapes are those of the tensors and not of a signature with open dimensions.
    model.compile("sgd", "mse", run_eagerly=True)
    return model


def spec_pairs(described):
    return tf.nest.map_structure(lambda s: s if s is None else (s.shape, s.dtype), described.data)


ARRAYS = {
    "float64 and labels": lambda: Feed(x64(), labels(), batch_size=8),
    "no batch size": lambda: Feed(x64(), labels()),
    "more batch than samples": lambda: Feed(x64(), labels(), batch_size=100),
    "batch from steps": lambda: Feed(x64(), labels(), steps=5),
    "bytes": lambda: Feed((x64() * 9).astype("uint8"), labels().astype("int8")),
    "half": lambda: Feed(x64().astype("float16"), labels().astype(bool)),
    "float64 tensors": lambda: Feed(tf.constant(x64()), tf.constant(labels())),
    "list of inputs": lambda: Feed([x64(), labels()], [labels(), x64()], batch_size=8),
    "dict of inputs": lambda: Feed({"a": x64(), "b": labels()}, labels(), batch_size=8),
    "sample weights": lambda: Feed(x64(), labels(), np.ones(N), batch_size=8),
    "class weights": lambda: Feed(x64(), labels(), class_weight={0: 1.0, 1: 2.0, 2: 3.0}, batch_size=8),
    "whole class weights, one-hot": lambda: Feed(x64(), np.eye(3)[labels()], class_weight={0: 1, 1: 2, 2: 3}),
    "only x": lambda: Feed(x64(), batch_size=8),
    "only a list": lambda: Feed([x64()], batch_size=8),
    "dataset": lambda: Feed(dataset()),
    "dataset with class weights": lambda: Feed(dataset(), class_weight={0: 1.0, 1: 2.0, 2: 3.0}),
    "dataset with whole class weights": lambda: Feed(dataset(), class_weight={0: 1, 1: 2, 2: 3}),
}
PYTHON = {
    "generator": lambda package: Feed(pairs()),
    "sequence": lambda package: Feed(batches_of(package)),
    "sequence with class weights": lambda package: Feed(batches_of(package), class_weight={0: 1.0, 1: 2.0, 2: 1.0}),
}


def batches_of(package):
    if package.__name__ == "keras":
        return Batches()

    class Legacy(package.utils.Sequence):
        __len__ = Batches.__len__

        def __getitem__(self, index):
            return x64()[:8], labels()[:8]

    return Legacy()


def fit_once(model, feed):
    model.fit(
        feed.x, feed.y, sample_weight=feed.sample_weight, batch_size=feed.batch_size, class_weight=feed.class_weight,
        steps_per_epoch=feed.steps, validation_split=feed.validation_split, verbose=0, shuffle=False,
    )  # fmt: skip


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_and_datasets_arrive_as_described(framework, name):
    seen = []
    feed = ARRAYS[name]()
    fit_once(model_of(pytest.importorskip(framework), seen), feed)
    described = describe(ARRAYS[name](), framework=framework)
    assert spec_pairs(described) == seen[0]
    assert described.notes == []
    assert described.batch == tf.nest.flatten(seen[0])[0][0]


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("name", PYTHON)
def test_python_batches_arrive_as_described(framework, name):
    seen, package = [], pytest.importorskip(framework)
    feed = PYTHON[name](package)
    if name == "generator":
        model_of(package, seen).fit(feed.x, steps_per_epoch=1, verbose=0)
    else:
        fit_once(model_of(package, seen), feed)
    described = describe(PYTHON[name](package), framework=framework)
    assert spec_pairs(described) == seen[0]
    assert described.batch == 8
    assert len(described.notes) == 1


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("weights", [{}, {"sample_weight": np.ones(N)}, {"class_weight": {0: 1.0, 1: 2.0, 2: 1.0}}])
def test_train_on_batch_arrives_as_described(framework, weights):
    seen, x, y = [], x64(), labels()
    model_of(pytest.importorskip(framework), seen).train_on_batch(x, y, **weights)
    given = {"sample_weight": None, "class_weight": None, **weights}
    described = describe_batch(x, y, **given, method="train_on_batch", framework=framework)
    # Run eagerly, Keras 3 hands on the NumPy arrays themselves; in a graph they become tensors of the same dtypes.
    arrived = tuple(part if part is None else (tf.TensorShape(part[0]), tf.as_dtype(part[1])) for part in seen[0])
    assert spec_pairs(described) == arrived
    assert described.batch == N


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("x", [x64(), [x64()], dataset()], ids=["array", "list", "dataset"])
def test_predict_arrives_as_described(framework, x):
    seen = []
    model_of(pytest.importorskip(framework), seen).predict(x, verbose=0)
    assert spec_pairs(describe(Feed(x), framework=framework)) == seen[0]


def test_the_batch_is_found_in_the_pipeline_without_running_it():
    def never(x):
        raise AssertionError("the pipeline was run")

    def source():
        never(0)
        yield 0

    made = tf.data.Dataset.from_generator(source, output_signature=tf.TensorSpec((3,), tf.float32))
    pipeline = made.shuffle(10).batch(24, num_parallel_calls=2).map(lambda x: (x, x[:, 0])).cache().repeat().prefetch(1)
    pipeline = tf.data.Dataset.zip((pipeline.take(2), pipeline)).with_options(tf.data.Options())
    described = describe(Feed(pipeline), framework="keras")
    assert described == Described(
        ((tf.TensorSpec((24, 3)), tf.TensorSpec((24,))), (tf.TensorSpec((24, 3)), tf.TensorSpec((24,)))), 24, []
    )


def test_a_pipeline_with_open_shapes_is_run_for_one_element():
    ragged = tf.data.Dataset.from_generator(lambda: iter([[1, 2], [3]]), output_signature=OPEN)
    described = describe(Feed(ragged.padded_batch(2)), framework="keras")
    assert described.data == tf.TensorSpec((2, 2), tf.int32)
    assert described.batch == 2
    assert described.notes == ["The input pipeline was run for one element, as its shapes are not static."]


def test_a_validation_split_leaves_fewer_samples():
    assert describe(Feed(x64(), labels(), validation_split=0.5), framework="keras").batch == N // 2


def test_a_batch_larger_than_the_dataset_is_the_dataset():
    assert describe(Feed(dataset(batch=1000)), framework="keras").batch == N


def test_a_dataset_larger_than_memory_is_described_without_touching_it():
    huge = np.broadcast_to(np.zeros((1, 1), "float64"), (10**9, 10**6))  # 8 petabytes of address, 8 bytes of memory
    described = describe(Feed(huge, batch_size=4), framework="keras")
    assert described == Described(tf.TensorSpec((4, 10**6), tf.float32), 4, [])


def test_data_that_keras_refuses_is_refused():
    with pytest.raises(ValueError, match="list of Python values"):
        describe(Feed([1.0, 2.0]), framework="keras")
    with pytest.raises(ValueError, match=r"different numbers of samples: \[3, 4\]"):
        describe(Feed(np.zeros((3, 1)), np.zeros(4)), framework="keras")
    with pytest.raises(ValueError, match="must be part of the"):
        describe(Feed(dataset(), labels()), framework="keras")
    with pytest.raises(ValueError, match="is empty"):
        describe(Feed(tf.data.Dataset.from_generator(lambda: iter(()), output_signature=OPEN)), framework="keras")
    with pytest.raises(ValueError, match="must yield tuples"):
        describe(Feed(iter([np.zeros(3)])), framework="keras")


def test_a_distributed_dataset_is_refused():
    spread = tf.distribute.OneDeviceStrategy("/cpu:0").experimental_distribute_dataset(dataset())
    if type(spread).__name__ != "DistributedDataset":
        spread = tf.distribute.MirroredStrategy(["/cpu:0"]).experimental_distribute_dataset(dataset())
    with pytest.raises(TargetError, match="distributed"):
        describe(Feed(spread), framework="keras")


def test_another_batch_changes_the_first_dimension_only():
    described = Described((tf.TensorSpec((8, 8)), None, tf.TensorSpec((3, 8)), tf.TensorSpec(())), 8)
    assert with_batch(described, 5) == Described(
        (tf.TensorSpec((5, 8)), None, tf.TensorSpec((3, 8)), tf.TensorSpec(())), 5
    )


def test_inputs_only_keeps_a_tuple_of_inputs_apart_from_the_targets():
    one, two = tf.TensorSpec((2, 1)), tf.TensorSpec((2, 2))
    assert inputs_only(Described((one, two), 2)).data == one
    assert inputs_only(Described(((one, two), two), 2)).data == ((one, two),)


def test_arguments_of_functions_become_specs():
    assert argument_spec(tf.constant([1.0])) == tf.TensorSpec((1,), tf.float32)
    assert argument_spec(np.zeros((2, 3), "int16")) == tf.TensorSpec((2, 3), tf.int16)
    assert argument_spec("mode") == "mode"
    variable = tf.Variable(1.0)
    assert argument_spec(variable) is variable
