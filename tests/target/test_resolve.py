"""What a user can name becomes a step: files, names, factories, modules, applications, saved models."""

import importlib
import json
import os
import sys
import textwrap
import zipfile

import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402
import numpy as np  # noqa: E402

from graphmem.errors import TargetError, UserCodeError  # noqa: E402
from graphmem.target import backend  # noqa: E402
from graphmem.target.resolve import resolve  # noqa: E402
from graphmem.target.step import Options  # noqa: E402
from graphmem.target.weightless import weightless  # noqa: E402

pytestmark = pytest.mark.tf

FILES = {
    "one.py": """
        import keras
        from keras import layers as L
        model = keras.Sequential([keras.Input((8,)), L.Dense(16), L.Dense(3, activation="softmax")])
        model.compile("adam", "sparse_categorical_crossentropy")
        nothing = 3

        def build(width=2, depth=1):
            return keras.Sequential([keras.Input((8,)), *(L.Dense(width) for _ in range(depth))])

        def bad():
            raise ValueError("boom")

        def needs(a, b=1):
            return a * b

        def gives_nothing():
            pass

        def several():
            return [build(), build()]

        def fits():
            import numpy as np
            m = build(); m.compile("sgd", "mse")
            m.fit(np.zeros((100, 8)), np.zeros((100, 2)), batch_size=20)
    """,
    "main.py": """
        import numpy as np, keras

        def build_model():
            return keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])

        if __name__ == "__main__":
            m = build_model()
            m.compile("sgd", "mse")
            m.fit(np.zeros((100, 8)), np.zeros((100, 4)), batch_size=25)
    """,
    "guarded.py": """
        import keras

        if __name__ == "__main__":
            net = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
    """,
    "two.py": """
        import keras
        a = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
        b = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
    """,
    "nested.py": """
        import keras
        encoder = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
        whole = keras.Sequential([keras.Input((8,)), encoder, keras.layers.Dense(2)])
    """,
    "factories.py": """
        import keras
        def build_model():
            return keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
        def other():
            pass
    """,
    "many.py": """
        def first(): pass
        def second(): pass
        def _third(): pass
    """,
    "net.py": """
        import keras
        class Net(keras.Model):
            def __init__(self, width=4):
                super().__init__()
                self.dense = keras.layers.Dense(width)
            def call(self, x):
                return self.dense(x)
    """,
    "module.py": """
        import tensorflow as tf

        class Module(tf.Module):
            def __init__(self):
                self.w = tf.Variable(tf.random.normal((8, 4)))

            @tf.function
            def train(self, x, y):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((x @ self.w - y) ** 2)
                self.w.assign_sub(tape.gradient(loss, self.w))
                return loss

        module = Module()

        @tf.function(input_signature=[tf.TensorSpec([None, None, 8])])
        def signed(x):
            return tf.reduce_sum(x @ module.w)

        def pair():
            return module.train, (tf.zeros((5, 8)), tf.zeros((5, 4)))

        def keyed():
            return module.train, {"x": tf.TensorSpec((None, 8)), "y": tf.zeros((5, 4))}

        def plain(x, y):
            return x * y
    """,
    "empty.py": "x = 1\n",
    "syntax.py": "def f(:\n",
    "exits.py": "import sys\nsys.exit(3)\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    return tmp_path


def traced(step):
    with weightless():
        return tf.function(step.function).get_concrete_function(*step.args, **step.kwargs)


def shapes(nest):
    return tf.nest.map_structure(lambda s: (s.dtype.name, tuple(s.shape)), nest)


def refused(target, error=TargetError, **options):
    with pytest.raises(error) as caught:
        resolve(target, Options(**options))
    return str(caught.value)


def test_a_file_with_one_model(folder):
    step = resolve("one.py", Options(batch=4))
    assert step.target == "one.py"
    assert step.notes[0] == "Picked 'model', the only model in one.py."
    assert shapes(step.args) == (("float32", (4, 8)), ("int32", (4,)))
    assert step.user_files == {str(folder / "one.py")}
    assert step.facts["optimizer"] == "Adam"
    traced(step)


def test_names_calls_and_attributes():
    step = resolve("one.py:build(width=3, depth=2)", Options(batch=4))
    assert [tuple(v.shape) for v in step.models[0].trainable_variables] == [(8, 3), (3,), (3, 3), (3,)]
    assert resolve("one.py:build", Options(batch=4)).args[1].shape == (4, 2)
    assert resolve("one.py:build(5)", Options(batch=4)).args[1].shape == (4, 5)
    assert resolve("one.py:model", Options(batch=2, kind="predict")).kind == "predict"


def test_a_factory_that_fits_is_caught():
    step = resolve("one.py:fits", Options())
    assert (step.batch, step.facts["loss"], step.facts["optimizer"]) == (20, "mse", "SGD")
    assert resolve("one.py:fits", Options(batch=6)).args[0].shape == (6, 8)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("one.py:modle", "There is no 'modle' in one.py; did you mean 'model'?"),
        ("one.py:model.nme", "'model' in one.py has no 'nme'; did you mean 'name'?"),
        ("one.py:nothing", "one.py:nothing is of type int, and neither a model nor a step."),
        ("one.py:nothing()", "'nothing' in one.py is of type int and cannot be called."),
        ("one.py:build(wdth=3)", "one.py:build(wdth=3): got an unexpected keyword argument 'wdth'."),
        ("one.py:gives_nothing", "one.py:gives_nothing returns nothing; it is to return a model or (step, args)."),
        ("one.py:needs", "one.py:needs needs its input 'a'; describe each with --input NAME:DTYPE:SHAPE"),
        ("one.py:several", "one.py:several gives several models ('sequential"),
        ("two.py", "two.py has several models (a, b); name one, such as two.py:a."),
        ("many.py", "many.py has several functions that may build a model (first, second); name one, such as many.py:"),
        ("empty.py", "empty.py trains no model, and no model or step in it can be meant."),
        ("nowhere:model", "There is no module 'nowhere' here; write FILE.py:NAME or PACKAGE.MODULE:NAME."),
        ("one.py:model", "The batch size (dimension 0 of input 'x') is not known; give it with --batch N."),
    ],
)
def test_bad_names(target, said):
    assert said in refused(target)


