"""Lets others see the GraphDef that an executor would run, at the moment when a step has been traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_examiners: list[Callable[[Any, str], None]] = []


@contextmanager
def examined_by(examiner: Callable[[Any, str], None]) -> Iterator[None]:
    """Within the block, give the examiner each GraphDef that is traced for the op-by-op executor, and its device."""
    _examiners.append(examiner)
    try:
        yield
    finally:
        _examiners.remove(examiner)


def examine(graph_def: Any, device: str) -> None:
    """Show a GraphDef, which nobody may change, to whoever wants to see it."""
    for examiner in _examiners:
        examiner(graph_def, device)
