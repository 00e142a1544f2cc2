"""The benchmark of XLA on GPUs, as far as a machine without one goes: arguments, comparison, modules."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import xla_gpu, xla_jax
from benchmarks.xla_gpu import MODULES, MOST_BYTES, OFF, markdown, row_of
from graphmem.xla.proto import parse_module

PREDICTED = {"temp": 1_000_000, "output": 500, "arguments": 2_000_000}
MEASURED = {"device": "NVIDIA H200", "jax": "0.9.1", "temp": 1_000_000, "output": 500, "peak": 3_001_000}


def test_a_row_that_is_exact() -> None:
    row = row_of("mlp", False, PREDICTED, MEASURED)
    assert row.exact
    assert (row.peak, row.peak_measured) == (3_000_500, 3_001_000)
    assert not row_of("mlp", False, PREDICTED, MEASURED | {"temp": 1_000_001}).exact
    assert not row_of("mlp", False, PREDICTED, MEASURED | {"output": 0}).exact


def test_the_table() -> None:
    rows = [
        row_of("mlp", False, PREDICTED, MEASURED),
        row_of("mlp", True, PREDICTED, MEASURED | {"temp": 1_250_000, "output": 600, "peak": None}),
    ]
    head, _, titles, rule, off, on = markdown(rows, "NVIDIA H200", "0.9.1").splitlines()
    assert head.startswith("NVIDIA H200, JAX 0.9.1, training steps of batch 16")
    assert titles.count("|") == rule.count("|") == off.count("|")
    assert off == "| mlp | off | 1.000 | 1.000 | +0.00% | exact | 3.001 | 3.001 | -0.02% |"
    assert on == "| mlp | on | 1.000 | 1.250 | -20.00% | 500 B instead of 600 B | 3.001 | – | – |"


@pytest.mark.parametrize(("temp", "status"), [(1_000_000, 0), (999_999, 1)])
def test_a_run_writes_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], temp: int, status: int
) -> None:
    asked: list[tuple[str, Any]] = []

    def measure(module: Path, autotuned: bool) -> dict[str, Any]:
        asked.append((module.name, autotuned))
        return MEASURED | {"temp": temp}

    def predict(module: Path, card: str) -> dict[str, int]:
        asked.append((module.name, card))
        return PREDICTED

    monkeypatch.setattr(xla_gpu, "measure", measure)
    monkeypatch.setattr(xla_gpu, "predict", predict)
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- xla-gpu: begin -->\nnot yet\n<!-- xla-gpu: end -->\nafter\n")
    assert xla_gpu.main(["run", "mlp", "--write", str(page)]) == status
    assert asked == [("mlp.hlo.pb.gz", False), ("mlp.hlo.pb.gz", True), ("mlp.hlo.pb.gz", "NVIDIA H200")]
    written = page.read_text()
    assert written.startswith("before\n<!-- xla-gpu: begin -->")
    assert written.endswith("<!-- xla-gpu: end -->\nafter\n")
    assert "| mlp | on |" in written
    assert "not yet" not in written
    assert "| mlp | off |" in capsys.readouterr().out


def test_a_card_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cards: list[str] = []
    monkeypatch.setattr(xla_gpu, "measure", lambda module, autotuned: MEASURED)
    monkeypatch.setattr(xla_gpu, "predict", lambda module, card: cards.append(card) or PREDICTED)
    assert xla_gpu.main(["run", "mlp", "--card", "a100"]) == 0
    assert cards == ["a100"]


def test_a_module_that_is_not_there() -> None:
    with pytest.raises(SystemExit, match="There is no nothing; there are cnn, embedding, lstm, mlp"):
        xla_gpu.main(["run", "nothing"])


@pytest.mark.parametrize(("autotuned", "flags"), [(False, f"--xla_foo {OFF}"), (True, "--xla_foo")])
def test_autotuning_is_a_flag_of_the_process(monkeypatch: pytest.MonkeyPatch, autotuned: bool, flags: str) -> None:
    seen: dict[str, Any] = {}

    def run(command: list[str], *, env: dict[str, str], **_: Any) -> Any:
        seen.update(command=command, flags=env["XLA_FLAGS"], preallocate=env["XLA_PYTHON_CLIENT_PREALLOCATE"])
        return SimpleNamespace(returncode=0, stdout=f"hello\n{json.dumps(MEASURED)}\n", stderr="")

    monkeypatch.setenv("XLA_FLAGS", "--xla_foo")
    monkeypatch.setattr(subprocess, "run", run)
    assert xla_gpu.measure(MODULES / "mlp.hlo.pb.gz", autotuned) == MEASURED
    assert (seen["flags"], seen["preallocate"]) == (flags, "false")
    assert seen["command"][1:] == [str(Path(xla_jax.__file__)), str(MODULES / "mlp.hlo.pb.gz")]


def test_what_jax_says_when_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = SimpleNamespace(returncode=1, stdout="", stderr="Traceback\nRuntimeError: no GPU\n")
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: failed)
    with pytest.raises(SystemExit, match=r"JAX could not run mlp.hlo.pb.gz: RuntimeError: no GPU"):
        xla_gpu.measure(MODULES / "mlp.hlo.pb.gz", True)


def test_the_peak_of_a_run() -> None:
    before = {"bytes_in_use": 100, "peak_bytes_in_use": 900}
    assert xla_jax.peak_of_run(before, {"bytes_in_use": 150, "peak_bytes_in_use": 1000}) == 900
    assert xla_jax.peak_of_run(before, {"bytes_in_use": 150, "peak_bytes_in_use": 900}) is None
    assert xla_jax.peak_of_run(None, None) is None


MODULE_FILES = sorted(MODULES.glob("*.hlo.pb.gz"))


def test_there_is_a_module_for_each_model() -> None:
    names = {path.name.partition(".")[0] for path in MODULE_FILES}
    assert names == {"mlp", "cnn", "resnet", "transformer", "lstm", "unet", "vae", "embedding"}


@pytest.mark.parametrize("path", MODULE_FILES, ids=lambda path: path.name.partition(".")[0])
def test_modules_are_small_and_whole(path: Path) -> None:
    content = path.read_bytes()
    assert len(content) <= MOST_BYTES
    data = gzip.decompress(content)
    module = parse_module(data)
    assert len(module.input_output_alias.entries) > 4  # the weights, written over
    assert not any(item.metadata.source_file for part in module.computations for item in part.instructions)
    opcodes = [item.opcode for part in module.computations for item in part.instructions]
    changed = parse_module(xla_jax.without_copies(data))
    plain = [item.opcode for part in changed.computations for item in part.instructions]
    assert "copy" in opcodes
    assert plain == ["reshape" if opcode == "copy" else opcode for opcode in opcodes]


@pytest.mark.tf
def test_an_exported_module_is_what_is_kept() -> None:
    """The model, TensorFlow and Keras may have moved on: sizes of parameters and results stay."""
    code = (
        "import sys; from benchmarks import xla_gpu; "
        "sys.stdout.buffer.write(xla_gpu.hlo_of_target(str(xla_gpu.HERE / 'xla_models.py') + ':embedding'))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, timeout=300, check=True)
    made = parse_module(done.stdout)
    kept = parse_module(gzip.decompress((MODULES / "embedding.hlo.pb.gz").read_bytes()))

    def parameters(module: Any) -> list[tuple[int, ...]]:
        entry = next(part for part in module.computations if part.id == module.entry_computation_id)
        return [tuple(item.shape.dimensions) for item in entry.instructions if item.opcode == "parameter"]

    assert sorted(parameters(made)) == sorted(parameters(kept))
    assert len(made.input_output_alias.entries) == len(kept.input_output_alias.entries)