def test_errors_of_the_users_code():
    assert refused("one.py:bad", UserCodeError) == "one.py line 12 raised ValueError: boom."
    assert "is not valid Python" in refused("syntax.py", UserCodeError)
    assert "sys.exit(3) at line 2" in refused("exits.py", UserCodeError)


def test_a_guarded_script_runs_once_as_main():
    step = resolve("main.py", Options())
    assert (step.batch, step.facts["optimizer"]) == (25, "SGD")
    step = resolve("main.py:build_model", Options(batch=3))
    assert step.facts["optimizer"] == "Adam", "named, the guarded part does not run"
    assert resolve("guarded.py", Options(batch=3)).notes[0] == "Picked 'net', the only model in guarded.py."


def test_what_is_picked():
    assert resolve("nested.py", Options(batch=2)).notes[0] == "Picked 'whole', the only model in nested.py."
    assert resolve("factories.py", Options(batch=2)).notes[0] == "Picked build_model() in factories.py."
    step = resolve("net.py", Options(inputs=("x:float32:3x5",)))
    assert step.notes[0] == "Picked Net, the only model class in net.py."
    assert shapes(step.args) == (("float32", (3, 5)), ("float32", (3, 4)))
    step = resolve("module.py", Options(batch=3, dims={"x.1": 2}))
    assert step.notes[0] == "Picked signed(), whose inputs are described, in module.py."


def test_steps_with_arguments():
    step = resolve("module.py:pair", Options())
    assert (step.kind, step.batch, step.framework) == ("custom", 5, "tf")
    assert shapes(step.args) == (("float32", (5, 8)), ("float32", (5, 4)))
    assert all(isinstance(a, tf.TensorSpec) for a in step.args), "the example tensors are let go"
    assert shapes(resolve("module.py:pair", Options(batch=9)).args) == (("float32", (9, 8)), ("float32", (9, 4)))
    step = resolve("module.py:pair", Options(inputs=("y:float16:5x4",)))
    assert step.args[1].dtype == tf.float16
    step = resolve("module.py:keyed", Options(batch=5))
    assert shapes(step.kwargs) == {"x": ("float32", (5, 8)), "y": ("float32", (5, 4))}
    assert len(traced(step).captured_inputs) == 1
    assert "names no argument of the step" in refused("module.py:pair", inputs=("z:float32:1",))
    assert "--loss is for Keras models" in refused("module.py:pair", loss="mse")
    assert "--optimizer is for Keras models" in refused("module.py:pair", optimizer="adam")
    assert "--step test is for Keras models" in refused("module.py:pair", kind="test")


