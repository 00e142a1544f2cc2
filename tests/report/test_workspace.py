"""What cuDNN may take for convolutions: counted as asked, told for all three ways, left out where memory is short."""

from __future__ import annotations

import pytest

from graphmem.errors import TargetError
from graphmem.graph.model import StepGraph, Tensor, tensor_bytes
from graphmem.ops.gpu_convolution import RED_ZONES
from graphmem.ops.registry import Env
from graphmem.report.build import build_report
from graphmem.report.workspace import conv_workspace, workspace_notes
from graphmem.runtime.allocators import OutOfMemory
from graphmem.runtime.bfc import Bfc
from graphmem.runtime.replay import replay
from graphmem.runtime.simulate import Simulation, simulate
from graphmem.settings import WORKSPACES, Settings
from tests.graphs import Builder

IMAGE, FILTER, OUT = 4 * 2 * 4 * 8 * 8, 4 * 3 * 3 * 4 * 16, 4 * 2 * 16 * 8 * 8


def f32(*shape: int) -> Tensor:
    return Tensor("float32", shape, tensor_bytes("float32", shape))


def step(device: str = "gpu") -> StepGraph:
    """A convolution in NCHW whose result is then squared beside it."""
    build = Builder()
    build.op("image", "RandomUniform", outputs=(f32(2, 4, 8, 8),), device=device)
    build.op("filter", "RandomUniform", outputs=(f32(3, 3, 4, 16),), device=device)
    attrs = {"padding": "SAME", "strides": [1, 1, 1, 1], "data_format": "NCHW"}
    build.op("conv", "Conv2D", ["image", "filter"], outputs=(f32(2, 16, 8, 8),), attrs=attrs, device=device)
    build.op("after", "Identity", ["conv"], outputs=(f32(2, 16, 8, 8),), device=device)
    return build.graph


def simulated(mode: str = "none", **env: object) -> Simulation:
    return simulate(step(), env=Env(device="gpu", conv_workspace=mode, workspace_limit=1 << 20, **env), orders=1)  # type: ignore[arg-type]


NEEDED = IMAGE + FILTER + OUT + FILTER
USUAL = IMAGE + FILTER + OUT


@pytest.mark.parametrize(("mode", "taken"), [("none", 0), ("typical", USUAL), ("limit", 1 << 20)])
def test_what_is_counted_is_in_the_step_peak_and_told(mode: str, taken: int) -> None:
    simulation = simulated(mode)
    assert simulation.peak == NEEDED + taken
    assert conv_workspace(simulation) == {
        "counted": mode,
        "bytes": taken,
        "step_peak_bytes": {"none": NEEDED, "typical": NEEDED + USUAL, "limit": NEEDED + (1 << 20)},
        "first_step_bytes": NEEDED + OUT + 2 * RED_ZONES,
    }


def test_it_is_a_buffer_of_its_own() -> None:
    report = build_report(simulated("typical"))
    assert [(row.tensor, row.role) for row in report.frontier if row.bytes == USUAL] == [
        ("conv (cuDNN workspace)", "scratch")
    ]
    assert report.by_role["scratch"] == FILTER + USUAL
    assert report.dag.nodes["conv:workspace"]["bytes"] == USUAL
    assert report.from_dict(report.to_dict()).conv_workspace == report.conv_workspace


def test_the_first_step_is_noted() -> None:
    (note,) = workspace_notes(conv_workspace(simulated()))
    assert "first step" in note
    assert "32.0 MiB" in note


def test_there_is_none_on_the_cpu_or_without_convolutions() -> None:
    assert conv_workspace(simulate(step("cpu"), env=Env(), orders=1)) == {}
    build = Builder()
    build.op("one", "RandomUniform", writes=64, device="gpu")
    assert conv_workspace(simulate(build.graph, env=Env(device="gpu"), orders=1)) == {}
    assert workspace_notes({}) == []


def test_only_the_three_are_known() -> None:
    assert [Settings(conv_workspace=mode).conv_workspace for mode in WORKSPACES] == ["none", "typical", "limit"]
    with pytest.raises(TargetError, match="conv_workspace"):
        Settings(conv_workspace="much")


def test_an_allocator_that_is_short_goes_without() -> None:
    limit = 1 << 16
    assert limit > NEEDED
    found = replay(simulated("limit"), Bfc(limit=limit, growth=False))
    assert found.fails is None
    assert found.peak.bytes_in_use <= limit
    with pytest.raises(OutOfMemory):
        Bfc(limit=limit, growth=False).alloc(0, 1 << 20)
