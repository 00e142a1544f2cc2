"""Lets others see the GraphDef that an executor would run, at the moment when a step has been traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Examiner = Callable[[Any, str], dict[str, Any]]
"""Is given a GraphDef and its device; what it returns is told by `StepGraph.info`: plain data."""

_examiners: list[Examiner] = []


@contextmanager
def examined_by(examiner: Examiner) -> Iterator[None]:
    """Within the block, give the examiner each GraphDef that is traced for the op-by-op executor, and its device."""
    _examiners.append(examiner)
    try:
        yield
    finally:
        _examiners.remove(examiner)


def examine(graph_def: Any, device: str) -> dict[str, Any]:
    """Show a GraphDef, which nobody may change, to whoever wants to see it; what they say of it."""
    found: dict[str, Any] = {}
    for examiner in _examiners:
        found |= examiner(graph_def, device)
    return found
