"""Legacy recurrent layers: on the CPU called, on a GPU cuDNN's and traced inlined; tf_keras left as it was."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.tf

SCRIPT = """
    import json
    import tensorflow as tf
    import graphmem
    from tf_keras.src.layers.rnn import gru_lstm_utils
    before = gru_lstm_utils.generate_defun_backend, gru_lstm_utils.function_register
    model = tf.keras.Sequential([tf.keras.layers.Input((12, 4)), tf.keras.layers.GRU(8), tf.keras.layers.Dense(1)])
    import sys
    report = graphmem.analyze(model, batch=3, loss="mse", optimizer="sgd", device=sys.argv[1])
    assert before == (gru_lstm_utils.generate_defun_backend, gru_lstm_utils.function_register)
    ops = [op.type for op in report.simulation.graph.ops]
    print(json.dumps({"left": [op for op in ops if "PartitionedCall" in op], "calls": ops.count("_Call"),
                      "cudnn": ops.count("CudnnRNNV3"),
                      "sizes": report.unknown_sizes,
                      "at_least": report.at_least, "loops": sorted(report.simulation.schedule.loops.values()),
                      "note": [note for note in report.notes if "inlined" in note]}))
"""


@pytest.mark.parametrize(("device", "calls"), [("cpu", 2), ("gpu", 0)])
def test_a_legacy_gru_is_replayed(device: str, calls: int) -> None:
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1", "TF_ENABLE_ONEDNN_OPTS": "0"}
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), device]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["left"] == []
    assert told["calls"] == calls
    assert told["cudnn"] == (device == "gpu")
    assert [name for name in told["sizes"] if not name.endswith("(scratch)")] == []  # cuDNN's workspace is unknown
    assert told["loops"] == ([12, 12] if device == "cpu" else [])
    assert told["at_least"] == bool(told["note"]) == (calls == 0)
