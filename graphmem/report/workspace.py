"""What cuDNN may take for convolutions besides what the step needs: as counted, as is usual, at most, and at first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphmem.ops.gpu_convolution import tried_first
from graphmem.ops.registry import lookup
from graphmem.runtime.simulate import Simulation
from graphmem.settings import WORKSPACES
from graphmem.units import format_bytes


def conv_workspace(simulation: Simulation) -> dict[str, Any]:
    """cuDNN's workspace in a step on a GPU that runs op by op; empty if the step has no convolution.

    Returns:
        "counted": which of `WORKSPACES` the report counts; "bytes": how much of it is alive at the peak;
        "step_peak_bytes": each of `WORKSPACES` -> the step peak with it (bytes); "first_step_bytes": the step peak of
        the first step, which tries cuDNN's algorithms, workspaces left out.
    """
    graph, env = simulation.graph, simulation.env
    found: dict[int, tuple[dict[str, int], int]] = {}
    modes = {name: replace(env, conv_workspace=name) for name in WORKSPACES}
    for index, op in enumerate(graph.ops if env.device == "gpu" else ()):
        rule = lookup(op.type)
        if op.device == "gpu" and rule is not None and rule.workspace is not None:
            inputs = tuple(graph.ops[producer].outputs[slot] for producer, slot in op.inputs)
            sizes = {name: rule.workspace(op, inputs, mode) for name, mode in modes.items()}
            found[index] = sizes, tried_first(op, inputs)
    places = [place for place, index in enumerate(simulation.schedule.ops) if index in found]
    if not any(found[simulation.schedule.ops[place]][1] for place in places):
        return {}

    def added(sizes: list[int]) -> np.ndarray:
        made: np.ndarray = np.zeros(len(simulation.total), np.int64)
        made[places] = sizes
        return made

    ops = [found[simulation.schedule.ops[place]] for place in places]
    by_name = {name: added([workspaces[name] for workspaces, _ in ops]) for name in WORKSPACES}
    without = simulation.total - by_name[env.conv_workspace]
    return {
        "counted": env.conv_workspace,
        "bytes": int(by_name[env.conv_workspace][simulation.position]),
        "step_peak_bytes": {name: int((without + extra).max()) for name, extra in by_name.items()},
        "first_step_bytes": int((without + added([first for _, first in ops])).max()),
    }


def workspace_notes(found: dict[str, Any]) -> list[str]:
    """What `conv_workspace` found, in sentences."""
    if not found:
        return []
    return [
        f"the first step tries cuDNN's algorithms: its peak is {format_bytes(found['first_step_bytes'])}, besides the "
        "workspaces that it tries"
    ]
