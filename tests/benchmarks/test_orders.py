"""With the addresses that a process had, graphmem's order of a step is TensorFlow's, op by op."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import orders

CASES = """
import tensorflow as tf
from keras import Sequential, layers


def _step(model, x, y):
    model.compile("adam", "mse", jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    return tf.function(lambda x, y: model.train_step((x, y))), (x, y)


def dense():
    return _step(Sequential([layers.Input((8,)), *(layers.Dense(16, "relu") for _ in range(6)), layers.Dense(1)]),
                 tf.ones((4, 8)), tf.ones((4, 1)))


def recurrent():
    return _step(Sequential([layers.Input((12, 4)), layers.LSTM(8, return_sequences=True), layers.GRU(8)]),
                 tf.ones((4, 12, 4)), tf.ones((4, 8)))
"""


@pytest.mark.tf
@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
@pytest.mark.parametrize("order", ["default", "deterministic"])
def test_order_and_peak_are_those_of_the_process(tmp_path: Path, order: str) -> None:
    cases = tmp_path / "cases.py"
    cases.write_text(CASES)
    command = [sys.executable, orders.__file__, "--cases", str(cases), "--order", order, "--jobs", "2"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.count("same order") == done.stdout.count("+0.00%") == 2, done.stdout + done.stderr
    assert done.returncode == 0


def test_the_graph_of_the_executor_is_the_last_one_of_so_many_edges() -> None:
    lines = [(1, 0, 100), (1, 1, 132), (2, 0, 500), (1, 0, 200), (2, 1, 532), (1, 1, 232), (2, 2, 564)]
    edges = b"".join(struct.pack("QQQ", *line) for line in lines)
    assert orders._addresses(edges, 2) == [200, 232]
    assert orders._addresses(edges, 3) == [500, 532, 564]
    with pytest.raises(SystemExit, match="no graph of 7 edges; the largest have 2, 3"):
        orders._addresses(edges, 7)


def test_what_differs_has_a_line() -> None:
    same = orders.Row("a", 10, 10, 0, 1_000_000, 1_000_000)
    other = orders.Row("b/mixed", 20, 5, 3, 1_100_000, 1_000_000)
    assert orders.row_text(same).split() == "a 10 ops same order predicted 1.000 measured 1.000 +0.00%".split()
    assert "differs at op 5, 3 ops of another branch" in orders.row_text(other)
    page = orders.markdown([same, other])
    assert "| all | 2 | 30 | 1 | 1 | +10.00% |" in page
    assert "| b/mixed | 20 | 5 | 3 | 1.100 | 1.000 | +10.00% |" in page
    assert "| a |" not in page
