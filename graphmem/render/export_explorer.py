"""The step for Model Explorer (https://github.com/google-ai-edge/model-explorer): its graph, and data to colour it by.

Formats: `graph_builder.py` and `node_data_builder.py` of its Python package.
"""

from __future__ import annotations

import json
from typing import Any

from graphmem.errors import TargetError
from graphmem.graph.model import Op, Tensor
from graphmem.report.report import Report
from graphmem.units import format_bytes

GRAPH = "step"
"""The id of the graph, to which node data refer."""

_GRADIENT = ({"stop": 0, "bgColor": "#fff4e0"}, {"stop": 1, "bgColor": "#bd431a"})


def as_explorer_graph(report: Report) -> str:
    """JSON of the step's graph: a node per op, in the namespace of its layer, with the tensors that it writes.

    What is Model Explorer's default, output or input "0" of an edge, is left out.

    Raises:
        TargetError: the report holds no step.
    """
    if report.simulation is None:
        raise TargetError("a report loaded from JSON holds no graph to write; analyse its target again.")
    ops, at_peak = report.simulation.graph.ops, _at_peak(report)
    nodes = ",\n".join(json.dumps(_node(ops, op, at_peak.get(op.name, 0))) for op in ops)
    label = json.dumps(f"{report.target} {report.step} step")
    return f'{{"label": {label}, "graphs": [{{"id": "{GRAPH}", "nodes": [\n{nodes}\n]}}]}}\n'


def as_node_data(report: Report) -> str:
    """JSON to colour the nodes of `as_explorer_graph` by: the bytes alive at the peak that each op made."""
    results = {name: {"value": size} for name, size in _at_peak(report).items()}
    return json.dumps({GRAPH: {"results": results, "gradient": list(_GRADIENT)}}, indent=1) + "\n"


def _at_peak(report: Report) -> dict[str, int]:
    """Op -> bytes alive at the peak that it made."""
    sizes: dict[str, int] = {}
    for item in report.frontier:
        if item.bytes:
            sizes[item.op] = sizes.get(item.op, 0) + item.bytes
    return sizes


def _node(ops: list[Op], op: Op, alive: int) -> dict[str, Any]:
    told = {"phase": op.phase, "role": op.role, "source": op.source}
    if alive:
        told["alive at the peak"] = format_bytes(alive)
    edges = [
        {
            "sourceNodeId": ops[producer].name,
            **({"sourceNodeOutputId": str(slot)} if slot else {}),
            **({"targetNodeInputId": str(position)} if position else {}),
        }
        for position, (producer, slot) in enumerate(op.inputs)
    ]
    outputs = [{"id": str(slot), "attrs": _attrs(_tensor(tensor))} for slot, tensor in enumerate(op.outputs)]
    return {
        "id": op.name, "label": op.type, "namespace": op.scope, "attrs": _attrs(told), "incomingEdges": edges,
        "outputsMetadata": outputs,
    }  # fmt: skip


def _tensor(tensor: Tensor) -> dict[str, str]:
    shape = "?" if tensor.shape is None else "×".join("?" if dim is None else str(dim) for dim in tensor.shape)
    size = "unknown" if tensor.nbytes is None else format_bytes(tensor.nbytes)
    return {"shape": shape or "scalar", "dtype": tensor.dtype, "size": size}


def _attrs(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in values.items() if value]
