"""The DAG of tensors for other programs: GraphML (Gephi, yEd, Cytoscape), and node-link JSON (NetworkX, D3)."""

from __future__ import annotations

import io
import json

from graphmem.report.report import Report


def as_graphml(report: Report) -> bytes:
    """`Report.dag` as GraphML, in UTF-8; `networkx.read_graphml` reads it back.

    Raises:
        TargetError: the report holds no step.
    """
    import networkx

    out = io.BytesIO()
    networkx.write_graphml_xml(report.dag, out, named_key_ids=True)
    return out.getvalue()


def as_node_link(report: Report) -> str:
    """`Report.dag` as JSON, a line per node and edge; `networkx.node_link_graph(data, edges="edges")` reads it back.

    Raises:
        TargetError: the report holds no step.
    """
    import networkx

    data = networkx.node_link_data(report.dag, edges="edges")
    nodes, edges = (",\n".join(map(json.dumps, data.pop(key))) for key in ("nodes", "edges"))
    return f'{json.dumps(data)[:-1]},\n"nodes": [\n{nodes}\n],\n"edges": [\n{edges}\n]}}\n'
