"""What graphmem says that making a variable takes, against TensorFlow's own allocator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from graphmem.runtime.making import FREED, HANDLE_BYTES, requests
from tests.measure import initial_values
from tests.measure.initial_values import CASES, SHAPES

pytestmark = pytest.mark.tf

LARGE = 1000
"""Bytes; what is smaller, seeds, shapes and diagonals, takes one chunk each for a moment and is not compared."""


@pytest.fixture(scope="module")
def measured() -> dict[str, list[int]]:
    environment = {**os.environ, "TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_ENABLE_ONEDNN_OPTS": "0"}
    environment |= {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", initial_values.__name__]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[int]] = json.loads(done.stdout.splitlines()[-1])
    return found


def moments(sizes: Iterable[int]) -> list[list[int]]:
    """What is freed between two requests, in any order, and each request."""
    found: list[list[int]] = [[]]
    for size in sizes:
        if abs(size) >= LARGE:
            found += [[size], []] if size > 0 else []
            if size < 0:
                found[-1].append(size)
    return [sorted(moment) for moment in found]


@pytest.mark.parametrize("form", SHAPES)
@pytest.mark.parametrize("name", CASES)
def test_making_a_variable_asks_for_what_is_measured(name: str, form: str, measured: dict[str, list[int]]) -> None:
    shape = SHAPES[form]
    nbytes = 4 * shape[0] * shape[1]
    held: dict[str, int] = {}
    said = []
    for what, size in requests(CASES[name], nbytes, shape):
        said.append(-held.pop(what) if size == FREED else held.setdefault(what, size))
    assert held == {"value": nbytes}
    found = measured[f"{name} {form}"]
    assert moments(said) == moments(found)
    assert sum(found) == nbytes + HANDLE_BYTES
