"""Sweeps: combinations, results that are kept, tables, pictures; and points that really are analysed elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import graphmem
from graphmem.answers.points import Point
from graphmem.answers.sweep import Results, Sweep, SweptPoint, default_jobs, sweep_target
from graphmem.answers.sweep_charts import chart
from graphmem.answers.sweep_points import Axis, as_request, axis, identity, parse_axis, points_of
from graphmem.answers.sweep_text import as_dict, as_table
from graphmem.errors import TargetError
from graphmem.graph.store import save_trace
from graphmem.render.tables import FORMATS
from graphmem.settings import Settings
from graphmem.target.step import Options
from tests.test_first import first_step

GIB = 1 << 30


def swept(values: dict[str, Any], needed: int | None, fits: bool | None = None) -> SweptPoint:
    if needed is None:
        return SweptPoint(values, {"error": "it does not build.", "exit_code": 3, "excerpt": ""})
    result: dict[str, Any] = {
        "needed_bytes": needed, "step_peak_bytes": needed // 2, "weight_bytes": 1000, "optimizer_bytes": 2000,
        "at_least": False, "in_use_bytes": needed + 5 if fits else None, "fits": fits, "step": "train",
        "device": "cpu", "card": "", "runtime": "graph", "budget_bytes": None if fits is None else 3 * GIB,
    }  # fmt: skip
    return SweptPoint(values, result)


def example(fits: bool = True) -> Sweep:
    """3 × 2 points, of which one failed."""
    axes = (Axis("batch", (8, 16, 32)), Axis("policy", ("float32", "mixed_float16")))
    points = []
    for batch in (8, 16, 32):
        for policy, share in (("float32", 8), ("mixed_float16", 16)):
            needed = None if (batch, share) == (32, 16) else batch * GIB // share
            within = (needed or 0) <= 3 * GIB if fits else None
            points.append(swept({"batch": batch, "policy": policy}, needed, within))
    return Sweep("model.py", axes, tuple(points))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("batch=8,16", Axis("batch", (8, 16))),
        ("policy=float32, mixed_float16", Axis("policy", ("float32", "mixed_float16"))),
        ("rate=0.5,True,None,'a,b'", Axis("rate", (0.5, True, None, "a,b"))),
        ("memory=6GiB", Axis("memory", ("6GiB",))),
    ],
)
def test_axes_as_they_are_written(text: str, found: Axis) -> None:
    assert parse_axis(text) == found


@pytest.mark.parametrize("text", ["batch", "batch=", "=8", "batch=8,,9", "batch=8,8"])
def test_axes_that_are_wrong(text: str) -> None:
    with pytest.raises(TargetError):
        parse_axis(text)


def base(target: str = "model.py:build(width=?)") -> Point:
    return Point(target, Options(), Settings(device="cpu"))


def test_points_are_all_combinations_the_last_axis_fastest() -> None:
    found = points_of(base(), [parse_axis("width=8,16"), parse_axis("batch=2,three")])
    assert [values for values, _ in found] == [
        {"width": 8, "batch": 2}, {"width": 8, "batch": "three"}, {"width": 16, "batch": 2},
        {"width": 16, "batch": "three"},
    ]  # fmt: skip
    first, second = found[0][1], found[1][1]
    assert isinstance(first, Point)
    assert (first.target, first.options.batch) == ("model.py:build(width=8)", 2)
    assert "batch must be a whole number" in str(second)
    for axes in ([], [axis("batch", [1]), axis("batch", [2])]):
        with pytest.raises(TargetError):
            points_of(base(), axes)


def test_a_point_is_plain_data_and_has_an_identity(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("one")
    point = base(f"{path}:build(width=?)").at("width", 8).at("sequence", 9)
    request = json.loads(json.dumps(as_request(point)))
    assert Settings(**request["settings"]) == point.settings
    assert request["options"]["dims"] == {"sequence": 9}
    names = {identity(point), identity(point.at("sequence", 8)), identity(point.at("policy", "float64"))}
    path.write_text("two")
    assert len(names | {identity(point)}) == 4


def test_the_table_has_a_row_per_point_and_says_why_one_failed() -> None:
    table = as_table(example())
    assert [column.name for column in table.columns][:4] == ["batch", "policy", "needed_bytes", "in_use_bytes"]
    assert table.rows[0][:3] == (8, "float32", GIB)
    assert table.rows[4][-3:-1] == (False, False)
    assert table.rows[5] == (32, "mixed_float16", *[None] * 7, "it does not build.")
    assert table.notes[0] == "1 of 6 points failed."
    for render in FORMATS.values():
        assert "does not build" in render(table)
    assert example().exit_code == 3
    data = as_dict(example())
    assert (data["schema"], data["failed"], data["budget_bytes"], len(data["points"])) == (1, 1, 3 * GIB, 6)
    assert data["points"][5] == {"values": {"batch": 32, "policy": "mixed_float16"}, "error": "it does not build."}


@pytest.mark.parametrize("plot", ["heat", "line"])
def test_pictures_are_the_same_each_time_and_have_the_budget(plot: str) -> None:
    picture = chart(example(), ".svg", plot)
    assert picture == chart(example(), ".svg", plot)
    for word in (b"3.00 GiB", b"batch", b"mixed_float16"):
        assert word in picture
    assert b"3.00 GiB" not in chart(example(fits=False), ".svg", plot)
    assert chart(example(), ".png", plot)[:4] == b"\x89PNG"


def test_the_heat_map_says_every_figure_and_which_point_failed() -> None:
    picture = chart(example(), ".svg", "auto").decode()
    assert [word in picture for word in (">1.00 GiB<", ">512 MiB<", ">2.00 GiB<", ">4.00 GiB<", ">failed<")] == [
        True
    ] * 5


def test_pictures_that_cannot_be_drawn() -> None:
    one = Sweep("model.py", (Axis("batch", (8,)),), (swept({"batch": 8}, None),))
    with pytest.raises(TargetError, match="a heat map has two axes"):
        chart(one, ".svg", "heat")
    with pytest.raises(TargetError, match="no point has figures"):
        chart(one, ".svg", "line")


def test_results_are_kept_whole_and_other_files_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "results.json")
    results = Results.of(path)
    results.add("a", {"batch": 1}, {"needed_bytes": 5})
    results.add("b", {"batch": 2}, {"needed_bytes": 6})
    assert Results.of(path).known == results.known
    assert [file.name for file in tmp_path.iterdir()] == ["results.json"]
    for text in ("", "[]", "{}", '{"kind": "graphmem-sweep", "schema": 2, "points": []}'):
        Path(path).write_text(text)
        with pytest.raises(TargetError, match="holds no results of a sweep"):
            Results.of(path)


def test_jobs_by_default() -> None:
    assert default_jobs(1) == 1
    assert 1 <= default_jobs(100) <= 100


# --- points that are analysed: of a saved trace, which needs no TensorFlow


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = str(tmp_path / "step.graphmem")
    save_trace(first_step(), path)
    return path


AXES = (axis("order", ["graph", "breadth-first"]), axis("memory", [4096, "1MiB"]))


def test_points_in_processes_have_the_figures_of_the_analysis(trace: str) -> None:
    found = graphmem.sweep(trace, {"order": ["graph", "breadth-first"], "memory": [512, "1MiB"]}, jobs=2, device="cpu")
    assert [tuple(point.values.values()) for point in found.points] == [
        ("graph", 512), ("graph", "1MiB"), ("breadth-first", 512), ("breadth-first", "1MiB"),
    ]  # fmt: skip
    report = graphmem.analyze(trace, order="graph", memory=1 << 20, device="cpu")
    result = found.points[1].result
    assert result["needed_bytes"] == report.needed_bytes
    assert result["in_use_bytes"] == report.allocator["peak_in_use_bytes"]
    assert [point.result["fits"] for point in found.points] == [False, True, False, True]
    assert found.budget_bytes is None
    assert found.exit_code == 0


def test_a_point_that_fails_leaves_the_rest(trace: str) -> None:
    found = graphmem.sweep(trace, {"threads": [1, 2], "order": ["graph", "sideways"], "batch": [9]}, jobs=2)
    assert len(found.failed) == 4
    assert "order must be one of" in (found.points[1].error or "")
    assert "--batch cannot change" in (found.points[0].error or "")
    assert found.exit_code == 2


def test_what_is_finished_is_not_done_again(trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resume = str(tmp_path / "results.json")
    point = Point(trace, Options(), Settings(device="cpu"))
    first = sweep_target(point, [axis("order", ["graph"]), AXES[1]], resume=resume, jobs=1)
    assert not any(one.kept for one in first.points)
    whole = sweep_target(point, AXES, resume=resume, jobs=1)
    assert [one.kept for one in whole.points] == [True, True, False, False]
    monkeypatch.setattr("graphmem.answers.sweep.analyse", None)  # nothing is left to do
    again = sweep_target(point, AXES, resume=resume)
    assert [one.result for one in again.points] == [one.result for one in whole.points]


def test_a_dask_cluster_gives_the_same_table(trace: str) -> None:
    distributed = pytest.importorskip("distributed")
    point = Point(trace, Options(), Settings(device="cpu"))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        found = sweep_target(point, AXES, dask=cluster.scheduler_address)
    assert as_table(found) == as_table(sweep_target(point, AXES, jobs=1))
    assert not found.failed


def test_a_scheduler_that_does_not_answer(trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(TargetError, match="no Dask scheduler answers at nonsense://x"):
        sweep_target(Point(trace, Options(), Settings(device="cpu")), AXES, dask="nonsense://x")


def test_only_texts_can_be_swept() -> None:
    with pytest.raises(TargetError, match="takes a target by its text"):
        graphmem.sweep(object(), {"batch": [1]})  # type: ignore[arg-type]


MODEL = """
import keras


