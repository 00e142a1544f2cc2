"""`graphmem verify` around the measurement: options in, refusals, answer, files and exit code out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphmem.errors import CheckFailed, UserCodeError
from graphmem.graph.store import save_trace
from graphmem.measure import machine
from graphmem.measure import verify as verifying
from graphmem.measure.run import Request, Run
from graphmem.ops.machine import l3_cache_bytes
from graphmem.render.verification import verification_text
from graphmem.report.build import build_report
from graphmem.report.report import Report
from graphmem.runtime.simulate import simulate
from graphmem.settings import Settings
from graphmem.target.step import Options
from tests import graphs
from tests.cli.conftest import Outcome, analysis, cli
from tests.measure.examples import AS_PREDICTED, events, run_of

__all__ = ["analysis", "cli"]

GIB = 1 << 30
Cli = Callable[..., Outcome]


class Measured:
    """Stands in for the processes: `runs` are what they measure, `requests` what they were asked."""

    def __init__(self) -> None:
        self.runs: Any = [run_of(AS_PREDICTED)]
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Run:
        self.requests.append(request)
        run = self.runs[min(len(self.requests), len(self.runs)) - 1]
        if isinstance(run, Exception):
            raise run
        return run


def chain_report() -> Report:
    graph = graphs.chain()
    graph.info |= {"target": "model.py", "step": "train", "batch": 8, "versions": {"tensorflow": "2.21.0"}}
    return build_report(simulate(graph, orders=2))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, analysis: Any) -> Measured:
    fake = Measured()
    monkeypatch.setattr(verifying, "measure", fake)
    monkeypatch.setattr(machine, "free_bytes", lambda: 8 * GIB)
    monkeypatch.setattr("tests.cli.conftest.with_timeline", chain_report)
    return fake


@pytest.fixture(autouse=True)
def _no_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS", raising=False)


def test_agreement_is_0(cli: Cli, measured: Measured) -> None:
    done = cli("verify", "model.py", "--threads", "2")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == "agreement: agrees within 1 % (step peak predicted exactly)"
    assert "3 of 3 runs within the range" in done.out
    assert len(measured.requests) == 3


def test_disagreement_is_1(cli: Cli, measured: Measured) -> None:
    measured.runs = [run_of(events(("c", 60)))]
    done = cli("verify", "model.py", "--runs", "1")
    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines()[-1] == "agreement: none: step peak predicted 20 % too low (tolerance 3 %)"
    assert cli("verify", "model.py", "--runs", "1", "--tolerance", "21").code == 0


def test_everything_said_is_asked_of_the_processes(cli: Cli, measured: Measured, analysis: Any) -> None:
    cli(
        *("verify", "model.py", "--batch", "4", "--input", "a:int32:3", "--set", "sequence=128", "--step", "test"),
        *("--loss", "mse", "--optimizer", "sgd", "--threads", "1", "--order", "deterministic", "--orders", "4"),
        *("--runs", "2", "--warmup", "0", "--timeout", "7", "--", "--epochs", "3"),
    )
    options = Options("test", 4, ("a:int32:3",), {"sequence": 128}, "mse", "sgd", ("--epochs", "3"))
    settings = Settings(
        device="cpu", order="deterministic", orders=4, threads=1, l3_bytes=l3_cache_bytes(), allocator="bfc"
    )
    assert analysis.calls == [("model.py", options, settings)]
    assert measured.requests == [Request("model.py", options, 1, "deterministic", 0, 7, 8 * GIB)] * 2


def test_json(cli: Cli, measured: Measured) -> None:
    data = cli("verify", "model.py", "--json").data
    assert (data["agrees"], data["layers"][2]["measured_bytes"], len(data["runs"])) == (True, 48, 3)


def test_the_picture_is_written_once_and_replaced_with_force(cli: Cli, measured: Measured) -> None:
    done = cli("verify", "model.py", "-o", "curve.svg", "-o", "curve.png")
    assert (done.code, done.err) == (0, "Wrote curve.svg\nWrote curve.png\n")
    assert Path("curve.png").read_bytes().startswith(b"\x89PNG")
    requests = len(measured.requests)
    done = cli("verify", "model.py", "-o", "curve.svg")
    assert (done.code, len(measured.requests)) == (2, requests)
    assert "curve.svg exists" in done.err
    assert cli("verify", "model.py", "-o", "curve.svg", "-f").code == 0


def test_an_ending_that_is_no_picture_is_refused_at_once(cli: Cli, measured: Measured) -> None:
    done = cli("verify", "model.py", "-o", "curve.json")
    assert (done.code, measured.requests) == (2, [])
    assert "the endings are .svg, .png, .pdf" in done.err


def test_what_does_not_fit_is_not_run(cli: Cli, measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "free_bytes", lambda: GIB // 2)
    done = cli("verify", "model.py")
    assert (done.code, done.out, measured.requests) == (1, "", [])
    assert done.err.count("\n") == 1
    assert "it needs 52 B as predicted" in done.err
    assert "512 MiB free" in done.err
    assert cli("verify", "model.py", "--force").code == 0
    assert len(measured.requests) == 3


def test_the_highest_of_the_orders_must_fit() -> None:
    report = dataclasses.replace(chain_report(), step_peak_range_bytes=(48, 4 * GIB))
    verifying.check_memory(report, 5 * GIB)
    verifying.check_memory(report, None)
    with pytest.raises(CheckFailed, match=r"needs 4.00 GiB .* has 4.00 GiB free"):
        verifying.check_memory(report, 4 * GIB)


def test_what_the_allocator_makes_of_it_must_fit() -> None:
    report = dataclasses.replace(chain_report(), allocator={"peak_in_use_range_bytes": [2 * GIB, 3 * GIB]})
    with pytest.raises(CheckFailed, match=r"needs 3.00 GiB"):
        verifying.check_memory(report, 3 * GIB)


@pytest.mark.parametrize(("error", "code"), [(CheckFailed("it was killed."), 1), (UserCodeError("it raised."), 3)])
def test_failures_are_one_sentence(cli: Cli, measured: Measured, error: Exception, code: int) -> None:
    measured.runs = [run_of(AS_PREDICTED), error]
    done = cli("verify", "model.py")
    assert (done.code, done.out, done.err) == (code, "", f"graphmem: {error}\n")


def test_a_saved_trace_cannot_be_run(cli: Cli, measured: Measured) -> None:
    save_trace(graphs.chain(), "step.graphmem")
    done = cli("verify", "step.graphmem")
    assert (done.code, measured.requests) == (2, [])
    assert "holds nothing that can be run" in done.err


def test_an_order_of_pyproject_that_cannot_be_run(cli: Cli, measured: Measured) -> None:
    Path("pyproject.toml").write_text('[tool.graphmem]\norder = "graph"\n')
    done = cli("verify", "model.py")
    assert (done.code, measured.requests) == (2, [])
    assert "graph order" in done.err
    assert cli("verify", "model.py", "--order", "default").code == 0


def test_the_run_nearest_to_the_prediction_is_compared(cli: Cli, measured: Measured) -> None:
    measured.runs = [run_of(events(("c", 400))), run_of(AS_PREDICTED), run_of(events(("c", 40)))]
    assert cli("verify", "model.py", "--json").data["tensors"]["run"] == 1


def notes(monkeypatch: pytest.MonkeyPatch, report: Report, onednn: str | None = None) -> str:
    if onednn is not None:
        monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", onednn)
    effort = verifying.Effort(runs=1)
    result = verifying.verify(report, "model.py", Options(), Settings(threads=2), effort, None)
    return " ".join(verification_text(result, width=300).split())


def test_what_would_change_is_said(monkeypatch: pytest.MonkeyPatch, measured: Measured) -> None:
    said = notes(monkeypatch, chain_report())
    assert "Several inter-op threads" in said
    assert "oneDNN was off" in said
    assert "lower bound" not in said
    assert "not built the same way" not in said
    assert "oneDNN was on" in notes(monkeypatch, chain_report(), onednn="1")


def test_a_lower_bound_is_said(monkeypatch: pytest.MonkeyPatch, measured: Measured) -> None:
    report = dataclasses.replace(chain_report(), at_least=True, unknown_ops={"Mystery": 2})
    assert "The prediction is a lower bound, as these are unknown: op Mystery" in notes(monkeypatch, report)


def test_a_target_that_is_built_in_another_way_when_it_runs_is_said(
    monkeypatch: pytest.MonkeyPatch, measured: Measured
) -> None:
    report = dataclasses.replace(chain_report(), step_peak_bytes=480)
    assert "predicted at 48 B instead of 480 B" in notes(monkeypatch, report)
