"""The cases, the recorder's arithmetic, and the accuracy benchmark as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import accuracy
from benchmarks.case_list import Case, find_cases
from benchmarks.record import Replay


def allocation(address: int, nbytes: int, op: str = "op", in_use: int = 0) -> dict[str, Any]:
    return {"allocates": True, "addr": address, "requested_bytes": nbytes, "tf_op": op, "bytes_allocated": in_use}


def release(address: int) -> dict[str, Any]:
    return {"allocates": False, "addr": address}


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
    assert (replay.peak, replay.peak_event["tf_op"], replay.now) == (155, "d", 45)
    assert sorted(event["tf_op"] for event in replay.at_peak) == ["b", "c", "d"]
    assert (replay.allocations, replay.allocated, replay.most_in_use) == (4, 255, 1768)


def test_a_step_that_allocates_nothing_has_no_peak():
    replay = Replay()
    replay.run([release(1)])
    assert (replay.peak, replay.at_peak, replay.allocations) == (0, [], 0)


def test_cases_are_the_public_functions_of_the_files(tmp_path: Path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("def a(): ...\ndef _helper(): ...\nclass B:\n    def method(self): ...\n")
    two.write_text("import x\ndef c(): ...\n")
    (tmp_path / "_steps.py").write_text("def train_step(): ...\n")
    assert find_cases(tmp_path) == {"a": Case("a", f"{one}:a"), "c": Case("c", f"{two}:c")}
    assert find_cases(two) == {"c": Case("c", f"{two}:c")}


def test_a_case_has_the_variants_that_its_decorator_names(tmp_path: Path):
    file = tmp_path / "nets.py"
    decorators = {"a": "@variants()", "b": '@variants("train", "predict+mixed")', "c": "@cache"}
    file.write_text("".join(f"{text}\ndef {name}(): ...\n" for name, text in decorators.items()))
    found = find_cases(file)
    assert list(found) == ["a", "a/predict", "a/mixed", "a/predict+mixed", "b", "b/predict+mixed", "c"]
    assert found["a/mixed"].target == f"{file}:a(policy='mixed_float16')"
    assert found["b/predict+mixed"].target == f"{file}:b(step='predict', policy='mixed_float16')"
    assert found["a/predict"].variant == "predict"
    assert found["c"].variant == ""


def test_two_cases_of_one_name_are_refused(tmp_path: Path):
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("def a(): ...\n")
    with pytest.raises(SystemExit, match=r"a is in .*one\.py and in .*two\.py"):
        find_cases(tmp_path)


def test_kept_measurements_hold_the_live_tensors_of_the_middle_one():
    made = [{"tensorflow": "2.21.0", "step_peak_bytes": peak, "top": [peak]} for peak in (30, 10, 20)]
    settled = {"tensorflow": "2.21.0", "step_peak_bytes": 15, "top": [15]}
    assert accuracy.merged(made, settled) == {
        "tensorflow": "2.21.0",
        "default": [{"step_peak_bytes": 10}, {"step_peak_bytes": 20, "top": [20]}, {"step_peak_bytes": 30}],
        "deterministic": {"step_peak_bytes": 15},
    }


def test_measurements_are_kept_a_line_per_run(tmp_path: Path):
    kept = tmp_path / "measured.json"
    measured = {
        "b": {"tensorflow": "2", "default": [{"x": 1}, {"x": 2}], "deterministic": {"x": 3}},
        "a": {"tensorflow": "2", "default": [{"x": 1}]},
    }
    accuracy.save(measured, kept)
    assert json.loads(kept.read_text()) == measured
    assert len(kept.read_text().splitlines()) == 2 + 2 + 4  # the braces, a head and its runs each
    assert [file.name for file in tmp_path.iterdir()] == ["measured.json"]


CASES = '''
import tensorflow as tf

def product(width=256):
    """relu(x @ w) takes over the product, the sine needs a second tensor."""
    weight = tf.Variable(tf.ones((64, width)))

    @tf.function
    def step(x):
        hidden = tf.nn.relu(tf.matmul(x, weight))
        return tf.reduce_sum(hidden * tf.sin(hidden))

    return step, (tf.ones((1000, 64)),)

def broken():
    raise ValueError("no such network")
'''


@pytest.mark.cli
def test_a_case_is_recorded_and_predicted(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: Any):
    (tmp_path / "case.py").write_text(CASES)
    kept, page = tmp_path / "measured.json", tmp_path / "page.md"
    page.write_text("before\n<!-- results: begin -->\nold\n<!-- results: end -->\nafter\n")
    where = ["accuracy.py", "--cases", str(tmp_path / "case.py"), "--measured", str(kept), "--bfc-worst", "50"]
    command = [*where, "--record", "1", "--json", "--bfc-median", "50", "--write", str(page), "product"]
    monkeypatch.setattr("sys.argv", command)
    assert accuracy.main() == 0
    (row,) = json.loads(capfd.readouterr().out)["rows"]
    assert row["median"] == row["predicted"] == 2 * 1000 * 256 * 4
    assert (row["exact"], row["inside"], row["deterministic_error"]) == (True, True, 0.0)
    assert row["matched"] == 100.0
    measured = json.loads(kept.read_text())["product"]
    (run,) = measured["default"]
    assert (run["variables_bytes"], run["argument_bytes"]) == (64 * 256 * 4, 1000 * 64 * 4)
    assert run["base_requested_bytes"] >= 64 * 256 * 4 + 1000 * 64 * 4
    assert run["allocations"] == 3
    assert measured["deterministic"]["step_peak_bytes"] == 2 * 1000 * 256 * 4
    assert "| product | 2.048 | 2.048 (2.048 – 2.048) | +0.00% |" in page.read_text()
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith("end -->\nafter\n")

    monkeypatch.setattr("sys.argv", [*where, "--record", "1", "broken"])
    assert accuracy.main() == 1
    told = capfd.readouterr().err
    assert "ValueError: no such network" in told
    assert "broken could not be measured" in told
    assert list(json.loads(kept.read_text())) == ["product"]
