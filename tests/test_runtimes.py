"""A step on the runtime that would run it: chosen, compiled by TensorFlow's own XLA for the CPU, saved, compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import graphmem
from graphmem.cli.main import main
from graphmem.errors import TargetError, UserCodeError
from graphmem.render.output import write_reports

pytestmark = pytest.mark.tf

FILE = """
import keras
import tensorflow as tf

def net(jit=True):
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(256, "relu", name="wide"),
                              keras.layers.Dense(10, name="scores")])
    model.compile("sgd", "mse", jit_compile=jit)
    return model

@tf.function(jit_compile=True)
def texts(x):
    return tf.strings.to_number(tf.strings.as_string(x))
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("runtimes") / "net.py"
    path.write_text(FILE)
    return str(path)


@pytest.fixture(scope="module")
def compiled(file: str) -> Any:
    return graphmem.analyze(f"{file}:net", batch=32, device="cpu")


def test_a_step_that_asks_for_xla_is_compiled(compiled: Any) -> None:
    assert compiled.runtime == "xla"
    assert compiled.runtime_reason == "the model was compiled with jit_compile=True"
    assert compiled.weight_bytes == 4 * (64 * 256 + 256 + 256 * 10 + 10)
    assert compiled.argument_bytes == 4 * 32 * (64 + 10)
    assert compiled.allocator["temp_bytes"] >= compiled.step_peak_bytes > 0


@pytest.mark.parametrize("runtime", ["graph", "xla"])
def test_it_is_known_how_the_variables_of_either_were_made(runtime: str, file: str) -> None:
    graph = graphmem.analyze(f"{file}:net", batch=32, device="cpu", runtime=runtime).simulation.graph
    made = [(graph.variables[one.variable].nbytes, one.how) for one in graph.made if one.variable >= 0]
    wide, scores = 4 * 64 * 256, 4 * 256 * 10
    assert made[:4] == [(wide, "drawn"), (4 * 256, "filled"), (scores, "drawn"), (4 * 10, "filled")]


def test_the_same_step_can_be_shown_op_by_op(file: str) -> None:
    report = graphmem.analyze(f"{file}:net", batch=32, device="cpu", runtime="graph")
    assert (report.runtime, report.runtime_reason) == ("graph", "")


def test_a_saved_trace_of_it_needs_no_compiler(compiled: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "net.graphmem")
    write_reports(compiled, [path])
    again = graphmem.analyze(path)
    assert again == compiled
    with pytest.raises(TargetError, match="--runtime"):
        graphmem.analyze(path, runtime="graph")


def test_a_limit_is_held_against_what_xla_asks_for(file: str) -> None:
    needed = graphmem.analyze(f"{file}:net", batch=32, device="cpu", memory=1 << 30)
    assert needed.allocator["fails"] is None
    peak = needed.allocator["peak_in_use_bytes"]
    tight = graphmem.analyze(f"{file}:net", batch=32, device="cpu", memory=peak - 1)
    assert tight.allocator["fails"]["requested_bytes"] == tight.allocator["temp_bytes"]
    assert any("are not enough" in note for note in tight.notes)


def test_what_xla_cannot_compile_is_shown_op_by_op_unless_xla_was_asked_for(file: str) -> None:
    report = graphmem.analyze(f"{file}:texts", inputs=("x:float32:8",), device="cpu")
    assert report.runtime == "graph"
    assert report.runtime_reason.startswith("XLA, which the step asks for, does not do:")
    with pytest.raises(UserCodeError, match="XLA cannot compile"):
        graphmem.analyze(f"{file}:texts", inputs=("x:float32:8",), device="cpu", runtime="xla")


def test_both_runtimes_side_by_side(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["peak", f"{file}:net", "--batch", "32", "--device", "cpu", "--runtime", "both"]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {told["graph"]["runtime"], told["xla"]["runtime"]} == {"graph", "xla"}
    least = min(("graph", "xla"), key=lambda name: told[name]["needed_bytes"])
    assert told["needs_less"] == least
    assert main([*command, "--width", "80"]) == 0
    text = capsys.readouterr().out
    assert "op by op" in text
    assert "step peak" in text
    assert max(map(len, text.splitlines())) <= 80
    assert main([*command, "-o", "x.svg"]) == 2
