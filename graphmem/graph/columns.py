"""A `StepGraph` as columns of JSON data, and back with every field checked.

Ops are stored column by column, and what repeats (types, scopes, attributes, shapes…) once in a table with an index
per use: a graph of 100,000 ops loads in a second. `docs/trace-format.md` describes the columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from graphmem.graph.checked import a, argument, entries, entry, made, tensor, variable
from graphmem.graph.model import Op, StepGraph, Tensor
from graphmem.graph.plain import decode, encode

TEXT_COLUMNS = ("type", "scope", "phase", "role", "source", "device")
"""Fields of an op whose texts repeat: stored as an index into a table."""


class _Table:
    """Distinct values in the order of their first use."""

    def __init__(self) -> None:
        self.index: dict[Any, int] = {}

    def add(self, value: Any) -> int:
        return self.index.setdefault(value, len(self.index))


def to_columns(graph: StepGraph) -> dict[str, Any]:
    """The graph as data that strict JSON can write.

    Raises:
        ValueError: an attribute or an entry of `info` is not plain data; names it.
    """
    tables = {name: _Table() for name in (*TEXT_COLUMNS, "attrs", "tensor")}
    column: dict[str, list[int]] = {name: [] for name in (*tables, "inputs", "controls")}
    counts: dict[str, list[int]] = {name: [] for name in ("inputs", "controls", "outputs")}
    for op in graph.ops:
        for name in TEXT_COLUMNS:
            column[name].append(tables[name].add(getattr(op, name)))
        column["attrs"].append(tables["attrs"].add(_plain_text(op)))
        for producer, slot in op.inputs:
            column["inputs"] += (producer, slot)
        column["controls"] += op.controls
        for output in op.outputs:
            column["tensor"].append(tables["tensor"].add((output.dtype, output.shape, output.nbytes, output.host)))
        for name in counts:
            counts[name].append(len(getattr(op, name)))
    values: dict[str, list[Any]] = {name: list(table.index) for name, table in tables.items()}
    values["attrs"] = [json.loads(text) for text in values["attrs"]]
    return {
        "name": [op.name for op in graph.ops],
        "tables": values,
        "columns": column,
        "counts": counts,
        "variables": [
            [v.name, v.dtype, v.shape, v.nbytes, v.role, v.trainable, v.slot_of, v.scope] for v in graph.variables
        ],
        "arguments": [[a.name, a.dtype, a.shape, a.nbytes] for a in graph.arguments],
        "made": [[one.variable, one.nbytes, one.how, one.until] for one in graph.made],
        "kept_constants": graph.kept_constants,
        "info": encode(graph.info),
    }


def _plain_text(op: Op) -> str:
    if not op.attrs:
        return "{}"
    try:
        return json.dumps(encode(op.attrs))
    except ValueError as error:
        raise ValueError(f"op {op.name!r} has an attribute that cannot be saved: {error}") from error


def from_columns(data: Any) -> StepGraph:
    """The graph that `to_columns` was given.

    Raises:
        ValueError: a field is missing, of the wrong type or out of range.
    """
    names = entries(str, data, "name")
    tables, columns, counts = entry(data, "tables"), entry(data, "columns"), entry(data, "counts")
    texts = [_look_up(columns, name, entries(str, tables, name), len(names)) for name in TEXT_COLUMNS]
    attrs = _look_up(columns, "attrs", [decode(row) for row in entries(dict, tables, "attrs")], len(names))
    rows = [tensor(row) for row in entries(list, tables, "tensor")]
    tensors = [Tensor(*row) for row in _look_up(columns, "tensor", rows)]
    reads = entries(int, columns, "inputs")
    inputs = _cut(counts, "inputs", list(zip(reads[::2], reads[1::2], strict=True)), len(names))
    controls = _cut(counts, "controls", entries(int, columns, "controls"), len(names))
    outputs = _cut(counts, "outputs", tensors, len(names))
    ops = [
        Op(name, kind, read, after, writes, dict(attr), scope, phase, role, source, device)
        for name, read, after, writes, attr, kind, scope, phase, role, source, device in zip(
            names, inputs, controls, outputs, attrs, *texts, strict=True
        )
    ]
    return StepGraph(
        ops=ops,
        variables=[variable(row) for row in entries(list, data, "variables")],
        arguments=[argument(row) for row in entries(list, data, "arguments")],
        info=decode(a(dict, entry(data, "info"), "'info'")),
        made=[made(row) for row in entries(list, data, "made")] if "made" in data else [],
        kept_constants=a(int, data.get("kept_constants", 0), "'kept_constants'"),
    )


def _look_up(columns: Any, name: str, table: list[Any], rows: int | None = None) -> list[Any]:
    """A column of indices as the values of its table."""
    column = entries(int, columns, name)
    if rows is not None and len(column) != rows:
        raise ValueError(f"{name!r} has {len(column)} entries for {rows} ops")
    if column and not 0 <= min(column) <= max(column) < len(table):
        raise ValueError(f"{name!r} has an index out of its table")
    return [table[index] for index in column]


def _cut(counts: Any, name: str, flat: list[Any], rows: int) -> Iterator[tuple[Any, ...]]:
    """A flat column as one tuple per op."""
    lengths = entries(int, counts, name)
    if len(lengths) != rows or sum(lengths) != len(flat) or (lengths and min(lengths) < 0):
        raise ValueError(f"the counts of {name!r} do not add up")
    return (tuple(flat[end - length : end]) for length, end in zip(lengths, accumulate(lengths), strict=True))
