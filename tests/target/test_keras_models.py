"""A Keras model of either Keras as a step: its arguments, its variables, and what it leaves as it was."""

import importlib

import pytest

tf = pytest.importorskip("tensorflow")

import numpy as np  # noqa: E402

from graphmem.errors import TargetError, UserCodeError  # noqa: E402
from graphmem.target.keras_compile import is_built  # noqa: E402
from graphmem.target.keras_models import step_of_model  # noqa: E402
from graphmem.target.step import Options  # noqa: E402
from graphmem.target.weightless import weightless  # noqa: E402

pytestmark = pytest.mark.tf


@pytest.fixture(params=["keras", "tf_keras"])
def k(request):
    pytest.importorskip(request.param)
    return importlib.import_module(request.param)


def traced(step):
    with weightless():
        return tf.function(step.function).get_concrete_function(*step.args, **step.kwargs)


def shapes(nest):
    return tf.nest.map_structure(lambda s: s if s is None else (s.dtype.name, tuple(s.shape)), nest)


def variables(optimizer):
    found = optimizer.variables
    return list(found() if callable(found) else found)


def classifier(k, units=3):
    hidden, out = k.layers.Dense(16, activation="relu"), k.layers.Dense(units, activation="softmax")
    return k.Sequential([k.Input((8,)), hidden, out])


def two_inputs(k):
    img, tok = k.Input((None, None, 3), name="img"), k.Input((None,), dtype="int32", name="tok")
    a = k.layers.GlobalAveragePooling2D()(k.layers.Conv2D(4, 3, padding="same")(img))
    b = k.layers.GlobalAveragePooling1D()(k.layers.Embedding(100, 4)(tok))
    z = k.layers.Concatenate()([a, b])
    return img, tok, k.layers.Dense(5, activation="softmax", name="cls")(z), k.layers.Dense(2, name="reg")(z)


@pytest.mark.parametrize("live", [True, False])
def test_not_compiled(k, live):
    step = step_of_model(classifier(k), Options(batch=4), live=live)
    assert step.kind == "train"
    assert step.batch == 4
    assert step.framework == k.__name__
    assert shapes(step.args) == (("float32", (4, 8)), ("int32", (4,)))
    assert step.facts["optimizer"] == "Adam"
    assert step.facts["loss"] == "sparse_categorical_crossentropy"
    assert step.notes == [
        "Optimizer: Adam, as the model is not compiled and no --optimizer is given.",
        "Loss: sparse_categorical_crossentropy, which suits the output; the model is not compiled.",
        "Labels: int32 4, as the loss and the outputs suggest.",
    ]
    graph = traced(step)
    slots = [v for v in variables(step.optimizers[0]) if len(v.shape)]
    assert len(slots) == 8, "two for each of four weights"
    handles = {id(h) for h in graph.captured_inputs}
    assert all(id(v.handle) in handles for v in [*slots, *step.models[0].trainable_variables])


@pytest.mark.parametrize("live", [True, False])
def test_compiled_with_metrics_is_traced_once(k, live):
    calls = []

    class Counted(k.layers.Layer):
        def call(self, x):
            calls.append(1)
            return x

    model = k.Sequential([k.Input((8,)), Counted(), k.layers.Dense(3, activation="softmax")])
    model.compile(k.optimizers.SGD(momentum=0.9), "categorical_crossentropy", metrics=["accuracy"])
    step = step_of_model(model, Options(batch=4), live=live)
    assert shapes(step.args) == (("float32", (4, 8)), ("float32", (4, 3)))
    calls.clear()
    traced(step)
    assert len(calls) == 1
    traced(step)
    assert len(calls) == 2, "and can be traced again"


def test_a_live_model_stays_as_it_was(k):
    for compiled in (False, True):
        model = classifier(k)
        if compiled:
            model.compile("adam", "mse", metrics=["mae"])
        before = dict(vars(model))
        weights = [v.numpy() for v in model.variables]
        optimizer = getattr(model, "optimizer", None)
        for options in (Options(batch=4), Options(batch=2, optimizer="sgd", loss="mae"), Options(batch=2, kind="test")):
            traced(step_of_model(model, options))
        assert vars(model).keys() == before.keys()
        assert [name for name, value in vars(model).items() if value is not before[name]] == []
        assert getattr(model, "optimizer", None) is optimizer
        if compiled:
            assert not getattr(optimizer, "built", getattr(optimizer, "_built", False))
        for old, new in zip(weights, model.variables, strict=True):
            np.testing.assert_array_equal(old, new.numpy())


def test_a_live_model_trains_on(k):
    def losses(analysed):
        k.utils.set_random_seed(1)
        model = classifier(k)
        model.compile("adam", "mse", metrics=["mae"])
        x, y = np.ones((12, 8), np.float32), np.ones((12, 3), np.float32)
        history = model.fit(x, y, batch_size=4, verbose=0).history
        if analysed:
            traced(step_of_model(model, Options(batch=4)))
        return history["loss"] + model.fit(x, y, batch_size=4, verbose=0).history["loss"]

    assert losses(True) == losses(False)


