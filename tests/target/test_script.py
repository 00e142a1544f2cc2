"""Scripts of many kinds are run to the call that would train, and no further."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap

import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402
import numpy as np  # noqa: E402

from graphmem.errors import TargetError, UserCodeError  # noqa: E402
from graphmem.target.script import run_file, step_of_catch  # noqa: E402
from graphmem.target.step import Options  # noqa: E402
from graphmem.target.weightless import weightless  # noqa: E402

pytestmark = pytest.mark.tf

MODEL = """
    import sys
    import numpy as np, tensorflow as tf, keras
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    before = [v.numpy() for v in model.weights]
    x, y = np.ones((100, 8)), np.ones((100, 2))
"""
LOOP = """
    import tensorflow as tf, keras
    dense = keras.layers.Dense(2)
    model = keras.Sequential([keras.Input((8,)), dense])
    optimizer = keras.optimizers.Adam()
    data = tf.data.Dataset.from_tensor_slices((tf.ones((64, 8)), tf.ones((64, 2)))).batch(16)
    before = [v.numpy() for v in model.weights]
    def update(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss
"""


@pytest.fixture
def run(tmp_path):
    def run(*parts, argv=(), as_main=True, kind=None, name="model.py"):
        path = tmp_path / name
        path.write_text("".join(textwrap.dedent(part) for part in parts))
        return run_file(str(path), argv, as_main=as_main, kind=kind)

    return run


def unchanged(ran):
    """Whether the model of the script has the weights that it had before."""
    after = [v.numpy() for v in ran.namespace["model"].weights]
    return all(np.array_equal(a, b) for a, b in zip(ran.namespace["before"], after, strict=True))


def specs(caught):
    return [(tuple(s.shape), s.dtype.name) for s in tf.nest.flatten(caught.data.data) if s is not None]


def test_fit_on_arrays_is_caught_and_the_script_ends_there(run):
    ran = run(MODEL, "model.fit(x, y, batch_size=20, epochs=3)\nreached = True\n")
    caught = ran.caught
    assert (caught.name, caught.kind, caught.where, caught.framework) == ("fit", "train", "model.py line 8", "keras")
    assert caught.models == [ran.namespace["model"]]
    assert specs(caught) == [((20, 8), "float32"), ((20, 2), "float32")]
    assert caught.data.batch == 20
    assert caught.notes == ["Stopped at fit() in model.py line 8; nothing was run."]
    assert "reached" not in ran.namespace
    assert unchanged(ran)


def test_a_guarded_script_is_caught_only_as_main(run):
    guarded = 'def main():\n    model.fit(x, y)\nif __name__ == "__main__":\n    main()\n'
    assert run(MODEL, guarded).caught.where == "model.py line 9"
    assert run(MODEL, guarded, as_main=False).caught is None


def test_except_exception_does_not_keep_the_stop(run):
    ran = run(MODEL, """
        def train():
            try:
                model.fit(x, y)
            except Exception:
                return "swallowed"
        result = train()
    """)  # fmt: skip
    assert ran.caught.name == "fit"
    assert "result" not in ran.namespace


def test_a_bare_except_and_finally_do_not_lose_the_call(run, tmp_path):
    ran = run(MODEL, f"""
        try:
            try:
                model.fit(x, y, batch_size=10)
            except:
                pass
            finally:
                model.save({str(tmp_path / "model.keras")!r})
                model.save_weights({str(tmp_path / "model.weights.h5")!r})
            model.evaluate(x, y, batch_size=50)
        except BaseException:
            done = True
    """)  # fmt: skip
    assert ran.caught.name == "fit"
    assert ran.caught.data.batch == 10
    assert ran.namespace["done"]
    assert os.listdir(tmp_path) == ["model.py"]


def test_a_loop_over_train_on_batch_is_caught_at_its_first_step(run):
    ran = run(MODEL, "for i in range(5):\n    count = i\n    model.train_on_batch(x[:12], y[:12])\n")
    assert ran.caught.name == "train_on_batch"
    # Keras 3 casts nothing here: NumPy's float64 goes into the step.
    assert specs(ran.caught) == [((12, 8), "float64"), ((12, 2), "float64")]
    assert ran.namespace["count"] == 0
    assert unchanged(ran)


@pytest.mark.parametrize(
    ("data", "shapes"),
    [
        ("tf.data.Dataset.from_tensor_slices((x, y)).shuffle(9).batch(25).prefetch(1)", [(25, 8), (25, 2)]),
        ("((x[:5], y[:5]) for _ in range(9))", [(5, 8), (5, 2)]),
        ("Batches()", [(6, 8), (6, 2)]),
    ],
    ids=["tf.data", "generator", "PyDataset"],
)
def test_fit_on_other_data_is_caught(run, data, shapes):
    ran = run(MODEL, f"""
        class Batches(keras.utils.PyDataset):
            def __len__(self):
                return 3
            def __getitem__(self, index):
                return x[:6], y[:6]
        model.fit({data}, epochs=2)
    """)  # fmt: skip
    assert [shape for shape, _ in specs(ran.caught)] == shapes
    assert ran.caught.data.batch == shapes[0][0]


def test_data_of_an_open_file_is_read_before_it_is_closed(run):
    ran = run(MODEL, """
        class File:
            closed = False
            def __enter__(self): return self
            def __exit__(self, *_): self.closed = True
            def rows(self):
                while True:
                    if self.closed: raise ValueError("read of a closed file")
                    yield x[:7], y[:7]
        with File() as file:
            model.fit(file.rows(), steps_per_epoch=2)
    """)  # fmt: skip
    assert ran.caught.data.batch == 7


def test_a_subclass_with_its_own_train_step_or_its_own_fit_is_caught(run):
    source = """
        class Mine(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = keras.layers.Dense(2)
            def call(self, x):
                return self.dense(x)
            def train_step(self, data):
                raise AssertionError("a step was run")
            def fit(self, *args, **kwargs):
                return super().fit(*args, batch_size=9, **kwargs)
        mine = Mine()
        mine.compile("adam", "mse")
        mine.fit(x, y)
    """
    ran = run(MODEL, source)
    assert type(ran.caught.models[0]).__name__ == "Mine"
    assert ran.caught.data.batch == 9


def test_an_unmodified_custom_loop_is_caught_at_the_first_call_of_its_step(run):
    ran = run(LOOP, """
        @tf.function
        def augment(x):
            return x + tf.random.normal(tf.shape(x))
        @tf.function
        def train_step(x, y, scale):
            return update(x, y)
        augmented = 0
        for epoch in range(3):
            for x, y in data:
                x = augment(x)
                augmented += 1
                train_step(x, y, scale=2)
    """)  # fmt: skip
    caught, names = ran.caught, ran.namespace
    assert (caught.name, caught.kind, caught.framework) == ("train_step", "custom", "keras")
    assert caught.where == "model.py line 26"
    assert caught.function is names["train_step"]
    assert [(tuple(a.shape), a.dtype) for a in caught.args] == [((16, 8), tf.float32), ((16, 2), tf.float32)]
    assert caught.kwargs == {"scale": 2}
    assert caught.models == [names["model"]]
    assert caught.optimizers == [names["optimizer"]]
    assert names["augmented"] == 1
    assert unchanged(ran)


def test_a_step_inside_another_function_is_caught_with_the_outer_one(run):
    ran = run(LOOP, """
        inner = tf.function(update)
        @tf.function
        def epoch(data):
            for x, y in data:
                inner(x, y)
        epoch(data)
    """)  # fmt: skip
    assert ran.caught.name == "epoch"
    assert ran.caught.args == (ran.namespace["data"],)
    assert unchanged(ran)


def test_a_method_that_makes_its_variables_when_first_called_is_caught(run):
    ran = run("""
        import tensorflow as tf
        class Trainer(tf.Module):
            def __init__(self):
                self.w = None
            @tf.function(input_signature=[tf.TensorSpec([None, 3])])
            def train_step(self, x):
                if self.w is None:
                    self.w = tf.Variable(tf.ones([3, 2]))
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(x @ self.w)
                self.w.assign_sub(tape.gradient(loss, self.w))
        def main():
            trainer = Trainer()
            while True:
                trainer.train_step(tf.ones([5, 3]))
        main()
    """)  # fmt: skip
    assert (ran.caught.name, ran.caught.framework) == ("train_step", "tf")
    assert [tuple(a.shape) for a in ran.caught.args] == [(5, 3)]


def test_functions_that_do_not_train_run_as_always(run):
    ran = run(LOOP, """
        metric = keras.metrics.Mean()
        @tf.function
        def score(x):
            metric.update_state(model(x))
            return tf.reduce_sum(x)
        total = float(score(tf.ones([2, 8])))
    """)  # fmt: skip
    assert ran.caught is None
    assert ran.namespace["total"] == 16.0


def test_a_function_that_only_copies_weights_is_not_run_and_not_the_target(run):
    source = """
        copy = keras.models.clone_model(model)
        @tf.function
        def synchronise():
            for a, b in zip(copy.trainable_variables, model.trainable_variables):
                a.assign(b)
        old = [v.numpy() for v in copy.weights]
        synchronise()
        same = all((a == v.numpy()).all() for a, v in zip(old, copy.weights))
    """
    ran = run(LOOP, source, "step = tf.function(update)\nfor x, y in data:\n    step(x, y)\n")
    assert ran.namespace["same"]
    assert ran.caught.name == "update"
    assert run(LOOP, source).caught.name == "synchronise"


@pytest.mark.parametrize(
    "update",
    ["optimizer.apply_gradients([(gradient, w)])", "optimizer.apply([gradient], [w])", "w.assign_sub(gradient)"],
)
def test_an_eager_loop_is_refused(run, update):
    with pytest.raises(UserCodeError) as caught:
        run(f"""
            import tensorflow as tf, keras
            w = tf.Variable([1.0, 2.0])
            optimizer = keras.optimizers.SGD()
            for i in range(3):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(w * w)
                gradient = tape.gradient(loss, w)
                {update}
        """)  # fmt: skip
    assert str(caught.value).startswith("model.py line 9 trains eagerly, outside any tf.function,")


@pytest.mark.parametrize(("kind", "name", "batch"), [("train", "fit", 10), ("test", "fit", 30), ("predict", "fit", 10)])
def test_fit_tells_the_data_of_every_kind_of_step(run, kind, name, batch):
    fit = "model.fit(x, y, batch_size=10, validation_data=(x[:50], y[:50]), validation_batch_size=30)\n"
    ran = run(MODEL, fit, kind=kind)
    assert (ran.caught.name, ran.caught.data.batch) == (name, batch)
    assert len(specs(ran.caught)) == (1 if kind == "predict" else 2)


def test_predict_before_fit(run):
    script = "first = model.predict(x, batch_size=4)\nmodel.fit(x, y)\n"
    ran = run(MODEL, script)
    assert (ran.caught.name, ran.caught.kind, ran.caught.data.batch) == ("predict", "predict", 4)
    assert ran.caught.notes[1].startswith("predict() is the first such call of the script; for a training step name")
    with pytest.raises(TargetError, match=r"model.py line 8 calls predict\(\) before the train step .*model.py:model"):
        run(MODEL, script, kind="train")


def test_fit_without_compile_raises_as_in_keras(run):
    with pytest.raises(UserCodeError, match=r"model.py line 9 raised ValueError: You must call `compile\(\)`"):
        run(MODEL, "free = keras.Sequential([keras.layers.Dense(2)])\nfree.fit(x, y)\n")


def test_wrong_arguments_of_fit_raise_at_the_users_line(run):
    with pytest.raises(UserCodeError, match=r"model\.py line 8 raised TypeError"):
        run(MODEL, "model.fit(x, y, bach_size=3)\n")


def test_a_thread_that_trains_is_caught(run, capfd):
    ran = run(MODEL, """
        import threading
        worker = threading.Thread(target=lambda: model.fit(x, y, batch_size=11))
        worker.start(); worker.join()
    """)  # fmt: skip
    assert ran.caught.data.batch == 11
    assert "Traceback" not in capfd.readouterr().err


def test_no_pretrained_weights_are_fetched_or_read(run):
    ran = run("""
        import keras
        model = keras.applications.MobileNetV2(weights="imagenet", input_shape=(96, 96, 3))
        model.load_weights("no such file.h5")
    """)  # fmt: skip
    assert ran.caught is None
    assert ran.namespace["model"].count_params() == 3_538_984


def test_a_script_that_ends_itself_well_leaves_its_names(run):
    ran = run(MODEL, "def main():\n    return 0\nsys.exit(main())\n")
    assert ran.exited == "sys.exit(0) at line 10"
    assert "model" in ran.namespace


def test_arguments_and_modules_beside_the_script(run, tmp_path):
    (tmp_path / "nets_beside.py").write_text("WIDTH = 7\n")
    ran = run("""
        import sys, pickle, dataclasses
        import nets_beside
        @dataclasses.dataclass
        class Config:
            width: "int" = nets_beside.WIDTH
        copied = pickle.loads(pickle.dumps(Config()))
        argv, path, name = list(sys.argv), sys.path[0], __name__
    """, argv=["--width", "3"])  # fmt: skip
    names = ran.namespace
    assert names["argv"] == [str(tmp_path / "model.py"), "--width", "3"]
    assert (names["path"], names["name"], names["copied"].width) == (str(tmp_path), "__main__", 7)
    assert ran.user_files == {str(tmp_path / "model.py"), str(tmp_path / "nets_beside.py")}
    assert "nets_beside" not in sys.modules


ENDINGS = {
    "fit": ("model.fit(x, y)\n", None),
    "raises": ("raise RuntimeError('stop')\n", UserCodeError),
    "exits": ("sys.exit(5)\n", UserCodeError),
    "ends": ("", None),
    "interrupted": ("raise KeyboardInterrupt\n", KeyboardInterrupt),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_everything_is_as_before_however_the_script_ends(run, ending, capfd):
    def state():
        function = type(tf.function(lambda: 0))
        variable = tf.Variable
        return (
            keras.Model.fit, keras.Model.save, keras.Model.predict, function.__call__, tf.GradientTape.gradient,
            tf.saved_model.save, keras.optimizers.Optimizer.apply, variable.assign, sys.argv, list(sys.path),
            list(sys.meta_path), dict(os.environ), os.getcwd(), sys.stdout, sys.modules["__main__"],
            tf.config.functions_run_eagerly(),
        )  # fmt: skip

    before = state()
    changes = """
        import os, atexit
        os.environ["SOMETHING"] = "1"
        os.chdir("/")
        sys.path.append("/nowhere")
        tf.config.run_functions_eagerly(True)
        atexit.register(print, "at exit")
    """
    source, raises = ENDINGS[ending]
    with pytest.raises(raises) if raises else contextlib.nullcontext():
        run(MODEL, changes, source)
    assert state() == before


def test_what_the_script_prints_goes_to_stderr(run, capfd):
    run("""
        import os
        print("from Python")
        os.write(1, b"from native code")
    """)  # fmt: skip
    print("after")
    out, err = capfd.readouterr()
    assert out == "after\n"
    assert "from Python" in err
    assert "from native code" in err


def test_an_endless_loop_is_stopped_by_ctrl_c(tmp_path):
    script = tmp_path / "model.py"
    script.write_text("import time\nprint('looping', flush=True)\nwhile True:\n    time.sleep(0.05)\n")
    code = textwrap.dedent(f"""
        import keras
        from graphmem.target.script import run_file
        fit = keras.Model.fit
        try:
            run_file({str(script)!r}, as_main=True)
        except KeyboardInterrupt:
            print("interrupted, restored:", keras.Model.fit is fit)
    """)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if "looping" in line:
            break
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert out == "interrupted, restored: True\n"


def in_a_process(tmp_path, source, **environment):
    """What `run_file` catches in a process of its own, as text."""
    script = tmp_path / "model.py"
    script.write_text(textwrap.dedent(source))
    code = textwrap.dedent(f"""
        from graphmem.errors import GraphmemError
        from graphmem.target.script import run_file
        try:
            caught = run_file({str(script)!r}, as_main=True).caught
            print(caught.framework, caught.name, caught.data and caught.data.batch, len(caught.optimizers))
        except GraphmemError as error:
            print(type(error).__name__, error)
    """)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    return done.stdout.strip()


def test_a_script_for_legacy_keras(tmp_path):
    pytest.importorskip("tf_keras")
    source = """
        import numpy as np, tensorflow as tf
        model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        model.compile("adam", "mse")
        model.fit(np.ones((50, 3)), np.ones((50, 2)), batch_size=7)
    """
    assert in_a_process(tmp_path, source, TF_USE_LEGACY_KERAS="1") == "tf_keras fit 7 0"


def test_a_loop_of_legacy_keras(tmp_path):
    pytest.importorskip("tf_keras")
    source = LOOP.replace("import tensorflow as tf, keras", "import tensorflow as tf, tf_keras as keras")
    source += "    step = tf.function(update)\n    for x, y in data:\n        step(x, y)\n"
    assert in_a_process(tmp_path, source) == "tf_keras update None 1"


def test_a_script_that_chooses_another_backend_and_trains_nothing_is_refused(run):
    with pytest.raises(TargetError, match="trains with Keras on jax"):
        run('import os\nos.environ["KERAS_BACKEND"] = "jax"\nimport keras\nmodel = keras.Sequential()\n')


@pytest.mark.parametrize("inside", [True, False], ids=["in the script", "in the environment"])
def test_another_backend_is_refused(tmp_path, inside):
    source = "import numpy as np, keras\nmodel = keras.Sequential([keras.layers.Dense(2)])\n"
    source += 'model.compile("sgd", "mse")\nmodel.fit(np.ones((4, 2)), np.ones((4, 2)))\n'
    if inside:
        source = 'import os\nos.environ["KERAS_BACKEND"] = "jax"\n' + source
    said = in_a_process(tmp_path, source, **({} if inside else {"KERAS_BACKEND": "jax"}))
    assert said == "TargetError this script trains with Keras on jax; graphmem analyses eager TensorFlow 2 only."


# Steps of what was caught.


def inputs(step):
    concrete = tf.function(step.function).get_concrete_function(*step.args, **step.kwargs)
    return [(tuple(t.shape), t.dtype.name) for t in concrete.inputs if t.dtype != tf.resource]


@pytest.fixture
def step_of(run):
    def step_of(*source, options=None):
        options = options or Options()
        with weightless():
            ran = run(*source, kind=options.kind)
            return step_of_catch(ran.caught, options, "model.py")

    return step_of


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (Options(), [((32, 8), "float32"), ((32, 2), "float32"), ((32,), "float32")]),
        (Options(batch=5), [((5, 8), "float32"), ((5, 2), "float32"), ((5,), "float32")]),
        (Options(kind="test", batch=5), [((5, 8), "float32"), ((5, 2), "float32"), ((5,), "float32")]),
        (Options(kind="predict"), [((32, 8), "float32")]),
    ],
)
def test_a_caught_fit_becomes_a_step(step_of, tmp_path, options, expected):
    step = step_of(MODEL, "model.fit(x, y, sample_weight=np.ones(100))\n", options=options)
    assert (step.kind, step.batch, step.framework) == (options.kind or "train", expected[0][0][0], "keras")
    assert inputs(step) == expected
    assert step.target == "model.py"
    assert step.notes[0] == "Stopped at fit() in model.py line 8; nothing was run."
    assert str(tmp_path / "model.py") in step.user_files


def test_the_method_of_an_object_that_main_made_becomes_a_step(step_of):
    step = step_of("""
        import tensorflow as tf
        class Trainer(tf.Module):
            def __init__(self):
                self.w = tf.Variable(tf.ones([3, 2]))
            @tf.function(input_signature=[tf.TensorSpec([None, 3])])
            def train_step(self, x):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(x @ self.w)
                self.w.assign_sub(tape.gradient(loss, self.w))
        def main():
            trainer = Trainer()
            trainer.train_step(tf.ones([5, 3]))
        main()
    """, options=Options(batch=9))  # fmt: skip
    assert (step.kind, step.batch, step.framework) == ("custom", 9, "tf")
    assert inputs(step) == [((9, 3), "float32")]  # not the open shape of the signature


def test_a_layer_that_raises_is_the_users_error(step_of):
    with pytest.raises(UserCodeError, match=r"^model\.py line 11 raised ValueError: in the layer\.$"):
        step_of(MODEL, """
            class Bad(keras.layers.Layer):
                def call(self, x):
                    raise ValueError("in the layer")
            bad = keras.Sequential([Bad()])
            bad.compile("sgd", "mse")
            bad.fit(x, y)
        """)  # fmt: skip
