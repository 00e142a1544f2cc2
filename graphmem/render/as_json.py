"""The report as JSON text that a person can read and a diff can show: a line per key, per buffer, per scope."""

from __future__ import annotations

import json
from typing import Any

from graphmem.report.report import Report


def as_json(report: Report, *, timeline: bool = False) -> str:
    """The report in schema 1 (see `docs/json.md`), with the timeline if asked for and there is one."""
    data = report.to_dict(timeline=timeline)
    return "{" + ",\n ".join(f"{_compact(key)}: {_value(value)}" for key, value in data.items()) + "}"


def _value(value: Any) -> str:
    """Lists and dicts of more than plain values take a line per item."""
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return "[\n  " + ",\n  ".join(map(_compact, value)) + "]"
    if isinstance(value, dict) and any(isinstance(item, (dict, list)) for item in value.values()):
        return "{\n  " + ",\n  ".join(f"{_compact(key)}: {_compact(item)}" for key, item in value.items()) + "}"
    return _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