def test_test_and_predict(k):
    model = classifier(k)
    model.compile("adam", "categorical_crossentropy")
    step = step_of_model(model, Options(kind="test", batch=2))
    assert (step.kind, shapes(step.args)) == ("test", (("float32", (2, 8)), ("float32", (2, 3))))
    assert step.optimizers == []
    step = step_of_model(classifier(k), Options(kind="predict", batch=2))
    assert (step.kind, shapes(step.args), step.notes) == ("predict", (("float32", (2, 8)),), [])
    assert tuple(traced(step).outputs[0].shape) == (2, 3)


def test_loss_and_optimizer_are_overridden(k):
    model = classifier(k)
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
    step = step_of_model(model, Options(batch=2, optimizer="RMSprop(momentum=0.9)", loss="mse"))
    assert step.facts["optimizer"] == "RMSprop"
    assert step.facts["loss"] == "mean_squared_error"
    assert step.notes[:2] == [
        "Optimizer: RMSprop(momentum=0.9), instead of the one the model was compiled with.",
        "Loss: mse, instead of the one the model was compiled with.",
    ]
    assert len([v for v in variables(step.optimizers[0]) if len(v.shape)]) == 8
    with pytest.raises(TargetError, match=r"'adm' is no Keras optimizer; did you mean Adam"):
        step_of_model(model, Options(batch=2, optimizer="adm"))
    with pytest.raises(TargetError, match=r"'msee' is no Keras loss"):
        step_of_model(model, Options(batch=2, loss="msee"))


def test_dict_outputs_and_open_dimensions(k):
    img, tok, cls, reg = two_inputs(k)
    model = k.Model({"img": img, "tok": tok}, {"cls": cls, "reg": reg})
    dims = {"height": 16, "img.2": 12, "sequence": 7}
    step = step_of_model(model, Options(batch=4, dims=dims))
    x, y = step.args
    assert shapes(x) == {"img": ("float32", (4, 16, 12, 3)), "tok": ("int32", (4, 7))}
    assert shapes(y) == {"cls": ("int32", (4,)), "reg": ("float32", (4, 2))}
    traced(step)
    for missing, said in (("height", r"'img' has an open dimension 1 \(height\?\)"), ("sequence", r"--set tok\.1=N")):
        with pytest.raises(TargetError, match=said):
            step_of_model(model, Options(batch=4, dims={n: v for n, v in dims.items() if n != missing}))
    with pytest.raises(TargetError, match="--batch N"):
        step_of_model(model, Options(dims=dims))


@pytest.mark.parametrize(
    ("loss", "y"),
    [
        ({"cls": "sparse_categorical_crossentropy", "reg": "mse"}, [("int32", (4,)), ("float32", (4, 2))]),
        (["sparse_categorical_crossentropy", None], [("int32", (4,)), None]),
        ("mse", [("float32", (4, 5)), ("float32", (4, 2))]),
    ],
)
def test_list_outputs(k, loss, y):
    img, tok, cls, reg = two_inputs(k)
    model = k.Model([img, tok], [cls, reg])
    model.compile("adam", loss)
    options = Options(batch=4, inputs=("img:uint8:?x8x8x3",), dims={"tok.1": 7})
    step = step_of_model(model, options)
    assert shapes(step.args[0]) == [("uint8", (4, 8, 8, 3)), ("int32", (4, 7))]
    assert shapes(step.args[1]) == y
    traced(step)
    with pytest.raises(TargetError, match="no input 'imag'; its inputs are 'img', 'tok'"):
        step_of_model(model, Options(batch=4, inputs=("imag:uint8:?x8x8x3",)))
    with pytest.raises(TargetError, match=r"'img' has the shape \?x8x8x4, but the model takes \?x\?x\?x3"):
        step_of_model(model, Options(batch=4, inputs=("img:uint8:?x8x8x4",)))


