"""Scripts that train several models one after the other, run for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmem.answers.growth.logs import growth_of_logs
from graphmem.answers.growth.runs import growth_of_script
from graphmem.errors import TargetError, UserCodeError

pytestmark = pytest.mark.tf

SCRIPT = """
import numpy as np
{imports}
x, y = np.ones((8, 4), "float32"), np.ones((8, 1), "float32")
kept = []
for number in range(4):
    {before}
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    callback = keras.callbacks.TensorBoard(f"logs/run{{number}}", profile_batch=0)
    model.fit(x, y, epochs=3, batch_size=4, verbose=0, callbacks=[callback])
    {after}
"""
KERAS = "import keras"
GRAPH_MODE = "import tensorflow as tf, tf_keras as keras\ntf.compat.v1.disable_eager_execution()"


def script(folder: Path, imports: str, before: str = "pass", after: str = "pass") -> str:
    path = folder / "several.py"
    path.write_text(SCRIPT.format(imports=imports, before=before, after=after))
    return str(path)


def test_the_classic_case_is_flat_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = growth_of_script(script(tmp_path, KERAS), epochs=1, timeout=300)
    assert (found.per, len(found.rows), found.limited) == ("fit", 4, 4)
    assert (found.growth["graph_nodes"], found.growth["variables"], found.growth["models"]) == (0, 0, 0)
    logs = growth_of_logs("logs")
    assert len(logs.runs) == 4
    assert logs.grows is False
    assert logs.growth["graph_bytes"] == 0
    assert max(run.bytes for run in logs.runs) < 1.1 * min(run.bytes for run in logs.runs)


def test_graph_mode_grows_and_the_orphans_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = growth_of_script(script(tmp_path, GRAPH_MODE), epochs=1, timeout=300)
    nodes = found.growth["graph_nodes"]
    assert nodes is not None
    assert nodes > 50
    assert [row["graph_nodes"] - found.rows[0]["graph_nodes"] for row in found.rows] == [0, nodes, 2 * nodes, 3 * nodes]
    assert "clear_session()" in found.advice[0]
    logs = growth_of_logs("logs")
    assert logs.growth["nodes"] == nodes
    assert [run.orphans > 0 for run in logs.runs] == [False, True, True, True]
    assert logs.runs[3].orphans == 3 * logs.runs[1].orphans
    assert {"dense", "dense_2", "dense_4"} <= set(logs.runs[3].orphan_scopes)


def test_what_is_advised_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = script(tmp_path, GRAPH_MODE, before="keras.backend.clear_session()")
    assert growth_of_script(path, epochs=1, timeout=300).growth["graph_nodes"] == 0
    assert growth_of_logs("logs").grows is False


def test_models_that_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = growth_of_script(script(tmp_path, KERAS, after="kept.append(model)"), steps=1, timeout=300)
    assert found.growth["models"] == 2  # a Sequential has a Functional inside
    assert found.growth["variables"] is not None
    assert found.growth["variables"] >= 4
    assert "something holds them" in found.advice[0]


def test_models_without_fit(tmp_path: Path) -> None:
    path = tmp_path / "build.py"
    path.write_text(
        "import keras\nfor n in range(3):\n    m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])\n"
    )
    found = growth_of_script(str(path), timeout=300)
    assert (found.per, [row["label"] for row in found.rows]) == ("model", ["Sequential"] * 3)
    assert [row["variables"] for row in found.rows] == [2, 2, 2]


def test_scripts_that_cannot_be_counted(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("x = 1 / 0\n")
    with pytest.raises(UserCodeError, match=r"bad.py line 1 raised ZeroDivisionError"):
        growth_of_script(str(path), timeout=300)
    path.write_text("x = 1\n")
    with pytest.raises(TargetError, match="built no Keras model"):
        growth_of_script(str(path), timeout=300)