def build(width):
    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(width), keras.layers.Dense(4)])
    model.compile("adam", "mse")
    return model
"""


@pytest.mark.tf
def test_precision_optimizer_and_argument_of_a_model(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    over = {"policy": ["float32", "mixed_float16"], "optimizer": ["adam", "sgd"], "width": [64]}
    found = graphmem.sweep(f"{path}:build(width=?)", over, batch=8, device="cpu", orders=3, threads=2)
    assert [point.error for point in found.points] == [None] * 4
    adam, sgd, mixed, _ = (point.result for point in found.points)
    weights = 4 * (16 * 64 + 64 + 64 * 4 + 4)
    assert {point.result["weight_bytes"] for point in found.points} == {weights}
    assert adam["optimizer_bytes"] == 2 * weights > sgd["optimizer_bytes"]
    assert mixed["step_peak_bytes"] != adam["step_peak_bytes"]
    target = f"{path}:build(width=64)"
    assert adam["needed_bytes"] == graphmem.analyze(target, batch=8, device="cpu", orders=3, threads=2).needed_bytes


@pytest.mark.tf
def test_a_policy_holds_for_the_block_only() -> None:
    import keras

    from graphmem.target.policy import dtype_policy

    before = keras.config.dtype_policy().name
    with dtype_policy("mixed_bfloat16", "model.py"):
        assert keras.layers.Dense(2).dtype_policy.name == "mixed_bfloat16"
    assert keras.config.dtype_policy().name == before
    with pytest.raises(TargetError, match="no dtype policy 'half'"), dtype_policy("half", "model.py"):
        pass
