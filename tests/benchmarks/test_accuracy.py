"""The comparison of predictions with measurements, and the recorder's own arithmetic."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import accuracy
from benchmarks.record import Replay


def allocation(address: int, nbytes: int, op: str = "op", in_use: int = 0) -> dict[str, Any]:
    return {"allocates": True, "addr": address, "requested_bytes": nbytes, "tf_op": op, "bytes_allocated": in_use}


def release(address: int) -> dict[str, Any]:
    return {"allocates": False, "addr": address}


def report(step_peak: int, low: int, high: int, **more: Any) -> dict[str, Any]:
    return {
        "step_peak_bytes": step_peak,
        "step_peak_range_bytes": [low, high],
        "variables_bytes": 40,
        "argument_bytes": 8,
        "at_least": False,
        **more,
    }


def runs(*peaks: int, variables: int = 40) -> list[dict[str, Any]]:
    return [{"step_peak_bytes": peak, "variables_bytes": variables, "argument_bytes": 8} for peak in peaks]


def limits(**changed: Any) -> Any:
    return SimpleNamespace(**{"allow": [], "max_median": 2.0, "max_worst": 8.0, **changed})


def test_replay_finds_the_peak_and_what_was_alive():
    replay = Replay()
    replay.run(
        [
            release(7),  # allocated before the step
            allocation(1, 100, "a", in_use=1256),
            allocation(2, 50, "b", in_use=1512),
            release(1),
            allocation(1, 60, "c", in_use=1512),  # the same address again
            allocation(3, 45, "d", in_use=1768),
            release(2),
            release(1),
        ]
    )
    assert (replay.peak, replay.peak_event["tf_op"]) == (155, "d")
    assert sorted(event["tf_op"] for event in replay.at_peak) == ["b", "c", "d"]
    assert (replay.allocations, replay.allocated, replay.most_in_use) == (4, 255, 1768)


def test_a_step_that_allocates_nothing_has_no_peak():
    replay = Replay()
    replay.run([release(1)])
    assert (replay.peak, replay.at_peak, replay.allocations) == (0, [], 0)


def test_cases_are_the_public_functions_of_the_files(tmp_path: Path):
    (tmp_path / "one.py").write_text("def a(): ...\ndef _helper(): ...\nclass B:\n    def method(self): ...\n")
    (tmp_path / "two.py").write_text("import x\ndef c(): ...\n")
    (tmp_path / "_steps.py").write_text("def train_step(): ...\n")
    assert accuracy.find_cases(tmp_path) == {"a": tmp_path / "one.py", "c": tmp_path / "two.py"}
    assert accuracy.find_cases(tmp_path / "two.py") == {"c": tmp_path / "two.py"}


def test_two_cases_of_one_name_are_refused(tmp_path: Path):
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("def a(): ...\n")
    with pytest.raises(SystemExit, match=r"a is in .*one\.py and in .*two\.py"):
        accuracy.find_cases(tmp_path)


def test_a_row_compares_with_the_median():
    row = accuracy.compare("net", report(103, 100, 120), runs(100, 90, 122), widen=3.0)
    assert (row.median, row.lowest, row.highest) == (100, 90, 122)
    assert row.error == pytest.approx(3.0)
    assert not row.inside  # 90 is below 97
    assert row.exact


@pytest.mark.parametrize(
    ("peaks", "inside"), [((97, 123), True), ((96, 100), False), ((100, 124), False), ((100,), True)]
)
def test_inside_means_every_measurement_and_the_range_widened(peaks: tuple[int, ...], inside: bool):
    assert accuracy.compare("net", report(100, 100, 120), runs(*peaks), widen=3.0).inside is inside


def test_thresholds():
    good = accuracy.compare("good", report(100, 100, 100), runs(100), 3.0)
    bad = accuracy.compare("bad", report(150, 150, 150), runs(100, variables=41), 3.0)
    assert accuracy.judge([good], limits()) == []
    assert accuracy.judge([good, good, bad], limits()) == [
        "bad is off by +50.00 %, more than 8 %.",
        "bad was measured outside of the predicted range.",
        "bad: the bytes of its variables or arguments are wrong.",
    ]
    assert accuracy.judge([bad], limits(allow=["bad=60"])) == [
        "bad: the bytes of its variables or arguments are wrong."
    ]
    assert accuracy.judge([bad, bad], limits(max_worst=60.0))[0] == "The median |error| is 50.00 %, more than 2 %."


def test_the_explanation_names_the_tensors_that_differ():
    frontier = [
        {"tensor": "x/MatMul:0", "bytes": 4000, "made_by": "MatMul"},
        {"tensor": "renamed:0", "bytes": 2000, "made_by": "Relu"},
        {"tensor": "extra:0", "bytes": 3000, "made_by": "Mul"},
        {"tensor": "tiny:0", "bytes": 4, "made_by": "Mul"},
    ]
    run = {
        "step_peak_bytes": 9500,
        "peak_op": "y",
        "top": [
            [4000, "x/MatMul", "output", "[1000]"],
            [2500, "col", "temp", "[625]"],
            [2000, "as_measured", "output", "[500]"],
            [500, "small", "output", "[125]"],
        ],
    }
    text = accuracy.explanation(report(9004, 1, 1, frontier=frontier, peak={"op": "z"}), [{}, run])
    assert text.splitlines() == [  # `small` ends the list, which may lack others of its size
        "    at the peak: measured y, predicted z",
        "    measured only      0.003  col temp",
        "    predicted only     0.003  extra:0 (Mul)",
    ]


def test_kept_measurements_hold_the_live_tensors_of_the_middle_one():
    made = [{"tensorflow": "2.21.0", "step_peak_bytes": peak, "top": [peak]} for peak in (30, 10, 20)]
    assert accuracy.merged(made) == {
        "tensorflow": "2.21.0",
        "default": [{"step_peak_bytes": 10}, {"step_peak_bytes": 20, "top": [20]}, {"step_peak_bytes": 30}],
    }


CASE = """
import tensorflow as tf

def product():
    weight = tf.Variable(tf.ones((64, 256)))

    @tf.function
    def step(x):
        hidden = tf.nn.relu(tf.matmul(x, weight))
        return tf.reduce_sum(hidden * tf.sin(hidden))

    return step, (tf.ones((1000, 64)),)
"""


@pytest.mark.cli
def test_a_case_is_recorded_and_predicted(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any):
    """relu(x @ w) takes over the product, the sine needs a second tensor: two of 1000 x 256 floats, and the sum."""
    (tmp_path / "case.py").write_text(CASE)
    kept = tmp_path / "measured.json"
    command = ["accuracy.py", "--cases", str(tmp_path / "case.py"), "--measured", str(kept), "--record", "1", "--json"]
    monkeypatch.setattr("sys.argv", command)
    assert accuracy.main() == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["median"] == row["predicted"] == 2 * 1000 * 256 * 4
    assert row["exact"]
    assert row["inside"]
    (run,) = json.loads(kept.read_text())["product"]["default"]
    assert (run["variables_bytes"], run["argument_bytes"]) == (64 * 256 * 4, 1000 * 64 * 4)
    assert run["allocations"] == 3