def test_functions_with_described_inputs():
    step = resolve("module.py:module.train", Options(inputs=("x:float32:?x8", "y:float32:?x4"), batch=6))
    assert shapes(step.kwargs) == {"x": ("float32", (6, 8)), "y": ("float32", (6, 4))}
    traced(step)
    step = resolve("module.py:signed", Options(batch=2, dims={"x.1": 5}))
    assert traced(step).inputs[0].shape == (2, 5, 8), "traced for the shapes, not for the open signature"
    step = resolve("module.py:plain", Options(inputs=("a:float32:3", "b:float32:3")))
    assert shapes(step.args) == (("float32", (3,)), ("float32", (3,))), "in order where the names are others"
    assert "needs its inputs 'x', 'y'" in refused("module.py:module.train")
    assert "needs its input 'y'" in refused("module.py:plain", inputs=("x:float32:3",))
    assert "takes 'x', 'y'; --input names 'a', 'b', 'c'" in refused(
        "module.py:plain", inputs=("a:float32:3", "b:float32:3", "c:float32:3")
    )


def test_a_step_knows_its_models_and_optimizers(folder):
    (folder / "step.py").write_text(
        textwrap.dedent("""
        import tensorflow as tf, keras
        def build():
            model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
            optimizer = keras.optimizers.Adam()
            optimizer.build(model.trainable_variables)
            @tf.function
            def step(x):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(model(x))
                weights = model.trainable_variables
                optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
            return step, (tf.zeros((2, 8)),)
    """)
    )
    step = resolve("step.py:build", Options())
    assert [type(o).__name__ for o in step.optimizers] == ["Adam"]
    assert [m.name for m in step.models] == [step.models[0].name]
    facts = {"framework": f"keras {keras.__version__}", "dtype policy": "float32", "optimizer": "Adam"}
    assert (step.framework, step.facts) == ("keras", facts)


def test_a_module(folder):
    (folder / "pkg_graphmem_test").mkdir()
    (folder / "pkg_graphmem_test" / "__init__.py").write_text("")
    (folder / "pkg_graphmem_test" / "nets.py").write_text((folder / "one.py").read_text())
    before = list(sys.path)
    step = resolve("pkg_graphmem_test.nets:build(width=7)", Options(batch=2))
    assert step.args[1].shape == (2, 7)
    assert sys.path == before


def test_applications():
    step = resolve("app:MobileNetV2(input_shape=(32, 32, 3), alpha=0.35, classes=5)", Options(batch=2))
    assert shapes(step.args) == (("float32", (2, 32, 32, 3)), ("int32", (2,)))
    assert "Keras has no application 'ResNt50'; did you mean 'ResNet50'" in refused("app:ResNt50")
    small = "app:VGG16(input_shape=(7, 7, 3))"
    assert f"{small}: Input size must be at least" in refused(small)
    step = resolve("app:VGG16(weights='imagenet')", Options(batch=1))
    assert step.notes[0].startswith("The application is built without its pretrained weights")


