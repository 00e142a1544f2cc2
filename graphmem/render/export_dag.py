"""The DAG of tensors for other programs: GraphML (Gephi, yEd, Cytoscape), and node-link JSON (NetworkX, D3)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from graphmem.report.report import Report

_TYPES = {bool: "boolean", int: "long", str: "string"}
_HEAD = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
"""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_Data = dict[str, Any]


def as_graphml(report: Report) -> bytes:
    """`Report.dag` as GraphML, in UTF-8, a line per node and edge; `networkx.read_graphml` reads it back.

    NetworkX's own writer takes several times as long, and the memory of an object per value.

    Raises:
        TargetError: the report holds no step.
    """
    dag = report.dag
    keys = [
        *_keys("graph", [dag.graph]),
        *_keys("node", (data for _, data in dag.nodes(data=True))),
        *_keys("edge", (data for _, _, data in dag.edges(data=True))),
    ]
    nodes = (f"<node id={_quoted(name)}>{_data('node', data)}</node>\n" for name, data in dag.nodes(data=True))
    edges = (
        f"<edge source={_quoted(source)} target={_quoted(target)}>{_data('edge', data)}</edge>\n"
        for source, target, data in dag.edges(data=True)
    )
    graph = f'<graph edgedefault="directed">{_data("graph", dag.graph)}\n'
    return "".join([_HEAD, *keys, graph, *nodes, *edges, "</graph>\n</graphml>\n"]).encode()


def _keys(kind: str, found: Iterable[_Data]) -> Iterator[str]:
    """What stands in the nodes, edges or graph: a key for each name of an attribute, in alphabetical order."""
    types = {name: type(value) for data in found for name, value in data.items()}
    for name in sorted(types):
        yield f'<key id="{_key(kind, name)}" for="{kind}" attr.name="{name}" attr.type="{_TYPES[types[name]]}"/>\n'


def _key(kind: str, name: str) -> str:
    return name if kind == "node" else f"{kind}_{name}"


def _data(kind: str, data: _Data) -> str:
    return "".join([_datum(_key(kind, name), value) for name, value in data.items()])


@lru_cache(maxsize=4096, typed=True)  # 1 is not True
def _datum(key: str, value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else escape(_legal(str(value)))
    return f'<data key="{key}">{text}</data>'


def _quoted(name: str) -> str:
    return quoteattr(_legal(name))


def _legal(text: str) -> str:
    """XML has no way to write some characters."""
    return text if text.isprintable() else _NOT_XML.sub("\ufffd", text)


def as_node_link(report: Report) -> str:
    """`Report.dag` as JSON, a line per node and edge; `networkx.node_link_graph(data, edges="edges")` reads it back.

    Raises:
        TargetError: the report holds no step.
    """
    import networkx

    data = networkx.node_link_data(report.dag, edges="edges")
    nodes, edges = (",\n".join(map(json.dumps, data.pop(key))) for key in ("nodes", "edges"))
    return f'{json.dumps(data)[:-1]},\n"nodes": [\n{nodes}\n],\n"edges": [\n{edges}\n]}}\n'
