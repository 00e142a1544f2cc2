"""The line of the user's code that made an op."""

from __future__ import annotations

import os
from typing import Any

from graphmem.graph.model import StepGraph

#: So many stack traces are read to see whether all ops come from one line, as those of `model.fit` do.
SAMPLE = 400


def assign(graph: StepGraph, concrete: Any, files: set[str]) -> None:
    """Set `source` ("model.py:12") of each op that a line of the user's files made.

    Stack traces are costly to read, so one is read per name scope; ops outside of any scope get their own. Ops of the
    backward pass get the line of the forward ops of their layer.
    """
    if not files:
        return
    by_scope: dict[str, str] = {}
    lines: dict[str, str] = {}
    operations = concrete.graph.get_operations()
    sample = {_line(op, files) for op in operations[:: max(1, len(operations) // SAMPLE)]} - {""}
    if len(sample) <= 1:  # one call of a library made all but the inputs
        for op in graph.ops:
            op.source = min(sample, default="") if op.type != "_Arg" else ""
        return
    for op in operations:
        name = op.name
        parent = name.rpartition("/")[0]
        if parent:
            line = by_scope.get(parent)
            if line is None:
                line = by_scope[parent] = _line(op, files)
        else:
            line = _line(op, files)
        if line:
            lines[name] = line
    layers: dict[str, str] = {}
    for op in graph.ops:
        op.source = lines.get(op.name, "")
        if op.source and op.phase == "forward" and op.scope:
            layers.setdefault(op.scope, op.source)
    for op in graph.ops:
        if op.phase != "forward" and op.scope in layers:
            op.source = layers[op.scope]


def _line(op: Any, files: set[str]) -> str:
    """The innermost frame that lies in a user's file."""
    found = ""
    for frame in op.traceback:
        if frame.filename in files:
            found = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    return found
