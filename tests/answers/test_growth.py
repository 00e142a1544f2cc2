"""Growth read from event files and counts made by hand."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from graphmem.answers.growth.events import _FIELDS, Node, read_events
from graphmem.answers.growth.logs import growth_of_logs
from graphmem.answers.growth.parts import orphans, parts_of
from graphmem.answers.growth.runs import FIGURES, ScriptGrowth, advice
from graphmem.answers.growth.series import growth_per_row
from graphmem.answers.growth.text import FORMATS, as_text
from graphmem.errors import TargetError
from graphmem.protos import message_class


def model(scope: str) -> list[Node]:
    """A variable, an op that reads it with the shared phase, its initializer; and a loose constant."""
    return [
        Node(f"{scope}/kernel", "VarHandleOp"),
        Node(f"{scope}/read", "ReadVariableOp", (f"{scope}/kernel",)),
        Node(f"{scope}/out", "Mul", (f"{scope}/read:0", "keras_learning_phase")),
        Node(f"{scope}/init", "AssignVariableOp", (f"{scope}/kernel", f"{scope}/zeros")),
        Node(f"{scope}/zeros", "Const"),
        Node(f"{scope}/loose", "Const"),
    ]


SHARED = [Node("keras_learning_phase", "PlaceholderWithDefault"), Node("init", "NoOp", ("^a/init", "^b/init"))]


def event_file(path: Path, graph: list[Node] | None, wall_time: float, layers: list[str] | None = None) -> None:
    """An event file as TensorBoard reads it: each record with its length; checksums are left at 0."""
    event = message_class("graphmem.events.Event", "Event", _FIELDS)
    records = [event(wall_time=wall_time)]
    if graph is not None:
        made = message_class("graphmem.events.Graph", "Graph", _FIELDS)()
        for node in graph:
            made.node.add(name=node.name, op=node.op, input=node.inputs)
        records.append(event(wall_time=wall_time + 1, graph_def=made.SerializeToString()))
    if layers is not None:
        text = json.dumps({"config": {"layers": [{"class_name": "Dense", "config": {"name": n}} for n in layers]}})
        records.append(event(wall_time=wall_time + 2))
        records[-1].summary.value.add(tag="keras").tensor.string_val.append(text.encode())
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for record in records:
            data = record.SerializeToString()
            file.write(struct.pack("<QI", len(data), 0) + data + struct.pack("<I", 0))


def test_parts_are_not_tied_by_what_models_share() -> None:
    parts, rest = parts_of([*model("a"), *model("b"), *SHARED])
    assert [(part.nodes, part.scopes, part.variables) for part in parts] == [
        (5, ("a",), {"a/kernel"}),
        (5, ("b",), {"b/kernel"}),
    ]
    assert rest == 4


def test_orphans_by_layers_and_by_earlier_runs() -> None:
    parts, _ = parts_of([*model("a"), *model("b"), *SHARED])
    a, b = parts
    assert orphans(parts, {"b"}, set()) == [a]
    assert orphans(parts, set(), {"a/kernel"}) == [a]
    assert orphans(parts, set(), {"a/kernel", "b/kernel"}) == []  # the same models once more
    assert orphans(parts, {"no_such_layer"}, {"b/kernel"}) == [b]


def test_a_folder_in_which_graphs_grow(tmp_path: Path) -> None:
    graph: list[Node] = list(SHARED[:1])
    for number, scope in enumerate("cab"):  # in the order of time, not of names
        graph += model(scope)
        event_file(tmp_path / scope / "events.out.tfevents.1", graph, 100.0 + number)
    found = growth_of_logs(str(tmp_path))
    assert [(run.name, run.nodes, run.parts, run.orphans, run.orphan_scopes) for run in found.runs] == [
        ("c", 7, 1, 0, ()),
        ("a", 13, 2, 1, ("c",)),
        ("b", 19, 3, 2, ("c", "a")),
    ]
    assert (found.growth["nodes"], found.growth["orphans"], found.grows) == (6, 1, True)
    assert found.growth["graph_bytes"] == found.runs[2].graph_bytes - found.runs[1].graph_bytes
    assert "3 runs: each adds" in as_text(found)
    assert "2 of them hold parts of earlier models" in " ".join(as_text(found).split())


def test_a_folder_in_which_nothing_grows(tmp_path: Path) -> None:
    for number in range(3):
        event_file(tmp_path / f"run{number}" / "x.tfevents.1", None, 100.0 + number, layers=["dense"])
    found = growth_of_logs(str(tmp_path))
    assert (found.grows, found.growth["graph_bytes"], [run.layers_told for run in found.runs]) == (False, 0, [True] * 3)
    assert as_text(found).startswith("3 runs: their graphs do not grow")


def test_two_runs_are_too_few(tmp_path: Path) -> None:
    for number in range(2):
        event_file(tmp_path / f"run{number}" / "x.tfevents.1", model("a"), 100.0)
    assert growth_of_logs(str(tmp_path)).growth["nodes"] is None


def test_a_file_that_is_still_being_written(tmp_path: Path) -> None:
    path = tmp_path / "x.tfevents.1"
    event_file(path, model("a"), 100.0)
    path.write_bytes(path.read_bytes()[:-10])
    events = read_events([path])
    assert (events.cut, events.records) == (True, 1)
    assert "ends in the middle of a record" in growth_of_logs(str(tmp_path)).notes[0]


@pytest.mark.parametrize("content", [b"\xff" * 64, struct.pack("<QI", 3, 0) + b"\xff\xff\xff" + b"\0" * 4])
def test_no_event_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tfevents.1").write_bytes(content)
    with pytest.raises(TargetError, match="is no event file, or is damaged"):
        growth_of_logs(str(tmp_path))


def test_a_folder_without_event_files(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="holds no event files"):
        growth_of_logs(str(tmp_path))


def test_what_is_made_once_is_no_growth() -> None:
    assert growth_per_row([0, 50, 50, 50]) == 0
    assert growth_per_row([0, 50, 60, 70, 70, 80]) == 10


def counted(**steps: int) -> ScriptGrowth:
    rows = [{"label": f"m{i}", **{name: 5 + i * steps.get(name, 0) for name in FIGURES}} for i in range(4)]
    return ScriptGrowth("train.py", "fit", rows, {name: steps.get(name, 0) for name in FIGURES})


def test_advice_is_for_what_grows() -> None:
    assert counted(resident_bytes=99).grows is False
    assert counted(resident_bytes=99).advice == []
    assert "default graph" in counted(graph_nodes=9).advice[0]
    held = counted(models=1, variables=4, func_graphs=2).advice
    assert len(held) == 1
    assert "something holds them" in held[0]
    assert "Traced functions outlive" in advice({"func_graphs": 2, "models": 0})[0]


def test_formats() -> None:
    found = counted(models=1, variables=4)
    assert as_text(found).startswith("4 fits: each adds 4 variables and 1 models")
    data = json.loads(FORMATS[".json"](found))
    assert (data["schema"], data["kind"], data["grows"], data["growth"]["variables"]) == (1, "script", True, 4)
    assert FORMATS[".csv"](found).splitlines()[-1].startswith("each adds,0,0,0,0,4,0,1,")
    assert "… 2 others" in as_text(found, top=2)
