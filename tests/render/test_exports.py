"""Files for other programs, read by their own readers where pip has one, else held against their formats."""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import re
import sys
from collections import Counter
from dataclasses import replace
from types import ModuleType
from typing import Any

import networkx
import pytest

from graphmem.errors import TargetError
from graphmem.render import export_trace
from graphmem.render.export_dag import as_graphml, as_node_link
from graphmem.render.export_explorer import GRAPH, as_explorer_graph, as_node_data
from graphmem.render.export_speedscope import as_speedscope
from graphmem.render.export_trace import as_chrome_trace
from graphmem.report.report import Report
from tests import graphs
from tests.example_reports import CASES, mlp, with_timeline
from tests.steps import report_of, tower, two_layers


def same_graph(read: networkx.DiGraph, report: Report) -> None:
    dag = report.dag
    assert dict(read.nodes(data=True)) == dict(dag.nodes(data=True))
    assert list(read.edges(data=True)) == list(dag.edges(data=True)) or (
        sorted(map(str, read.edges(data=True))) == sorted(map(str, dag.edges(data=True)))
    )
    assert sum(size for _, size in read.nodes(data="peak_bytes")) == report.step_peak_bytes


def test_names_are_legal_xml_and_typed() -> None:
    graph = graphs.two_weights()
    graph.ops[3].source = 'a<b>&"c\x00\x1b\ud800é.py:1'
    report = report_of(graph)
    text = as_graphml(report)
    read = networkx.read_graphml(io.BytesIO(text))
    assert read.nodes[f"{graph.ops[3].name}:0"]["source"] == 'a<b>&"c\ufffd\ufffd\ufffdé.py:1'
    ids = re.findall(rb'<key id="(\w+)"', text)
    assert len(ids) == len(set(ids))
    assert {type(at_peak) for _, at_peak in read.nodes(data="at_peak")} == {bool}
    assert {type(size) for _, size in read.nodes(data="peak_bytes")} == {int}
    assert read.graph["peak_bytes"] == report.step_peak_bytes


@pytest.mark.parametrize("make", [graphs.two_weights, graphs.loop, graphs.unknown_size, tower])
def test_networkx_reads_the_graphs_back(make: Any) -> None:
    report = report_of(make())
    same_graph(networkx.read_graphml(io.BytesIO(as_graphml(report))), report)
    data = json.loads(as_node_link(report))
    same_graph(networkx.node_link_graph(data, edges="edges"), report)


def test_graphml_is_the_same_each_time() -> None:
    assert as_graphml(two_layers()) == as_graphml(two_layers())
    assert as_graphml(two_layers()).startswith(b'<?xml version="1.0" encoding="utf-8"?>\n<graphml ')


def test_a_report_of_json_has_no_graph() -> None:
    loaded = Report.from_dict(two_layers().to_dict(timeline=True))
    for write in (as_graphml, as_node_link, as_explorer_graph):
        with pytest.raises(TargetError, match="loaded from JSON"):
            write(loaded)


# --- Chrome's trace format

REQUIRED = {
    "M": {"name", "args"},
    "C": {"ts", "name", "args"},
    "X": {"ts", "dur", "name"},
    "b": {"ts", "id", "cat", "name"},
    "e": {"ts", "id", "cat", "name"},
}
"""Kind of event -> what it needs besides `ph` and `pid`."""


def events(report: Report) -> list[dict[str, Any]]:
    data = json.loads(as_chrome_trace(report))
    assert set(data) == {"displayTimeUnit", "otherData", "traceEvents"}
    assert data["displayTimeUnit"] == "ns"
    return data["traceEvents"]


def test_every_event_has_what_its_kind_needs() -> None:
    for event in events(two_layers()):
        assert REQUIRED[event["ph"]] | {"ph", "pid"} <= set(event)
        assert all(
            isinstance(event[key], int) and event[key] >= 0 for key in ("ts", "dur", "pid", "tid") if key in event
        )
        if event["ph"] == "C":
            assert all(isinstance(value, int) for value in event["args"].values())


