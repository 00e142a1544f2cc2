"""The points of a sweep: what is varied, over which values; a point as plain data; and the analysis of one.

A point is analysed in a process of its own, so that a crash, a policy or what a model leaves behind stays there.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import importlib.metadata
import itertools
import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from graphmem.answers.points import Point, Value
from graphmem.errors import GraphmemError, InternalError, TargetError
from graphmem.settings import Settings
from graphmem.target.step import Options
from graphmem.version import __version__

CHILD = "graphmem.answers.sweep_points"

FIGURES = (
    "needed_bytes", "step_peak_bytes", "weight_bytes", "optimizer_bytes", "other_state_bytes", "argument_bytes",
    "constant_bytes", "output_bytes", "at_least", "batch", "step", "runtime", "device", "card",
)  # fmt: skip
"""What is kept of a report, by the names of `Report`."""


@dataclasses.dataclass(frozen=True)
class Axis:
    """One thing that is varied, and its values in the order given."""

    name: str
    values: tuple[Value, ...]


def parse_axis(text: str) -> Axis:
    """Read `NAME=V1,V2,...`; a value is a literal of Python, or else a text.

    >>> parse_axis("batch=8,16"), parse_axis("optimizer=adam,sgd").values
    (Axis(name='batch', values=(8, 16)), ('adam', 'sgd'))

    Raises:
        TargetError: it is none, or a value comes twice.
    """
    name, equals, rest = text.partition("=")
    words = [word.strip() for word in _split(rest)]
    if not equals or not name.strip() or not all(words):
        raise TargetError(f"{text!r} is not NAME=VALUE,VALUE,... such as batch=8,16,32.")
    return axis(name.strip(), [_literal(word) for word in words])


def axis(name: str, values: Iterable[Value]) -> Axis:
    """An axis with values that differ.

    Raises:
        TargetError: there are none, or one comes twice.
    """
    listed = list(values)
    twice = [value for index, value in enumerate(listed) if value in listed[:index]]
    if not listed or twice:
        what = f"the value {twice[0]!r} twice" if twice else "no value"
        raise TargetError(f"{name} has {what}; give each value once.")
    return Axis(name, tuple(listed))


def _split(text: str) -> list[str]:
    """Parts between commas outside of brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth <= 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _literal(word: str) -> Value:
    try:
        value = ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return word
    return value if isinstance(value, (int, float, str, bool)) or value is None else word


def points_of(base: Point, axes: Sequence[Axis]) -> list[tuple[dict[str, Value], Point | GraphmemError]]:
    """Every combination of values, the last axis fastest, with its point or why it is none.

    Raises:
        TargetError: two axes have one name, or there is none.
    """
    names = [one.name for one in axes]
    if not axes:
        raise TargetError("there is nothing to sweep over: give --over batch=8,16,32.")
    if len(set(names)) < len(names):
        raise TargetError(f"{names} names one thing twice; give all its values at once.")
    found: list[tuple[dict[str, Value], Point | GraphmemError]] = []
    for values in itertools.product(*(one.values for one in axes)):
        point: Point | GraphmemError = base
        for name, value in zip(names, values, strict=True):
            if isinstance(point, Point):
                try:
                    point = point.at(name, value)
                except GraphmemError as error:
                    point = error
        found.append((dict(zip(names, values, strict=True)), point))
    return found


def as_request(point: Point) -> dict[str, Any]:
    """A point as JSON-ready data that another process, or another machine with the same files, can analyse."""
    options = {item.name: getattr(point.options, item.name) for item in dataclasses.fields(Options)}
    settings = {item.name: getattr(point.settings, item.name) for item in dataclasses.fields(Settings)}
    options |= {"dims": dict(options["dims"])}
    settings |= {"cards": {name: dict(card) for name, card in settings["cards"].items()}}
    return {"target": point.target, "options": options, "settings": settings, "policy": point.policy}


def identity(point: Point) -> str:
    """What a result is of: the request, the target's file and the versions, as a hash."""
    import json

    path = point.target.partition(".py:")[0] + ".py" if ".py:" in point.target else point.target
    content = hashlib.sha256(Path(path).read_bytes()).hexdigest() if os.path.isfile(path) else ""
    said = [as_request(point), content, __version__, importlib.metadata.version("tensorflow")]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def analyse(
    request: dict[str, Any], folder: str, timeout: float, stop: threading.Event | None = None
) -> dict[str, Any]:
    """The figures of a point, or its error, from a new process.

    Returns:
        What `figures` gives; or `error`, `exit_code` and `excerpt`.
    """
    from graphmem.measure.children import ask

    try:
        return ask(CHILD, {**request, "folder": folder}, "analyses the point", timeout, {}, stop)
    except GraphmemError as error:
        return failure(error)


def failure(error: GraphmemError) -> dict[str, Any]:
    """A result that says why there is none."""
    kind = "internal error: " if isinstance(error, InternalError) else ""
    return {"error": f"{kind}{error}", "exit_code": error.exit_code, "excerpt": getattr(error, "excerpt", "")}


def main(folder: str, parent: int) -> None:
    """The process that analyses one point."""
    from graphmem.measure.children import answer

    answer(folder, parent, _analysed)


def _analysed(request: dict[str, Any]) -> dict[str, Any]:
    try:
        os.chdir(request["folder"])
    except OSError as error:
        raise TargetError(f"there is no folder {request['folder']} where the point is analysed.") from error
    options = {**request["options"]}
    options |= {name: tuple(options[name]) for name in ("inputs", "script_args")}
    try:
        return figures(request["target"], Options(**options), Settings(**request["settings"]), request["policy"])
    except GraphmemError:
        raise
    except Exception as error:
        raise InternalError(f"{type(error).__name__}: {error}") from error


def figures(target: str, options: Options, settings: Settings, policy: str) -> dict[str, Any]:
    """What a table of a sweep holds of one analysis."""
    from graphmem import api
    from graphmem.trace import environment

    if policy:
        environment.prepare()
        from graphmem.target.policy import dtype_policy

        with dtype_policy(policy, target):
            report = api.analyze_target(target, options, settings)
        built = report.facts.get("dtype policy", policy)
        if policy not in built.split(", "):
            raise TargetError(f"policy {policy}: the target sets its own, {built}.")
    else:
        report = api.analyze_target(target, options, settings)
    allocator = report.allocator
    fails = allocator["fails"] is not None
    return {
        **{name: getattr(report, name) for name in FIGURES},
        "in_use_bytes": None if fails else allocator["peak_in_use_bytes"],
        "budget_bytes": allocator["limit_bytes"],
        "fits": None if allocator["limit_bytes"] is None else not fails,
        "versions": report.versions,
    }
