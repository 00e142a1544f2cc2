"""Steps that XLA compiled: what they ask for, block by block, beside a run; by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from graphmem.graph.model import Argument, Variable
from graphmem.measure import verify as verifying
from graphmem.measure.compiled import compare_compiled
from graphmem.measure.events import Event
from graphmem.measure.result import Difference, TypeRow, Verification
from graphmem.measure.run import Request, Run
from graphmem.measure.verify import Effort
from graphmem.render.verification import verification_text
from graphmem.report.build import build_report
from graphmem.runtime.allocators import Exact
from graphmem.runtime.bfc import Bfc
from graphmem.runtime.replay_compiled import replay_compiled
from graphmem.runtime.simulate import Simulation
from graphmem.settings import Settings
from graphmem.target.step import Options
from graphmem.xla.read import read
from graphmem.xla.step import Meaning
from tests.measure.examples import run_of
from tests.xla.modules import training_step

BLOCKS = [4, 16, 1024]
"""What the step asks for: two results and its temporary memory, 1044 bytes."""

TEXT = """\
model.py train step, batch 8: predicted and measured in 2 runs
TensorFlow 2.21.0 on this CPU, compiled by XLA

             predicted  measured  prediction is
  variables      256 B     256 B  exact
  inputs         128 B     128 B  exact
  step peak   1.02 KiB  1.02 KiB  exact
  allocator   2.25 KiB  2.25 KiB  exactly; all in use, as BFC rounds it

What XLA asks for, block by block
3 of 3 measured blocks match to the byte: 100.0 % of the bytes
  for               in both  predicted only  measured only
  temporary memory  1.00 KiB               –              –
  results               20 B               –              –
  step peak         1.02 KiB               –              –

agreement: agrees within 1 % (step peak predicted exactly)
"""


def simulation() -> Simulation:
    meaning = Meaning([Argument("x", "float32", (32,), 128), Variable("kernel", "float32", (64,), 256)])
    info = {"target": "model.py", "step": "train", "batch": 8, "versions": {"tensorflow": "2.21.0"}}
    return read(replace(training_step().compiled(), platform="cpu"), meaning, info)


def asked(sizes: list[int]) -> Run:
    """A run of the step that asks for these blocks, and frees the last one first."""
    made, in_use = [], 768
    for place, size in enumerate(sizes):
        in_use += -(-size // 256) * 256
        made.append(Event(True, place, size, -(-size // 256) * 256, in_use, "__inference_step_7"))
    for place, size in reversed(list(enumerate(sizes))):
        in_use -= -(-size // 256) * 256
        made.append(Event(False, place, size, -(-size // 256) * 256, in_use))
    run = run_of(made)
    return Run(run.replay, None, 256, 128, 0.25, run.versions)


def compared(*runs: Run) -> Verification:
    made = simulation()
    return compare_compiled(build_report(made), made, runs, 0, 0.03, [])


def test_all_blocks_match() -> None:
    result = compared(asked(BLOCKS), asked(BLOCKS))
    assert result.agrees
    assert [(layer.predicted_bytes, layer.measured_bytes) for layer in result.layers] == [
        (256, 256), (128, 128), (1044, 1044),
    ]  # fmt: skip
    tensors = result.tensors
    assert (tensors.matched, tensors.predicted, tensors.measured, tensors.matched_bytes) == (3, 3, 3, 1044)
    assert tensors.by_op_type == [TypeRow("temporary memory", 1024, 0, 0), TypeRow("results", 20, 0, 0)]
    assert tensors.differences == []
    assert tensors.predicted_curve == tensors.measured_curve == [4, 20, 1044]
    assert (result.range_bytes, [run.inside for run in result.runs]) == ((1044, 1044), [True, True])


def test_the_text() -> None:
    lines = [line.split() for line in verification_text(compared(asked(BLOCKS), asked(BLOCKS))).splitlines() if line]
    assert lines == [line.split() for line in TEXT.splitlines() if line]


def test_blocks_that_differ() -> None:
    result = compared(asked([4, 16, 2048, 8]))
    assert not result.agrees
    assert result.tensors.by_op_type == [
        TypeRow("results", 20, 0, 0), TypeRow("(not predicted)", 0, 0, 2056), TypeRow("temporary memory", 0, 1024, 0),
    ]  # fmt: skip
    assert result.tensors.differences == [
        Difference("(not predicted)", "", 2048, 1),
        Difference("temporary memory", "", 1024, -1),
        Difference("(not predicted)", "", 8, 1),
    ]
    text = verification_text(result)
    assert "2 of 4 measured blocks match to the byte" in text
    assert "Op at the peak" not in text
    assert text.splitlines()[-1] == "agreement: none: step peak predicted 50 % too low (tolerance 3 %)"


def test_a_block_is_matched_once() -> None:
    tensors = compared(asked([16, 16, 1024])).tensors
    assert (tensors.matched, tensors.matched_bytes) == (2, 1040)
    assert tensors.differences == [Difference("(not predicted)", "", 16, 1), Difference("results", "", 4, -1)]


def test_json_says_which_runtime_it_was() -> None:
    data = json.loads(json.dumps(compared(asked(BLOCKS)).to_dict()))
    assert (data["runtime"], data["order"], data["tensors"]["matched_share"]) == ("xla", "compiled", 1.0)


def test_the_allocator_is_asked_for_all_blocks_at_once() -> None:
    exact = replay_compiled(simulation(), Exact())
    assert exact.peak.bytes_in_use - exact.base_bytes == 1044
    assert exact.base_bytes == 256 + 128 + 200  # the variable, its handle, the input
    bfc = replay_compiled(simulation(), Bfc())
    assert bfc.peak.bytes_in_use - bfc.base_bytes == 256 + 256 + 1024


def test_the_process_is_told_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[Request] = []

    def measured(request: Request) -> Run:
        requests.append(request)
        return asked(BLOCKS)

    monkeypatch.setattr(verifying, "measure", measured)
    made: Any = simulation()
    made.graph.info["runtime_why"] = "the function has jit_compile=True"
    settings = Settings(device="cpu", threads=2)
    result = verifying.verify(build_report(made), "model.py", Options(), settings, Effort(runs=2), None)
    assert [request.runtime for request in requests] == ["xla", "xla"]
    assert result.notes[0] == "The step ran as XLA compiled it: the function has jit_compile=True."
