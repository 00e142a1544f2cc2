"""`graphmem peak` on each script of `examples/`, as a user runs it, against what TensorFlow's allocator saw.

The measured figures are bytes requested at the step's worst moment: Linux, TensorFlow 2.21, Keras 3.15, two intra-op
threads, oneDNN off, one real step after a first one.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.cli

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Expected:
    """What is known of an example without graphmem.

    Attributes:
        stopped: the start of the note that says which call was taken.
        batch: samples in a step.
        weights: how many numbers the weights are.
        slots: how many numbers the optimizer keeps.
        inputs: bytes of one batch.
        measured: bytes of the step peak; the median where runs differ.
        layers: paths that must be among the scopes.
        optimizer: as the report names it.
        step: "train", or "custom" for a function of the script's own.
        below, above: how far the figure may be off, as shares of what was measured.
    """

    stopped: str
    batch: int
    weights: int
    slots: int
    inputs: int
    measured: int
    layers: tuple[str, ...]
    optimizer: str | None = "Adam"
    step: str = "train"
    below: float = 0.05
    above: float = 0.05
    facts: dict[str, str] = field(default_factory=dict)


KNOWN = {
    "resnet50": Expected(
        "fit()", 32, 25_636_712, 2 * 25_583_592, 32 * (224 * 224 * 3 * 4 + 8), 2_865_072_688,
        ("resnet50/conv2_block1_3_bn", "resnet50/conv5_block3_3_conv"),
    ),
    "mnist_cnn": Expected(
        "fit()", 128, 34_826, 2 * 34_826, 128 * (28 * 28 + 10) * 4, 38_698_160, ("sequential/conv2d_1",),
        facts={"loss": "categorical_crossentropy"},
    ),
    "unet_segmentation": Expected(
        "fit()", 16, 7_768_995, 2 * 7_763_107, 16 * 160 * 160 * (3 * 4 + 1), 1_342_303_044,
        ("unet/concatenate_3", "unet/conv2d_17"),
    ),
    "transformer_text": Expected(
        "fit()", 32, 1_459_330, 2 * 1_459_330, 32 * (200 + 1) * 4, 210_099_700,
        ("functional_2/block_1/multi_head_attention_1/softmax_1", "functional_2/block"), "AdamW",
    ),
    "lstm_text": Expected(
        "fit()", 32, 1_477_761, 2 * 1_477_761, 32 * (200 * 8 + 4), 73_468_455,
        ("sequential/bidirectional/forward_lstm", "sequential/bidirectional_1/backward_lstm_1"), below=0.2, above=0.2,
    ),
    "dcgan": Expected(
        "fit()", 32, 4_384_452, 2 * 4_384_452, 32 * 64 * 64 * 3 * 4, 826_480_748,
        ("generator/conv2d_transpose_2", "discriminator/conv2d_2"), "Adam, Adam",
    ),
    "vae": Expected(
        "fit()", 128, 134_165, 2 * 134_165, 128 * 28 * 28 * 4, 46_503_156, ("encoder/conv2d", "decoder/dense_1"),
    ),
    "custom_loop": Expected(
        "the first call of train_step()", 64, 1_171_108, 1_171_108, 64 * (32 * 32 * 3 * 4 + 8), 103_700_140,
        ("functional/conv2d_5", "functional/scores"), "SGD", "custom",
    ),
    "wide_and_deep": Expected(
        "fit()", 512, 829_268, 2 * 829_260, 512 * (4 * 4 + 3 * 8 + 4 + 4), 13_620_936,
        ("wide_and_deep/employer", "wide_and_deep/hidden_2"), "RMSprop",
    ),
    "legacy_timeseries": Expected(
        "train_on_batch()", 64, 99_713, 2 * 99_713, 64 * (240 * 14 + 1) * 4, 32_766_672, ("weather/conv1d_1",),
        below=0.2,
    ),
    "tf_module": Expected(
        "the first call of train_step()", 128, 3_171_030, 3_171_030, 128 * (64 + 1) * 4, 34_715_992,
        ("next_character/hidden_1",), None, "custom",
    ),
}  # fmt: skip


@functools.cache
def peak(target: str, *options: str) -> tuple[dict[str, Any], int]:
    """The report of a target, and the largest resident memory of any process so far that was started here, in bytes."""
    command = [sys.executable, "-m", "graphmem", "peak", target, "--json", "--threads", "2", *options]
    environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), "an answer, and no noise"
    return json.loads(done.stdout), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def test_every_example_is_known_and_listed() -> None:
    scripts = {path.stem for path in EXAMPLES.glob("*.py")}
    assert scripts == {*KNOWN, "gpt3"}
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for name in scripts:
        assert f"graphmem peak examples/{name}.py" in readme


@pytest.mark.parametrize("name", KNOWN)
def test_example_runs_unmodified(name: str) -> None:
    expected = KNOWN[name]
    report, _ = peak(f"examples/{name}.py")
    assert (report["step"], report["batch"]) == (expected.step, expected.batch)
    assert any(note.startswith(f"Stopped at {expected.stopped} in {name}.py line ") for note in report["notes"])
    assert report["weight_bytes"] == 4 * expected.weights
    assert report["argument_bytes"] == expected.inputs
    assert report["facts"].get("optimizer") == expected.optimizer
    assert expected.facts.items() <= report["facts"].items()
    low, high = 1 - expected.below, 1 + expected.above
    assert low * expected.measured <= report["step_peak_bytes"] <= high * expected.measured
    assert report["naive_sum_bytes"] > 1.5 * report["step_peak_bytes"]
    assert set(expected.layers) <= {row["scope"] for row in report["by_scope"]}
    lines = [line for line in report["by_source"] if line]
    assert all(line.startswith(f"{name}.py:") for line in lines)


@pytest.mark.parametrize("name", list(KNOWN))
def test_optimizer_state_is_what_the_optimizer_keeps(name: str) -> None:
    assert peak(f"examples/{name}.py")[0]["optimizer_bytes"] == 4 * KNOWN[name].slots


def test_a_decoder_as_wide_as_gpt3_needs_no_memory_here() -> None:
    report, resident = peak("examples/gpt3.py:build(blocks=4)", "--batch", "1")
    weights = 4 * (12 * 12288**2 + 13 * 12288) + (50257 + 2048) * 12288 + 2 * 12288
    assert report["weight_bytes"] == 4 * weights
    assert report["optimizer_bytes"] == 8 * weights
    assert report["step_peak_bytes"] > 4 * 96 * 2048 * 2048 * 4, "each block keeps its shares of attention"
    assert resident < 3 << 30 < report["resident_bytes"]
