"""What changed between two reports, on hand-made ones: every byte is somewhere, and in one place."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmem
from graphmem.answers.diff import Diff, diff_reports
from graphmem.answers.diff_tables import flat_table, headline, in_words, tables_of
from graphmem.answers.diff_text import FORMATS, as_markdown, as_text
from graphmem.answers.pairing import pairs
from graphmem.errors import TargetError
from graphmem.graph.model import ROLES
from graphmem.render.tables import as_csv
from graphmem.report.report import Report
from tests.example_reports import CASES, MIB, buffer, report_of


def small() -> Report:
    frontier = [
        buffer(8 * MIB, (512, 4096), "activation", "forward", "net/dense", "Relu", "ReluGrad"),
        buffer(4 * MIB, None, "scratch", "backward", "net/dense", "Conv2DBackpropFilter", dtype=""),
        buffer(20480, (512, 10), "activation", "forward", "net/out", "Softmax", "MatMul"),
    ]
    kept = {"net/dense": {"weight": 1000, "optimizer state": 2000}, "net/out": {"weight": 40}}
    return report_of(
        frontier, target="old.py", weight_bytes=1040, optimizer_bytes=2000, argument_bytes=64, variables_by_scope=kept
    )


def grown() -> Report:
    frontier = [
        buffer(16 * MIB, (512, 8192), "activation", "forward", "net/dense", "Relu", "ReluGrad"),
        buffer(20480, (512, 10), "activation", "forward", "net/out", "Softmax", "MatMul"),
        buffer(1 * MIB, (512, 512), "gradient", "backward", "net/extra", "MatMul", "ReluGrad"),
    ]
    kept = {"net/dense": {"weight": 3000, "optimizer state": 6000}, "net/out": {"weight": 40}}
    kept["net/extra"] = {"weight": 7}
    return report_of(
        frontier, target="new.py", batch=16, weight_bytes=3047, optimizer_bytes=6000, argument_bytes=128,
        variables_by_scope=kept, facts={"optimizer": "adam", "threads": "4", "loss": "mse"},
    )  # fmt: skip


@pytest.fixture
def diff() -> Diff:
    return diff_reports(small(), grown())


def test_memory(diff: Diff) -> None:
    changes = {item.name: (item.before, item.after, item.change) for item in diff.memory}
    assert changes["weights"] == (1040, 3047, 2007)
    assert changes["inputs"] == (64, 128, 64)
    assert changes["step peak"] == (12 * MIB + 20480, 17 * MIB + 20480, 5 * MIB)
    assert list(changes)[-1] == "needed"
    assert changes["needed"][2] == diff.change == sum(change for _, _, change in list(changes.values())[:-1])


def test_layers(diff: Diff) -> None:
    rows = {layer.scope: layer for layer in diff.layers}
    assert list(rows) == ["net/dense", "net/extra", "net/out"]
    dense = rows["net/dense"]
    assert (dense.step_before, dense.step_after) == (12 * MIB, 16 * MIB)
    assert (dense.variables_before, dense.variables_after) == (3000, 9000)
    assert dense.change == 4 * MIB + 6000
    assert (rows["net/extra"].was, rows["net/extra"].now) == (None, "net/extra")
    assert rows["net/out"].change == 0


def test_tensors(diff: Diff) -> None:
    assert [(t.status, t.change, t.any.made_by) for t in diff.tensors] == [
        ("grew", 8 * MIB, "Relu"),
        ("moved out", -4 * MIB, "Conv2DBackpropFilter"),
        ("moved in", 1 * MIB, "MatMul"),
        ("same", 0, "Softmax"),
    ]
    assert [t.any.scope for t in diff.moved("moved in")] == ["net/extra"]


def test_settings(diff: Diff) -> None:
    assert {item.name: (item.before, item.after) for item in diff.settings} == {
        "target": ("old.py", "new.py"), "batch": (8, 16), "threads": ("2", "4"), "oneDNN": ("off", None),
        "loss": (None, "mse"),
    }  # fmt: skip


def test_a_smaller_layer_is_a_change_downwards() -> None:
    back = diff_reports(grown(), small())
    assert back.change == -diff_reports(small(), grown()).change
    assert {t.any.made_by: t.status for t in back.tensors} == {
        "Relu": "shrank", "Conv2DBackpropFilter": "moved in", "MatMul": "moved out", "Softmax": "same",
    }  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_nothing_changes_from_a_report_to_itself(name: str) -> None:
    same = diff_reports(CASES[name](), CASES[name]())
    assert {tensor.status for tensor in same.tensors} <= {"same"}
    assert len(same.tensors) == len(CASES[name]().frontier)
    assert same.settings == []
    assert [table.title for table in tables_of(same)][:1] == ["Memory"]
    assert all(layer.change == 0 for layer in same.layers)


roles = st.sampled_from(ROLES[5:])
scopes = st.sampled_from(["", "net/a", "net/a_1", "net/b", "net/b/c", "other"])
buffers = st.builds(
    buffer, st.none() | st.integers(0, 5), st.sampled_from([None, (2,), (3,), (2, 2)]), roles,
    st.sampled_from(["forward", "backward"]), scopes, st.sampled_from(["Relu", "MatMul"]),
)  # fmt: skip
reports = st.lists(buffers, max_size=8).map(report_of)


@given(reports, reports)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_everything_is_said_once_and_adds_up(before: Report, after: Report) -> None:
    diff = diff_reports(before, after)
    for side, report in ((0, before), (1, after)):
        seen = [(t.before, t.after)[side] for t in diff.tensors]
        assert Counter(id(item) for item in seen if item is not None) == Counter(id(item) for item in report.frontier)
    change = after.step_peak_bytes - before.step_peak_bytes
    assert sum(layer.change for layer in diff.layers) == change
    assert sum(item.change for item in diff.roles) == change
    assert sum(item.change for item in diff.phases) == change
    assert sum(item.change for item in diff.op_types) == change
    sizes = [(t.after.bytes or 0 if t.after else 0) - (t.before.bytes or 0 if t.before else 0) for t in diff.tensors]
    assert sum(sizes) == change
    rows = list(csv.DictReader(io.StringIO(as_csv(flat_table(diff)))))
    assert sum(int(row["change_bytes"]) for row in rows if row["kind"] == "layer step peak") == change


def paired(before: list, after: list, same: dict[str, str]) -> list[tuple[object, object]]:
    return [
        (one and (one.made_by, one.shape), other and (other.made_by, other.shape))
        for one, other in pairs(before, after, same)
    ]


def test_the_same_op_is_found_whatever_its_counter() -> None:
    one = [buffer(8, (2,), "activation", "forward", "a", "Mul", op="a/mul_3"),
           buffer(12, (3,), "activation", "forward", "a", "Mul", op="a/other")]  # fmt: skip
    other = [buffer(16, (4,), "activation", "forward", "a", "Mul", op="a/other_1"),
             buffer(20, (5,), "activation", "forward", "a", "Mul", op="a/mul")]  # fmt: skip
    assert paired(one, other, {"": "", "a": "a"}) == [(("Mul", (2,)), ("Mul", (5,))), (("Mul", (3,)), ("Mul", (4,)))]


def test_equal_sizes_are_paired_before_others() -> None:
    one = [buffer(8, (2,), "activation", "forward", "a", "Mul"), buffer(12, (3,), "activation", "forward", "a", "Mul")]
    other = [buffer(12, (3,), "activation", "forward", "b", "Mul")]
    assert paired(one, other, {"": "", "b": "a"}) == [(("Mul", (3,)), ("Mul", (3,))), (("Mul", (2,)), None)]


def test_a_fused_op_keeps_the_same_tensor() -> None:
    one = [buffer(8, (2,), "activation", "forward", "a", "Relu")]
    other = [buffer(8, (2,), "activation", "forward", "a", "_FusedConv2D")]
    assert paired(one, other, {"": "", "a": "a"}) == [(("Relu", (2,)), ("_FusedConv2D", (2,)))]


def test_layers_that_only_one_has_share_only_equal_buffers() -> None:
    relus = [buffer(8, (2,), "activation", "forward", scope, "Relu") for scope in ("old", "new")]
    one = [relus[0], buffer(4, (1,), "activation", "forward", "old", "Mul")]
    other = [relus[1], buffer(6, (3,), "activation", "forward", "new", "Mul")]
    assert paired(one, other, {"": ""}) == [
        (("Relu", (2,)), ("Relu", (2,))), (("Mul", (1,)), None), (None, ("Mul", (3,)))
    ]  # fmt: skip


def test_an_unknown_size_has_no_change() -> None:
    one = report_of([buffer(None, (None, 2), "activation", "forward", "a", "Mul")], at_least=True)
    other = report_of([buffer(8, (1, 2), "activation", "forward", "a", "Mul")])
    found = diff_reports(one, other)
    assert [(t.status, t.change) for t in found.tensors] == [("unknown", None)]
    assert [note[:35] for note in found.notes] == ["the figure before is a lower bound,"]
    assert "–" in as_text(found)


def test_overlapping_ranges_are_told() -> None:
    one = replace(small(), step_peak_range_bytes=(10 * MIB, 20 * MIB))
    assert any("overlap" in note for note in diff_reports(one, grown()).notes)
    assert not any("overlap" in note for note in diff_reports(small(), grown()).notes)
    assert not any("overlap" in note for note in diff_reports(one, one).notes)


def test_a_report_without_variables_by_layer_is_told() -> None:
    old = replace(small(), variables_by_scope={})
    assert any("older graphmem" in note for note in diff_reports(old, grown()).notes)


def test_headline(diff: Diff) -> None:
    what, how, where = headline(diff)
    assert where == "worst moment: backward pass, op Sum in dense, in both"
    assert what == "old.py → new.py, train step, batch 8 → train step, batch 16"
    assert how == "peak 12.0 MiB → 17.0 MiB: 5.01 MiB more (+41.6 %)"
    assert headline(diff_reports(small(), small()))[1].endswith("no change")
    assert in_words(-1024, 2048) == "1.00 KiB less (-50.0 %)"
    assert in_words(1024, 0) == "1.00 KiB more"


def test_targets_of_one_name_are_told_apart() -> None:
    one, other = replace(small(), target="old/model.py"), replace(small(), target="new/model.py")
    assert headline(diff_reports(one, other))[0] == "old/model.py → new/model.py, train step, batch 8"


def test_text(diff: Diff) -> None:
    text = as_text(diff, width=90)
    assert max(map(len, text.splitlines())) <= 90
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "dense 12.0 MiB 16.0 MiB +4.01 MiB +4.00 MiB +5.86 KiB" in lines
    assert "extra (new) 0 B 1.00 MiB +1.00 MiB +1.00 MiB +7 B" in lines
    assert "+8.00 MiB grew activation 512×4096→8192 dense" in lines
    assert "-4.00 MiB moved out scratch – dense" in lines
    assert "batch 8 16" in lines
    assert "\x1b[" not in text
    assert "\x1b[1m" in as_text(diff, color=True)


def test_repeated_layers_are_one_row_and_hidden_ones_are_in_the_sum() -> None:
    def net(width: int) -> Report:
        blocks = [buffer(width, (width,), "activation", "forward", f"net/block_{n}", "Relu") for n in range(1, 5)]
        others = [buffer(8 + width % 9, (2,), "gradient", "backward", f"net/{name}", "Mul") for name in "abc"]
        return report_of([*blocks, *others])

    text = as_text(diff_reports(net(1000), net(2005)), top=1)
    assert " block_{1–4}" in text
    assert "+3.93 KiB  4 grew" in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert any(line.startswith("… 3 others") for line in lines)
    total = next(line for line in lines if line.startswith("all layers"))
    assert total.split()[6:8] == ["+3.94", "KiB"]


def test_a_new_name_is_told() -> None:
    one = report_of([], variables_by_scope={"net/fc": {"weight": 40}}, weight_bytes=40)
    other = report_of([], variables_by_scope={"net/fc_7": {"weight": 400}}, weight_bytes=400)
    assert "net/fc_7 (was net/fc)" in as_text(diff_reports(one, other))


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_has_the_figures(diff: Diff, ending: str) -> None:
    text = FORMATS[ending](diff, 10)
    assert ("12603392" if ending in (".json", ".csv") else "17.0") in text
    assert text.endswith("\n")


def test_markdown(diff: Diff) -> None:
    text = as_markdown(diff)
    assert text.startswith("**old.py → new.py, train step")
    assert "### Which layers changed in net" in text
    assert "| extra (new)" in text


def test_json(diff: Diff) -> None:
    data = json.loads(FORMATS[".json"](diff, 1))
    assert data["schema"] == 1
    assert data["change_bytes"] == diff.change
    assert data["before"]["needed_bytes"] + data["change_bytes"] == data["after"]["needed_bytes"]
    assert data["by_scope"][0] == {
        "scope": "net/dense", "before_scope": "net/dense", "after_scope": "net/dense", "before_bytes": 12 * MIB + 3000,
        "after_bytes": 16 * MIB + 9000, "change_bytes": 4 * MIB + 6000, "step_before_bytes": 12 * MIB,
        "step_after_bytes": 16 * MIB, "variables_before_bytes": 3000, "variables_after_bytes": 9000,
    }  # fmt: skip
    moved = [item for item in data["tensors"] if item["status"] == "moved out"]
    assert moved == [{
        "status": "moved out", "scope": "net/dense", "role": "scratch", "phase": "backward",
        "made_by": "Conv2DBackpropFilter", "change_bytes": -4 * MIB, "after": None,
        "before": {"tensor": "net/dense/Conv2DBackpropFilter (scratch)", "scope": "net/dense", "bytes": 4 * MIB,
                   "shape": None, "dtype": "", "last_reader": ""},
    }]  # fmt: skip


def test_python(tmp_path) -> None:
    path = tmp_path / "old.json"
    path.write_text(small().to_json())
    assert graphmem.diff(path, grown()).change == diff_reports(small(), grown()).change
    assert str(graphmem.diff(small(), grown())) == as_text(diff_reports(small(), grown()))
    with pytest.raises(TargetError, match="both are reports, which batch cannot change"):
        graphmem.diff(path, grown(), batch=3)