def test_the_counter_peaks_at_what_is_needed() -> None:
    report = two_layers()
    counts = [(event["ts"], sum(event["args"].values())) for event in events(report) if event["ph"] == "C"]
    assert max(size for _, size in counts) == report.needed_bytes
    assert next(ts for ts, size in counts if size == report.needed_bytes) == report.peak.position
    assert [ts for ts, _ in counts] == sorted({ts for ts, _ in counts})


def test_ops_phases_and_frontier() -> None:
    report = two_layers()
    found = events(report)
    slices = [event for event in found if event["ph"] == "X" and event["tid"] == 1]
    assert [event["ts"] for event in slices] == list(range(report.peak.positions))
    assert slices[report.peak.position]["args"]["op"] == report.peak.op
    assert sum(event["dur"] for event in found if event["ph"] == "X" and event["tid"] == 2) == report.peak.positions
    spans = Counter(event["id"] for event in found if event["ph"] in "be")
    assert set(spans.values()) == {2}
    alive = sum(event["args"]["bytes"] for event in found if event["ph"] == "b")
    assert alive == report.step_peak_bytes


def test_a_long_schedule_is_told_in_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    report = report_of(tower(30))
    monkeypatch.setattr(export_trace, "POINTS", 20)
    found = events(report)
    counts = [(event["ts"], sum(event["args"].values())) for event in found if event["ph"] == "C"]
    assert len(counts) <= 20
    assert max(size for _, size in counts) == report.needed_bytes
    slices = [event for event in found if event["ph"] == "X" and event["tid"] == 1]
    assert len(slices) == 20
    assert [event["ts"] + event["dur"] for event in slices] == [
        *(event["ts"] for event in slices[1:]), report.peak.positions
    ]  # fmt: skip
    assert report.peak.op in {event["args"]["op"] for event in slices}
    each = -(-report.peak.positions // 20)
    assert f"each event the highest of {each}" in found[0]["args"]["name"]


def test_a_report_of_json_has_counters() -> None:
    kinds = {event["ph"] for event in events(Report.from_dict(with_timeline().to_dict(timeline=True)))}
    assert kinds == {"M", "C", "X", "b", "e"}
    with pytest.raises(TargetError, match="without its timeline"):
        as_chrome_trace(mlp())


# --- speedscope

SPEEDSCOPE = {
    "type": "object",
    "required": ["$schema", "shared", "profiles"],
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "name": {"type": "string"},
        "exporter": {"type": "string"},
        "activeProfileIndex": {"type": "integer"},
        "shared": {
            "type": "object",
            "required": ["frames"],
            "properties": {"frames": {"type": "array", "items": {"type": "object", "required": ["name"]}}},
        },
        "profiles": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "name", "unit", "startValue", "endValue", "samples", "weights"],
                "properties": {
                    "type": {"const": "sampled"},
                    "unit": {"enum": ["none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"]},
                    "samples": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
                    "weights": {"type": "array", "items": {"type": "integer"}},
                },
            },
        },
    },
    "additionalProperties": False,
}
"""The part of speedscope's format specification that sampled profiles have."""


@pytest.mark.parametrize("case", CASES)
def test_speedscope(case: str) -> None:
    report = CASES[case]()
    data = json.loads(as_speedscope(report))
    pytest.importorskip("jsonschema").validate(data, SPEEDSCOPE)
    frames = [frame["name"] for frame in data["shared"]["frames"]]
    assert len(set(frames)) == len(frames)
    for profile in data["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"] == report.needed_bytes
        assert all(0 <= frame < len(frames) for stack in profile["samples"] for frame in stack)
    assert [profile["name"] for profile in data["profiles"]] == ["peak by layer", "peak by role", "peak by source line"]


def test_each_layer_of_a_flame_graph_lies_in_one_piece() -> None:
    data = json.loads(as_speedscope(report_of(tower())))
    names = [frame["name"] for frame in data["shared"]["frames"]]
    for profile in data["profiles"]:
        stacks = [[names[frame] for frame in stack] for stack in profile["samples"]]
        for depth in range(1, max(map(len, stacks)) + 1):
            runs = [tuple(stack[:depth]) for stack in stacks if len(stack) >= depth]
            kept = [run for run, before in zip(runs, [None, *runs], strict=False) if run != before]
            assert len(kept) == len(set(kept))
    assert stacks[0][0] == "step"