def subclassed(k, **kwargs):
    class Net(k.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.a, self.drop, self.b = k.layers.Dense(4), k.layers.Dropout(0.5), k.layers.Dense(2)

        def call(self, x, training=False):
            return self.b(self.drop(self.a(x), training=training))

    return Net(**kwargs)


@pytest.mark.parametrize("live", [True, False])
def test_subclassed(k, live):
    model = subclassed(k)
    with pytest.raises(TargetError, match="has not been built and does not say what it reads"):
        step_of_model(model, Options(batch=4), live=live)
    inputs = ("x:float32:4x6", "y:float32:4x2", "sample_weight:float32:4")
    step = step_of_model(model, Options(inputs=inputs), live=live)
    assert shapes(step.args) == (("float32", (4, 6)), ("float32", (4, 2)), ("float32", (4,)))
    traced(step)
    assert model.built is not live, "somebody's model is not built for them"
    assert len(step.models[0].trainable_variables) == 4
    built = subclassed(k)
    built(tf.zeros((3, 6)))
    step = step_of_model(built, Options(batch=5), live=live)
    assert shapes(step.args) == (("float32", (5, 6)), ("float32", (5, 2)))


def test_unbuilt_sequential(k):
    model = k.Sequential([k.layers.Conv2D(4, 3), k.layers.Flatten(), k.layers.Dense(1, activation="sigmoid")])
    step = step_of_model(model, Options(batch=2, inputs=("x:float32:?x8x8x3",)), live=False)
    assert step.facts["loss"] == "binary_crossentropy"
    assert shapes(step.args) == (("float32", (2, 8, 8, 3)), ("float32", (2, 1)))


def test_own_train_step_and_optimizers(k):
    class Pair(k.Model):
        def __init__(self):
            super().__init__()
            self.g = k.Sequential([k.Input((3,)), k.layers.Dense(3)])
            self.d = k.Sequential([k.Input((3,)), k.layers.Dense(1)])

        def compile(self, g_optimizer, d_optimizer):
            super().compile()
            self.g_optimizer, self.d_optimizer = g_optimizer, d_optimizer

        def train_step(self, data):
            with tf.GradientTape(persistent=True) as tape:
                fake = self.d(self.g(data))
                loss, other = tf.reduce_mean(fake), tf.reduce_mean(self.d(data)) - tf.reduce_mean(fake)
            for net, value, opt in ((self.g, loss, self.g_optimizer), (self.d, other, self.d_optimizer)):
                weights = net.trainable_variables
                opt.apply_gradients(zip(tape.gradient(value, weights), weights, strict=True))
            return {"g": loss, "d": other}

    model = Pair()
    options = Options(batch=3, inputs=("x:float32:?x3",))
    with pytest.raises(TargetError, match=r"Pair has a compile\(\) of its own and was not compiled"):
        step_of_model(model, options)
    model.compile(k.optimizers.Adam(), k.optimizers.SGD(momentum=0.5))
    step = step_of_model(model, options)
    assert shapes(step.args) == (("float32", (3, 3)),)
    assert step.facts["optimizer"] == "Adam, SGD", "without the default that compile() made unasked"
    traced(step)
    slots = {type(o).__name__: len([v for v in variables(o) if len(v.shape)]) for o in step.optimizers}
    assert (slots["Adam"], slots["SGD"]) == (4, 2), "copies with slots for the nets that they were given"
    assert not any(is_built(o) for o in (model.g_optimizer, model.d_optimizer))


def test_given_specs(k):
    model = classifier(k)
    model.compile("adam", "sparse_categorical_crossentropy")
    step = step_of_model(model, Options(), specs=(np.zeros((7, 8)), np.zeros((7,), np.int64), np.zeros((7,))))
    assert shapes(step.args) == (("float64", (7, 8)), ("int64", (7,)), ("float64", (7,)))
    step = step_of_model(model, Options(batch=2), specs=(tf.TensorSpec((None, 8)),))
    assert shapes(step.args) == (("float32", (2, 8)), ("int32", (2,)))
    step = step_of_model(model, Options(inputs=("x:float16:5x8",)), specs=(tf.TensorSpec((7, 8)),))
    assert shapes(step.args[0]) == ("float16", (5, 8))


def test_mixed_precision_and_settings(k):
    k.mixed_precision.set_global_policy("mixed_float16")
    try:
        model = k.Sequential([k.Input((8,)), k.layers.Dense(16), k.layers.Dense(3)])
    finally:
        k.mixed_precision.set_global_policy("float32")
    step = step_of_model(model, Options(batch=4))
    assert step.facts["dtype policy"] == "mixed_float16"
    assert step.facts["optimizer"].startswith("LossScaleOptimizer")
    assert shapes(step.args[1]) == ("float32", (4, 3)), "labels keep the user's precision"
    model = classifier(k)
    model.compile("adam", "mse", steps_per_execution=4)
    notes = step_of_model(model, Options(batch=4)).notes
    assert "steps_per_execution=4: the figures are those of 4 steps in one call." in notes
    model.compile("adam", "mse", run_eagerly=True)
    assert any("run_eagerly=True" in note for note in step_of_model(model, Options(batch=4)).notes)


def test_a_fixed_batch_is_not_overruled(k):
    model = k.Sequential([k.Input(batch_shape=(4, 8)), k.layers.Dense(2)])
    assert step_of_model(model, Options()).batch == 4
    with pytest.raises(TargetError, match="--batch 5: input 'x' has a batch size of 4, which is fixed"):
        step_of_model(model, Options(batch=5))


def test_errors_name_what_is_wrong(k):
    class Broken(k.Model):
        def call(self, x):
            raise RuntimeError("no such luck")

    with pytest.raises(UserCodeError, match=r"test_keras_models.py line \d+ raised RuntimeError"):
        step_of_model(Broken(), Options(inputs=("x:float32:2x3",)), live=False)
    with pytest.raises(TargetError, match="no step 'fit'"):
        step_of_model(classifier(k), Options(kind="fit", batch=1))
    with pytest.raises(TargetError, match="is no Keras model"):
        step_of_model(3, Options(), target="three")