@pytest.fixture(params=["keras", "tf_keras"])
def saved(request, folder):
    k = pytest.importorskip(request.param)
    model = k.Sequential([k.Input((None,), dtype="int32"), k.layers.Embedding(2000, 8)])
    model.add(k.layers.GlobalAveragePooling1D())
    model.add(k.layers.Dense(3, activation="softmax"))
    model.compile(k.optimizers.SGD(momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(np.zeros((4, 5)), np.zeros((4,)), verbose=0)
    return k, model


@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_saved_files(saved, ending, monkeypatch):
    k, model = saved
    model.save(f"net.{ending}")
    h5py = importlib.import_module("h5py")
    read = []
    monkeypatch.setattr(h5py.Dataset, "__getitem__", lambda *a: read.append(a))
    step = resolve(f"net.{ending}", Options(batch=2, dims={"sequence": 7}))
    assert read == [], "weights stay in the file"
    assert step.framework == k.__name__
    assert shapes(step.args) == (("int32", (2, 7)), ("int32", (2,)))
    assert (step.facts["optimizer"], step.facts["loss"]) == ("SGD", "sparse_categorical_crossentropy")
    made, saved = ([tuple(v.shape) for v in m.trainable_variables] for m in (step.models[0], model))
    assert made == saved
    assert float(tf.reduce_max(tf.abs(step.models[0].layers[0].embeddings))) == 0.0
    traced(step)
    assert "open dimension 1 (sequence?)" in refused(f"net.{ending}", batch=2)


def test_folders(saved):
    k, model = saved
    model.export("exported")
    step = resolve("exported", Options(batch=2, dims={"sequence": 7}))
    assert step.kind == "predict"
    assert next(iter(shapes(step.kwargs).values()))[1] == (2, 7)
    assert len(traced(step).captured_inputs) == len(model.trainable_variables)
    assert "holds serving functions and no train step" in refused("exported", kind="train")
    if k.__name__ == "tf_keras":
        model.save("folder")
        step = resolve("folder", Options(batch=2, dims={"sequence": 7}))
        assert (step.kind, step.framework, step.facts["optimizer"]) == ("train", "tf_keras", "SGD")
        traced(step)


def test_files_that_cannot_be_models(folder):
    (folder / "junk.keras").write_bytes(b"junk")
    (folder / "junk.h5").write_bytes(b"junk")
    (folder / "junk").mkdir()
    (folder / "junk" / "saved_model.pb").write_bytes(b"junkjunk")
    assert refused("junk.keras") == "junk.keras is no Keras model, or is damaged: File is not a zip file."
    assert refused("junk.h5").startswith("junk.h5 is no HDF5 file, or is damaged:")
    assert refused("junk").startswith("junk cannot be made into a model:")
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.save_weights("w.weights.h5")
    assert "holds weights and no model" in refused("w.weights.h5")
    model.save("cut.keras")
    data = (folder / "cut.keras").read_bytes()
    (folder / "cut.keras").write_bytes(data[: len(data) // 2])
    assert "cut.keras is no Keras model, or is damaged" in refused("cut.keras")
    for config in ('["a"]', "{", "{}", '{"class_name": "Dense", "module": "os", "config": {}}'):
        with zipfile.ZipFile("odd.keras", "w") as archive:
            archive.writestr("config.json", config)
        assert refused("odd.keras", batch=1).startswith("odd.keras ")


def test_a_huge_configuration_is_refused(folder):
    with zipfile.ZipFile("bomb.keras", "w", zipfile.ZIP_DEFLATED) as archive, archive.open("config.json", "w") as file:
        for _ in range(257):
            file.write(b" " * (1 << 20))
    assert os.path.getsize("bomb.keras") < 1 << 20
    assert "a config.json of more than 256 MiB" in refused("bomb.keras")


@pytest.mark.parametrize("ending", ["keras", "h5"])
@pytest.mark.parametrize("name", ["keras", "tf_keras"])
def test_bytecode_is_not_run(name, ending):
    k = pytest.importorskip(name)
    k.Sequential([k.Input((3,)), k.layers.Lambda(lambda x: x * 2), k.layers.Dense(2)]).save(f"net.{ending}")
    assert "has a Lambda layer stored as Python bytecode, which graphmem does not run" in refused(f"net.{ending}")


def test_missing_classes_are_named():
    class Own(keras.layers.Layer):
        def call(self, x):
            return x

    keras.Sequential([keras.Input((3,)), Own(), keras.layers.Dense(2)]).save("net.keras")
    assert refused("net.keras", batch=1) == (
        "net.keras uses 'Own', which is not part of Keras; analyse a Python file that defines it and builds the model: "
        "FILE.py:NAME."
    )


def test_other_backends(monkeypatch, folder):
    for name in [m for m in sys.modules if m == "keras"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    said = r"Keras' backend is jax \(KERAS_BACKEND says so\), .*; set KERAS_BACKEND=tensorflow\."
    with pytest.raises(TargetError, match=said):
        resolve("one.py", Options(batch=1))
    with pytest.raises(TargetError, match=said):
        resolve("app:ResNet50", Options(batch=1))
    monkeypatch.delenv("KERAS_BACKEND")
    monkeypatch.setenv("KERAS_HOME", str(folder))
    (folder / "keras.json").write_text(json.dumps({"backend": "torch"}))
    with pytest.raises(TargetError, match=r"Keras' backend is torch \(.*keras\.json says so\)"):
        backend.check_backend_to_come()
    (folder / "keras.json").write_text("no json")
    backend.check_backend_to_come()
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    (folder / "keras.json").write_text(json.dumps({"backend": "torch"}))
    backend.check_backend_to_come()