def test_a_stack_is_the_path_of_the_layer() -> None:
    data = json.loads(as_speedscope(report_of(tower())))
    names = [frame["name"] for frame in data["shared"]["frames"]]
    stacks = [[names[frame] for frame in stack] for stack in data["profiles"][0]["samples"]]
    assert ["step", "tower", "block0_0", "conv", "activation", "MatMul"] in stacks
    assert ["held all along", "input"] in stacks


# --- Model Explorer

NODE = set("id label namespace subgraphIds attrs incomingEdges outputsMetadata inputsMetadata style config".split())


def test_the_graph_of_model_explorer() -> None:
    report = two_layers()
    data = json.loads(as_explorer_graph(report))
    assert set(data) == {"label", "graphs"}
    (graph,) = data["graphs"]
    assert graph["id"] == GRAPH
    names = [node["id"] for node in graph["nodes"]]
    assert names == [op.name for op in report.simulation.graph.ops]
    for node, op in zip(graph["nodes"], report.simulation.graph.ops, strict=True):
        assert set(node) <= NODE
        assert (node["label"], node["namespace"]) == (op.type, op.scope)
        assert all(set(item) == {"key", "value"} and isinstance(item["value"], str) for item in node["attrs"])
        assert [edge["sourceNodeId"] for edge in node["incomingEdges"]] == [names[source] for source, _ in op.inputs]
        edges = node["incomingEdges"]
        places = [(edge.get("sourceNodeOutputId", "0"), edge.get("targetNodeInputId", "0")) for edge in edges]
        assert places == [(str(slot), str(place)) for place, (_, slot) in enumerate(op.inputs)]
        assert len(node["outputsMetadata"]) == len(op.outputs)


def test_node_data_add_up_to_the_step_peak() -> None:
    report = two_layers()
    data = json.loads(as_node_data(report))
    results = data[GRAPH]["results"]
    assert sum(result["value"] for result in results.values()) == report.step_peak_bytes
    assert set(results) <= {op.name for op in report.simulation.graph.ops}
    assert [item["stop"] for item in data[GRAPH]["gradient"]] == [0, 1]


def test_model_explorer_takes_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own classes, which check every name of a field; the server that the package also is stays out."""
    found = importlib.util.find_spec("model_explorer")
    if found is None:
        pytest.skip("Model Explorer is not installed: pip install --no-deps ai-edge-model-explorer")
    package = ModuleType("model_explorer")
    package.__path__ = list(found.submodule_search_locations or [])
    monkeypatch.setitem(sys.modules, "model_explorer", package)
    graph_builder = importlib.import_module("model_explorer.graph_builder")
    node_data = importlib.import_module("model_explorer.node_data_builder")
    report = two_layers()
    (graph,) = json.loads(as_explorer_graph(report))["graphs"]
    nodes = []
    for node in graph["nodes"]:
        edges = [graph_builder.IncomingEdge(**edge) for edge in node.pop("incomingEdges")]
        outputs = [graph_builder.MetadataItem(**item) for item in node.pop("outputsMetadata")]
        nodes.append(graph_builder.GraphNode(**node, incomingEdges=edges, outputsMetadata=outputs))
    assert len(graph_builder.Graph(id=graph["id"], nodes=nodes).nodes) == len(report.simulation.graph.ops)
    written = json.loads(as_node_data(report))
    for data in written.values():
        results = {name: node_data.NodeDataResult(**item) for name, item in data["results"].items()}
        gradient = [node_data.GradientItem(**item) for item in data["gradient"]]
        made = node_data.ModelNodeData({GRAPH: node_data.GraphNodeData(results=results, gradient=gradient)})
        assert json.loads(made.to_json_string())[GRAPH]["results"] == data["results"]


def test_without_a_layer_a_name_is_still_one() -> None:
    report = replace(mlp())
    assert json.loads(as_node_data(report))[GRAPH]["results"]["top/Mean"] == {"value": 4}
