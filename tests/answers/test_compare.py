"""A comparison: what it says of a step without and with a model, in every format."""

from __future__ import annotations

import csv
import dataclasses
import io
import json

import pytest

from graphmem.answers import compare_text
from graphmem.answers.compare import NO_MODEL, NO_OUTPUT, STATIC, Comparison, compare_report
from graphmem.errors import TargetError
from graphmem.graph.layers import Layer, Layers, Model
from graphmem.graph.model import Variable
from graphmem.report.build import build_report
from graphmem.runtime.simulate import draw
from tests import graphs
from tests.answers.test_compare_estimates import NESTED, SUBCLASSED


def comparison(
    layers: Layers | None = NESTED, static: int | str | None = 5000, measured: int | None = None
) -> Comparison:
    graph = graphs.two_weights()
    graph.info |= {"target": "net.py", "step": "train", "batch": 10}
    if static is not None:
        graph.info[STATIC] = static
    if layers is not None:
        graph.info["models"] = layers.to_plain()
    return compare_report(build_report(draw(graph, orders=1)[0]), measured)


def test_nine_estimates_with_their_ratios() -> None:
    found = comparison()
    assert [item.number for item in found.estimates] == list(range(1, 10))
    assert len({item.name for item in found.estimates}) == 9
    for item in found.estimates:
        assert item.bytes is not None
        assert item.ratio == item.bytes / found.peak_bytes
        assert item.says.endswith(".")
        assert item.source
    assert found.peak_bytes == found.report.needed_bytes
    by_number = {item.number: item for item in found.estimates}
    assert by_number[7].bytes == found.report.naive_sum_bytes
    assert by_number[8].bytes == 5000
    assert [by_number[n].prints for n in (1, 2, 3, 4)] == ["", "0.0 GiB", "902 bytes", "8464 bits"]


def test_bytes_per_parameter_follow_the_optimizer() -> None:
    found = comparison().report.simulation
    assert found is not None
    weights = [variable for variable in found.graph.variables if variable.role == "weight"]
    for slots, each in ((0, 8), (1, 12), (2, 16)):
        graph = graphs.two_weights()
        graph.info |= {"step": "train", "models": NESTED.to_plain()}
        for weight in weights:
            of = weight.dtype, weight.shape, weight.nbytes, "optimizer state", False, weight.name
            graph.variables += [Variable(f"{weight.name}_{slot}", *of) for slot in range(slots)]
        last = compare_report(build_report(draw(graph, orders=1)[0])).estimates[8]
        assert (last.name, last.bytes) == (f"{each} bytes per parameter", each * 45)


def test_without_training_only_the_weights_count() -> None:
    graph = graphs.two_weights()
    graph.info |= {"step": "predict", "models": NESTED.to_plain()}
    last = compare_report(build_report(draw(graph, orders=1)[0])).estimates[8]
    assert (last.name, last.bytes) == ("4 bytes per parameter", 4 * 45)


def test_a_step_without_a_model_has_no_estimate_from_layers() -> None:
    found = comparison(None, static=None)
    assert [item.number for item in found.estimates if item.bytes is None] == [1, 2, 3, 4, 5, 6, 8, 9]
    assert {item.says for item in found.estimates if item.number in (1, 9)} == {NO_MODEL}
    assert found.estimates[7].says.startswith("Not run: it is made while a step is traced, by `graphmem compare` and")
    assert "–" in str(found)


def test_undeclared_outputs_make_lower_bounds_and_are_named() -> None:
    found = comparison(SUBCLASSED)
    assert [item.number for item in found.estimates if item.at_least] == [1, 2, 3, 4, 5, 6]
    assert "The model declares no output of first: estimates from layers leave it out (≥)." in found.notes
    assert "≥" in str(found)


def test_a_model_that_declares_nothing_gets_no_figure_for_outputs() -> None:
    own = Layers((Model("own", "Net", (Layer("first", "Dense", "float32", 20, 20, None),), None, 20, 20),), (0,))
    found = comparison(own)
    assert (found.estimates[5].bytes, found.estimates[5].says) == (None, NO_OUTPUT)
    assert found.estimates[1].bytes == 4 * 20


def test_json_is_the_documented_schema() -> None:
    data = json.loads(compare_text.as_json(comparison(measured=4321)))
    assert (data["schema"], data["measured_bytes"]) == (1, 4321)
    assert {"peak_bytes", "at_least", "batch", "target", "estimates", "layers", "notes"} <= set(data)
    assert {"name", "bytes", "ratio", "says"} <= set(data["estimates"][0])
    assert data["layers"][2] == {
        "layer": "plain/dense", "class": "Dense", "shape": [6], "activations": 6, "parameters": 30
    }  # fmt: skip


@pytest.mark.parametrize("width", [80, 120])
def test_text_fits(width: int) -> None:
    found = comparison(SUBCLASSED, measured=4321)
    text = compare_text.as_text(found, width, layers=True)
    assert max(map(len, text.splitlines())) <= width
    for item in found.estimates:
        assert item.name in text
    for part in ("simulated peak", "measured peak", "4.22 KiB", "all layers", "plain/dense", "Note"):
        assert part in text


def test_csv_has_every_estimate_and_both_peaks() -> None:
    rows = list(csv.DictReader(io.StringIO(compare_text.FORMATS[".csv"](comparison(measured=4321)).decode())))
    assert len(rows) == 11
    assert rows[7] | {"says": ""} == {
        "number": "8", "estimate": "Grappler's static estimate", "bytes": "5000", "ratio": rows[7]["ratio"],
        "at_least": "false", "prints": "", "says": "", "source": rows[7]["source"],
    }  # fmt: skip
    assert [row["estimate"] for row in rows[9:]] == ["simulated peak", "measured peak"]


def test_every_format_is_written_the_same_each_time(tmp_path) -> None:
    found = comparison()
    starts = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF", ".json": b"{", ".tex": b"% net.py"}
    for ending, write in compare_text.FORMATS.items():
        content = write(found)
        assert content == write(comparison())
        assert content.startswith(starts.get(ending, b""))
        found.render(str(tmp_path / f"a{ending}"))
        assert (tmp_path / f"a{ending}").read_bytes() == content
    assert b"get_model_memory_usage" in compare_text.FORMATS[".svg"](found)
    assert b"\\toprule" in compare_text.FORMATS[".tex"](found)


def test_render_refuses_what_it_cannot_write(tmp_path) -> None:
    found = comparison()
    with pytest.raises(TargetError, match="ending"):
        found.render(str(tmp_path / "a.doc"))
    (tmp_path / "a.csv").write_text("mine")
    with pytest.raises(TargetError, match="exists"):
        found.render(str(tmp_path / "a.csv"))
    assert (tmp_path / "a.csv").read_text() == "mine"
    found.render(str(tmp_path / "a.csv"), force=True)


def test_an_empty_step_has_no_ratios() -> None:
    found = comparison()
    empty = dataclasses.replace(
        found.report, weight_bytes=0, optimizer_bytes=0, other_state_bytes=0, argument_bytes=0, constant_bytes=0,
        step_peak_bytes=0,
    )  # fmt: skip
    again = compare_report(empty)
    assert [item.ratio for item in again.estimates] == [None] * 9
    assert compare_text.chart(again, ".svg").startswith(b"<?xml")
