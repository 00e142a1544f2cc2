"""What users get wrong, through the command line: one sentence, the right exit code, nothing half-written.

Every failure must keep stdout empty, end stderr with the only sentence of graphmem's, show no line but the user's,
and leave the folder as it was.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from graphmem.cli.main import main
from tests.cli.conftest import Outcome

pytestmark = [pytest.mark.cli, pytest.mark.tf]

MODEL = """
import keras
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32), keras.layers.Dense(4)])
model.compile(optimizer="adam", loss="mse")
"""
OTHER = "other = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])\n"
SUBCLASSED = """
import os, signal, threading
import keras, numpy as np
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(3)
    def call(self, x):
        y = self.dense(x)
        {call}
        return y
    def train_step(self, data):
        {train_step}
        return super().train_step(data)
net = Net()
net.compile(loss="mse", optimizer="sgd")
"""
STEP = """
import tensorflow as tf
v = tf.Variable(tf.ones((4, 4)))
@tf.function(input_signature=[tf.TensorSpec((8, 4), tf.float32)])
def train_step(x):
    {body}
    v.assign_add(tf.matmul(x, x, transpose_a=True))
    return y
"""
FIT = MODEL + "import numpy as np\nmodel.fit(np.zeros(({samples}, {width}), 'float32'), np.zeros(({labels}, 4)))\n"
INTERRUPT = "threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()"
FILES = {
    "model.py": MODEL,
    "plain.py": MODEL.replace("model.compile", "# "),
    "several.py": MODEL.replace("model", "one") + OTHER,
    "two_inputs.py": """
        import keras
        a, b = keras.Input((8,), name="a"), keras.Input((None, 4), name="seq")
        x = keras.layers.Concatenate()([a, keras.layers.GlobalAveragePooling1D()(b)])
        model = keras.Model([a, b], keras.layers.Dense(2)(x))
        model.compile(loss="mse")
    """,
    "unbuilt.py": 'import keras\nmodel = keras.Sequential([keras.layers.Dense(4)])\nmodel.compile(loss="mse")\n',
    "nothing.py": "x = 1\n",
    "empty.py": "",
    "syntax.py": "import keras\ndef f(:\n    pass\n",
    "nulls.py": "x = 1\0\n",
    "raises.py": "def helper():\n    raise ValueError('no data here')\n\nhelper()\n",
    "lines.py": "raise ValueError('first\\nsecond')\n",
    "base.py": "raise BaseException('odd')\n",
    "recursion.py": "def f():\n    return f()\nf()\n",
    "factory.py": MODEL + "def build(width=2):\n    return {}['w']\ndef need(width):\n    return model\nthing = 3\n",
    "call.py": SUBCLASSED.format(call="y.nonsense", train_step="pass"),
    "numpy_call.py": SUBCLASSED.format(call="y = np.array(y) * 2", train_step="pass"),
    "train_step.py": SUBCLASSED.format(call="pass", train_step='raise RuntimeError("not ready")'),
    "endless_call.py": SUBCLASSED.format(call=f"{INTERRUPT}\n        while True: pass", train_step="pass"),
    "endless_step.py": SUBCLASSED.format(call="pass", train_step=f"{INTERRUPT}\n        while True: pass"),
    "endless.py": f"""
        import os, signal, threading
        {INTERRUPT}
        while True:
            try:
                x = 1
            except Exception:
                pass
    """,
    "leaves.py": "import sys\nprint('usage: leaves.py DATA')\nsys.exit(2)\n",
    "leaves_well.py": "import sys\nsys.exit()\n",
    "arguments.py": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\n"
    "p.parse_args()\n",
    "no_package.py": "import torchvisionx\n",
    "no_file.py": "open('data.npy')\n",
    "no_samples.py": FIT.format(samples=0, width=16, labels=0),
    "uneven.py": FIT.format(samples=8, width=16, labels=7),
    "narrow.py": FIT.format(samples=8, width=15, labels=8),
    "unbatched.py": MODEL + "import tensorflow as tf\nd = tf.data.Dataset\n"
    "model.fit(d.from_tensors((tf.zeros(16), tf.zeros(4))))\n",
    "function.py": "import tensorflow as tf\nw = tf.Variable(tf.ones((4, 4)))\ndef step(x, y):\n"
    "    return tf.matmul(x, w) + y\n",
    "signed.py": STEP.format(body="y = x * 2"),
    "py_function.py": STEP.format(body="y = tf.py_function(lambda t: t * 2, [x], tf.float32)"),
    "masked.py": STEP.format(body="y = tf.boolean_mask(x, x[:, 0] > 0)"),
    "eager.py": MODEL.replace('loss="mse"', 'loss="mse", run_eagerly=True'),
    "text.py": """
        import keras
        words = keras.layers.TextVectorization(output_sequence_length=6, vocabulary=["a", "b"])
        inputs = keras.Input((1,), dtype="string")
        x = keras.layers.Embedding(4, 4)(words(inputs))
        model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(x)))
        model.compile(loss="mse", optimizer="adam")
    """,
    "moves.py": "import os, tempfile\nos.chdir(tempfile.gettempdir())\n" + MODEL,
    "noisy.py": "import sys, warnings\nwarnings.warn('careful')\nprint('out')\nprint('err', file=sys.stderr)\n" + MODEL,
    'it\'s "odd" é:x.py': MODEL,
    "pkg/__init__.py": "",
    "pkg/layers.py": "import keras\nDense = keras.layers.Dense\n",
    "pkg/mod.py": "from .layers import Dense\nimport keras\nnet = keras.Sequential([keras.Input((3,)), Dense(2)])\n",
    "pkg/bad.py": "from .nothing import Dense\n",
    "notes.txt": "notes\n",
    "nb.ipynb": "{}",
    "junk.graphmem": "junk\n",
    "newer.graphmem": 'graphmem-trace {"version": 99}\n',
    "junk.keras": "junk",
    "junk.h5": "junk",
    "folder/readme": "",
    "broken/saved_model.pb": "\x99junk",
    "taken.svg": "mine",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, text in {**FILES, "pyproject.toml": "[tool.graphmem]\norders = 1\nthreads = 2\n"}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    (folder / "latin.py").write_bytes(b"# caf\xe9\n")
    (folder / "dangling.py").symlink_to("gone.py")
    (folder / "link.py").symlink_to("model.py")
    return folder


@pytest.fixture
def run(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    monkeypatch.chdir(project)
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def cli(*argv: str) -> Outcome:
        capfd.readouterr()
        code = main(list(argv))
        return Outcome(code, *capfd.readouterr())

    return cli


def everything(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if "__pycache__" not in path.parts}


def sentence(outcome: Outcome, code: int) -> str:
    """What graphmem says of a failure, after checking all that holds for each."""
    *before, last = outcome.err.splitlines()
    assert (outcome.code, outcome.out) == (code, "")
    assert last.startswith("graphmem: ")
    assert last.endswith((".", "?", "!"))
    assert not any(line.startswith("graphmem") for line in before)
    assert not any(noise in outcome.err for noise in ("Traceback", "site-packages", "\x1b[", "cudart"))
    return last.removeprefix("graphmem: ")


X = ("--input", "x:float32:2x3")
BAD_COMMANDS = [
    ("modell.py", "There is no file 'modell.py'; did you mean 'model.py'"),
    ("gone/model.py", "There is no file 'gone/model.py'"),
    ("dangling.py", "is a link to 'gone.py', which does not exist."),
    ("", "The target is empty"),
    ("-", "stdin"),
    ("folder", "folder is a folder without a saved_model.pb"),
    ("broken", "broken cannot be made into a model"),
    ("notes.txt", "notes.txt is no Python file, saved model"),
    ("nb.ipynb", "save it as a Python file, or call graphmem.analyze(model)"),
    ("junk.graphmem", "is no trace that graphmem wrote, or is damaged"),
    ("newer.graphmem", "newer.graphmem"),
    ("junk.keras", "junk.keras is no Keras model, or is damaged"),
    ("junk.h5", "junk.h5 is no HDF5 file, or is damaged"),
    ("model.py:modle", "There is no 'modle' in model.py; did you mean 'model'?"),
    ("model.py:", "neither a name nor a call with literal arguments"),
    ("factory.py:build(width=x)", "neither a name nor a call with literal arguments, such as build(width=2)."),
    ("factory.py:build(depth=2)", "got an unexpected keyword argument 'depth'"),
    ("factory.py:need()", "missing a required argument: 'width'"),
    ("factory.py:need", "if it builds a model, call it: factory.py:need(width=…)."),
    ("factory.py:thing", "is of type int, and neither a model nor a step."),
    ("factory.py:thing()", "'thing' in factory.py is of type int and cannot be called."),
    ("nothing.py", "nothing.py trains no model, and no model or step in it can be meant."),
    ("empty.py", "empty.py trains no model"),
    ("leaves_well.py", "ended with sys.exit() at line 2, and no model or step in it can be meant."),
    ("several.py", "several.py has several models (one, other); name one, such as several.py:one."),
    ("unbuilt.py", "has not been built and does not say what it reads; describe its input with --input x:DTYPE:SHAPE"),
    ("function.py", "it defines function.py:step, which can be analysed with --input."),
    ("function.py:step", "function.py:step needs its inputs 'x', 'y'"),
    (("function.py:step", "--input", "x:float32:2x4"), "function.py:step needs its input 'y'"),
    (("signed.py", "--input", "x:float32:9x4"), "does not fit the step's own signature, which takes float32 (8, 4)."),
    (("signed.py", "--batch", "16"), "--batch 16: input 'x' has a batch size of 8, which is fixed."),
    ("no_samples.py", "no_samples.py line 6 calls fit() on no samples"),
    ("app:Resnet5", "Keras has no application 'Resnet5'; did you mean 'ResNet50'"),
    ("app:", "'app:'"),
    ("app:VGG16(clases=3)", "unexpected keyword argument 'clases'"),
    ("nopkg.mod:net", "There is no module 'nopkg.mod' here"),
    ("pkg.mod", "if it is a module, say which of its names: pkg.mod:NAME."),
    ("pkg.mod:nett", "There is no 'nett' in pkg.mod; did you mean 'net'?"),
    ("model.py", "The batch size (dimension 0 of input 'x') is not known; give it with --batch N."),
    (("model.py", "--json"), "give it with --batch N."),
    (("two_inputs.py", "--batch", "2"), "Input 'seq' has an open dimension 1 (sequence?); give it with --set seq.1=N."),
    (("two_inputs.py", "--input", "nope:float32:2x8"), "The model has no input 'nope'; its inputs are 'a', 'seq'."),
    (("two_inputs.py", *("--input", "a:float32:2x8") * 2), "--input 'a' is given twice."),
    (("model.py", "--input", "x:float32:2x3x16"), "--input 'x' has the shape 2x3x16, but the model takes ?x16."),
    (("model.py", "--input", "x:float32:2x15"), "--input 'x' has the shape 2x15, but the model takes ?x16."),
    (("model.py", "--input", "x:float32:0x16"), "'0' in '0x16' is no dimension"),
    (("model.py", "--input", "x:floot32:2x16"), "there is no dtype 'floot32'"),
    (("model.py", "--input", "x:string:2x16"), "--input 'x' has the dtype string, but the model takes float32."),
    (("model.py", "--input", "x"), "is not of the form NAME:DTYPE:SHAPE"),
    (("model.py", "--batch", "2", "--set", "nonsense=3"), "--set nonsense: the step has no open dimension and no loop"),
    (("model.py", "--batch", "2", "--set", "nonsense"), "'nonsense' is not NAME=VALUE"),
    (("two_inputs.py", "--batch", "2", "--set", "sequence=0"), "a whole number of 1 or more: sequence=128"),
    (("model.py", "--batch", "0"), "'0' is not a whole number of 1 or more."),
    (("model.py", "--batch", "many"), "'many' is not a whole number of 1 or more."),
    (("model.py", "--batch", "99999999999999999999"), "batch must be a whole number from 1 to 2147483647"),
    (("plain.py", "--batch", "2", "--loss", "nope"), "--loss 'nope' is no Keras loss."),
    (("plain.py", "--batch", "2", "--optimizer", "nope"), "--optimizer 'nope' is no Keras optimizer."),
    (("model.py", "--device", "tpu"), "device must be cpu, gpu, auto, or a card, and no card is called 'tpu'"),
    (("model.py", "--bach", "3"), "no such option '--bach'; did you mean one of: '--batch'"),
    (("model.py", "--width", "10"), "'10' is neither 60 or more columns of text nor the width of a picture"),
    (("model.py", "other.py"), "there is one TARGET, and the arguments of a script come after --."),
    ((), "missing argument 'TARGET'."),
    (("model.py", "-o", "gone/x.svg"), "gone/x.svg cannot be written: there is no folder gone; create it first."),
    (("model.py", "-o", "model.py/x.svg"), "cannot be written"),
    (("model.py", "-o", "/proc/x.svg"), "/proc/x.svg cannot be written"),
    (("model.py", "-o", "x" * 300 + ".svg"), "cannot be written: File name too long; choose another place."),
    (("model.py", "-o", "taken.svg"), "taken.svg exists; choose another name, or pass --force to replace it."),
    (("model.py", "-o", "folder"), "folder"),
    (("model.py", "-o", "x.gif"), "x.gif has the ending .gif, which tells no format; the endings are .svg"),
    (("model.py", "-f", "-o", "model.py"), "model.py has the ending .py, which tells no format"),
    (("model.py", "-o", "x.svg", "-o", "./x.svg"), "is named twice as an output"),
]  # fmt: skip
BAD_CODE = [
    ("syntax.py", "syntax.py line 2 column 7 is not valid Python: invalid syntax.", "def f(:"),
    ("nulls.py", "nulls.py is not valid Python: it contains null bytes.", ""),
    ("latin.py", "latin.py is not valid Python: ", ""),
    ("raises.py", "raises.py line 2 raised ValueError: no data here.", "raise ValueError('no data here')"),
    (("raises.py", "--json"), "raises.py line 2 raised ValueError: no data here.", "helper()"),
    ("lines.py", "lines.py line 1 raised ValueError: first.", "ValueError: first\nsecond"),
    ("base.py", "base.py line 1 raised BaseException: odd.", "raise BaseException"),
    ("recursion.py", "recursion.py line 2 raised RecursionError", "more calls"),
    ("factory.py:build(width=2)", "factory.py line 6 raised KeyError: 'w'.", "return {}['w']"),
    (("call.py", *X), "call.py line 10 raised AttributeError: ", "y.nonsense"),
    (("numpy_call.py", *X), "numpy_call.py line 10 raised NotImplementedError: Cannot convert", "np.array(y)"),
    (("train_step.py", *X), "train_step.py line 13 raised RuntimeError: not ready.", 'raise RuntimeError("not ready")'),
    ("leaves.py", "leaves.py called sys.exit(2) at line 3", "usage: leaves.py DATA"),
    ("arguments.py", "if it needs arguments, give them after --.", "the following arguments are required: --data"),
    ("no_package.py", "no_package.py line 1 needs the package 'torchvisionx', which is not installed here.", "import"),
    ("no_file.py", "no_file.py line 1 raised FileNotFoundError: ", "open('data.npy')"),
    ("pkg/mod.py", "mod.py line 1 imports from its own package; name it as PACKAGE.MODULE:NAME", "from .layers"),
    ("pkg.bad:net", "bad.py line 1 needs the module 'pkg.nothing', which 'pkg' does not have.", "from .nothing"),
    ("uneven.py", "uneven.py line 6 raised ValueError: ", "model.fit("),
    ("narrow.py", "The step cannot be traced: ValueError: Input 0", ""),
    ("unbatched.py", "The step cannot be traced: ValueError: ", ""),
    (("function.py:step", "--input", "x:float32:2x5", "--input", "y:float32:2x4"),
     "function.py line 4 raised ValueError: Dimensions must be equal", "tf.matmul(x, w)"),
]  # fmt: skip


def words(argv: str | tuple[str, ...]) -> tuple[str, ...]:
    return (argv,) if isinstance(argv, str) else argv


@pytest.mark.parametrize(("argv", "said"), BAD_COMMANDS)
def test_a_bad_command_or_target(run: Callable[..., Outcome], project: Path, argv: str, said: str) -> None:
    before = everything(project)
    assert said in sentence(run("peak", *words(argv)), 2)
    assert everything(project) == before


@pytest.mark.parametrize(("argv", "said", "shown"), BAD_CODE)
def test_bad_code_shows_the_users_lines(
    run: Callable[..., Outcome], project: Path, argv: str, said: str, shown: str
) -> None:
    before = everything(project)
    outcome = run("peak", *words(argv), "-o", "peak.svg")
    assert said in sentence(outcome, 3)
    assert shown in outcome.err
    assert outcome.err.count("\n") < 50
    assert everything(project) == before


@pytest.mark.parametrize("argv", ["endless.py", ("endless_call.py", *X), ("endless_step.py", *X)])
def test_an_endless_loop_ends_with_ctrl_c(run: Callable[..., Outcome], project: Path, argv: str) -> None:
    before = everything(project)
    outcome = run("peak", *words(argv), "-o", "peak.svg")
    assert sentence(outcome, 130).startswith("stopped while ")
    assert everything(project) == before


def test_no_temporary_file_is_left(run: Callable[..., Outcome], tmp_path: Path) -> None:
    run("peak", "raises.py")
    assert list(tmp_path.iterdir()) == []


def analysed(outcome: Outcome) -> dict[str, object]:
    assert (outcome.code, outcome.err) == (0, "")
    data: dict[str, object] = json.loads(outcome.out)
    return data


@pytest.mark.parametrize(
    ("target", "named"), [("py_function.py", "EagerPyFunc"), ("masked.py", "boolean_mask"), ("text.py", "")]
)
def test_what_cannot_be_known_makes_it_at_least(run: Callable[..., Outcome], target: str, named: str) -> None:
    data = analysed(run("peak", target, "--json", *(["--batch", "2"] if target == "text.py" else [])))
    assert data["at_least"] is True
    unknown = [*data["unknown_ops"], *data["unknown_sizes"]]  # type: ignore[misc]
    assert unknown
    assert any(named in name for name in unknown)


@pytest.mark.parametrize(
    "target", ["model.py", "link.py", "moves.py", "noisy.py", 'it\'s "odd" é:x.py', 'it\'s "odd" é:x.py:model']
)
def test_odd_names_and_places_say_the_same(run: Callable[..., Outcome], project: Path, target: str) -> None:
    expected = analysed(run("peak", "model.py:model", "--batch", "2", "--json"))
    for name in (target, str(project / target)):
        assert analysed(run("peak", name, "--batch", "2", "--json"))["needed_bytes"] == expected["needed_bytes"]


def test_a_module_of_a_package(run: Callable[..., Outcome]) -> None:
    data = analysed(run("peak", "pkg.mod:net", "--batch", "2", "--step", "predict", "--json"))
    assert (data["step"], data["weight_bytes"]) == ("predict", 4 * (3 * 2 + 2))


def test_a_very_large_batch(run: Callable[..., Outcome]) -> None:
    data = analysed(run("peak", "model.py", "--batch", "1000000000", "--json"))
    assert data["argument_bytes"] == 4 * (16 + 4) * 10**9


def test_run_eagerly_is_traced_and_said(run: Callable[..., Outcome]) -> None:
    outcome = run("peak", "eager.py", "--batch", "2")
    assert outcome.code == 0
    assert "run_eagerly=True" in outcome.out


def graphmem(folder: Path, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A shell line in a process of its own; `gm` stands for graphmem."""
    line = f'set -o pipefail; gm() {{ {sys.executable} -m graphmem "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.mark.parametrize(
    ("target", "environment", "said"),
    [
        ("model.py", {"KERAS_BACKEND": "jax"}, "Keras' backend is jax (KERAS_BACKEND says so)"),
        ("app:ResNet50", {"KERAS_BACKEND": "torch"}, "Keras' backend is torch"),
        ("nothing.py", {"KERAS_BACKEND": "nonsense"}, "Keras' backend is nonsense"),
        ("model.py", {"KERAS_HOME": "home"}, "keras.json says so)"),
    ],
)
def test_another_backend_of_keras(project: Path, target: str, environment: dict[str, str], said: str) -> None:
    (project / "home").mkdir(exist_ok=True)
    (project / "home" / "keras.json").write_text('{"backend": "jax"}')
    environment = {"KERAS_BACKEND": "", **environment}
    done = graphmem(project, f"gm peak {target}", **environment)
    told = sentence(Outcome(done.returncode, done.stdout, done.stderr), 2)
    assert said in told
    assert told.endswith("set KERAS_BACKEND=tensorflow.")


def test_a_reader_that_leaves_is_no_error(project: Path) -> None:
    done = graphmem(project, "gm ops | head -1")
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 1, "")


def test_closed_streams(project: Path) -> None:
    assert graphmem(project, "gm ops MatMul >&-").returncode == 0
    assert graphmem(project, "gm ops MatMul <&-").stderr == ""
    done = graphmem(project, "gm peak gone.py 2>&-")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_told(project: Path) -> None:
    done = graphmem(project, "gm ops MatMul >/dev/full")
    told = sentence(Outcome(done.returncode, done.stdout, done.stderr), 2)
    assert told == "the answer cannot be written to stdout: No space left on device."


def test_plain_characters_for_a_plain_terminal(project: Path) -> None:
    done = graphmem(project, "gm ops ReluGrad", PYTHONIOENCODING="ascii", FORCE_COLOR="1", NO_COLOR="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
