"""The peak as flame graphs, for https://www.speedscope.app: by layer, by role, by line of the user's code.

A stack is where a buffer comes from, its weight is its bytes. Format: speedscope's "file format specification".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from graphmem.render.timeline import held_of
from graphmem.report.report import FrontierBuffer, Report

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_Stacks = dict[tuple[str, ...], int]


def as_speedscope(report: Report) -> str:
    """JSON with a sampled profile for each view, all of which add up to `Report.needed_bytes`."""
    held: _Stacks = {("held all along", role): size for role, size in held_of(report).items()}
    views: list[tuple[str, Callable[[FrontierBuffer], Iterable[str]]]] = [
        ("peak by layer", lambda item: (*(item.scope.split("/") if item.scope else ["(no layer)"]), *_what(item))),
        ("peak by role", lambda item: (item.role, f"{item.phase} pass", item.scope or "(no layer)", item.made_by)),
        ("peak by source line", lambda item: (item.source or "(no line)", item.scope or "(no layer)", *_what(item))),
    ]
    frames: dict[str, int] = {}
    profiles = []
    for name, stack_of in views:
        stacks: _Stacks = dict(held)
        for item in report.frontier:
            if item.bytes:
                stack = ("step", *stack_of(item))
                stacks[stack] = stacks.get(stack, 0) + item.bytes
        profiles.append(_profile(name, stacks, frames))
    data = {
        "$schema": _SCHEMA, "exporter": f"graphmem {report.versions.get('graphmem', '')}".strip(),
        "name": f"{report.target} {report.step} step", "activeProfileIndex": 0,
        "shared": {"frames": [{"name": frame} for frame in frames]}, "profiles": profiles,
    }  # fmt: skip
    return json.dumps(data, indent=1) + "\n"


def _what(item: FrontierBuffer) -> tuple[str, str]:
    return item.role, item.made_by


def _profile(name: str, stacks: _Stacks, frames: dict[str, int]) -> dict[str, Any]:
    """One view, at every level the largest first, so that equal frames lie side by side; numbered as they are met."""
    sums: _Stacks = {}
    for stack, size in stacks.items():
        for depth in range(1, len(stack) + 1):
            sums[stack[:depth]] = sums.get(stack[:depth], 0) + size

    def place(stack: tuple[str, ...]) -> list[tuple[int, str]]:
        return [(-sums[stack[: depth + 1]], frame) for depth, frame in enumerate(stack)]

    ranked = sorted(stacks.items(), key=lambda pair: place(pair[0]))
    samples = [[frames.setdefault(frame, len(frames)) for frame in stack] for stack, _ in ranked]
    weights = [size for _, size in ranked]
    return {
        "type": "sampled", "name": name, "unit": "bytes", "startValue": 0, "endValue": sum(weights),
        "samples": samples, "weights": weights,
    }  # fmt: skip
