"""`graphmem load` and `graphmem growth` on the command line: output, files, exit codes, bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphmem.measure import loading
from tests.answers.saved import ADAM, SLOTS, WEIGHTS, keras_file
from tests.answers.test_growth import event_file, model

pytestmark = pytest.mark.cli
COMPILED = {"optimizer": ADAM, "loss": "mse", "metrics": ["mae"]}


@pytest.fixture
def net(tmp_path: Path) -> Path:
    return keras_file(tmp_path / "net.keras", WEIGHTS | SLOTS, COMPILED)


def test_load_prints_what_is_inside_and_what_it_costs(cli: Callable[..., Any], net: Path) -> None:
    done = cli("load", "net.keras")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("net.keras, Keras model of ")
    assert "optimizer Adam(learning_rate=0.001)" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_load_writes_files_and_json(cli: Callable[..., Any], net: Path) -> None:
    done = cli("load", "net.keras", "-o", "load.csv", "--json")
    assert (done.code, done.err) == (0, "Wrote load.csv\n")
    rows = Path("load.csv").read_text().splitlines()
    assert rows[0].startswith("way,call,variables_bytes,")
    assert str(done.data["ways"][0]["peak_bytes"]) in rows[1].split(",")
    assert cli("load", "net.keras", "-o", "load.csv").code == 2


@pytest.mark.parametrize(("share", "code"), [(1.05, 0), (2.0, 1)])
def test_load_fails_where_the_measurement_disagrees(
    cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, code: int
) -> None:
    keras_file(tmp_path / "big.keras", {"layers/dense/vars/0": (3000, 1000)})
    sizes: list[str] = []

    def measured(path: str, kind: str, way: str, names: list[str], **how: Any) -> dict[str, Any]:
        sizes.append(way)
        return {"before": 10**9, "peak": 9 * 10**7, "after": round(12_087_000 * share), "seconds": 1.0}

    monkeypatch.setattr(loading, "measure_loading", measured)
    assert cli("load", "big.keras", "--verify").code == code
    assert sizes == ["compiled", "not compiled", "weights only"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("load",), "missing argument 'file'"),
        (("load", "no.keras"), "no.keras does not exist"),
        (("load", "net.keras", "--unsafe"), "give --verify as well"),
        (("load", "net.keras", "-o", "load.svg"), "the endings are .txt, .md, .csv, .tex, .json"),
        (("load", "net.keras", "--top", "0"), "is not a whole number of 1 or more"),
        (("growth", "no.py"), "no.py does not exist"),
        (("growth", "net.keras"), "is neither a Python file"),
        (("growth", "."), "holds no event files"),
        (("growth", ".", "--epochs", "1"), "--epochs is for a script"),
        (("growth", "a.py", "b.py"), "unexpected 'b.py'"),
    ],
)
def test_bad_input(cli: Callable[..., Any], net: Path, words: tuple[str, ...], says: str) -> None:
    done = cli(*words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert says in done.err.lower() or says in done.err


def test_growth_of_event_files(cli: Callable[..., Any], tmp_path: Path) -> None:
    graph = []
    for number in range(4):
        graph += model(f"dense_{number}")
        event_file(tmp_path / "logs" / f"run{number}" / "events.out.tfevents.1", graph, 100.0 + number)
    done = cli("growth", "logs", "-o", "growth.csv")
    assert (done.code, done.err) == (0, "Wrote growth.csv\n")
    assert "each adds" in done.out
    assert len(Path("growth.csv").read_text().splitlines()) == 5
    data = json.loads(cli("growth", "logs", "--json").out)
    assert (data["schema"], data["growth"]["nodes"], [run["orphans"] for run in data["runs"]]) == (1, 6, [0, 1, 2, 3])
