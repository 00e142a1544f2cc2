"""The line of the user's code that made an op."""

from __future__ import annotations

import os
from typing import Any

from graphmem.graph.model import StepGraph
from graphmem.graph.phases import set_sources

#: So many stack traces are read to see whether all ops come from one line, as those of `model.fit` do.
SAMPLE = 400


def assign(graph: StepGraph, concrete: Any, files: set[str]) -> None:
    """Set `source` ("model.py:12") of each op that a line of the user's files made."""
    set_sources(graph, [op.name for op in graph.ops], lines_of(concrete, files))


def lines_of(concrete: Any, files: set[str]) -> dict[str, str]:
    """Name of an op -> the line of the user's files that made it; if one line made all, that is under "".

    Stack traces are costly to read, so one is read per name scope; ops outside of any scope get their own.
    """
    if not files:
        return {}
    operations = concrete.graph.get_operations()
    sample = {_line(op, files) for op in operations[:: max(1, len(operations) // SAMPLE)]} - {""}
    if len(sample) <= 1:  # one call of a library made all but the inputs
        return dict.fromkeys([""], min(sample, default=""))
    by_scope: dict[str, str] = {}
    lines: dict[str, str] = {}
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
    return lines


def _line(op: Any, files: set[str]) -> str:
    """The innermost frame that lies in a user's file."""
    found = ""
    for frame in op.traceback:
        if frame.filename in files:
            found = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    return found
