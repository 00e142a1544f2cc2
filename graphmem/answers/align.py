"""Which layer of one report is which layer of another: by name, where counters may be others, and by what layers hold.

Keras numbers the layers of a process (`dense`, `dense_1`), so that the same layer may have another number, and a layer
that is added renumbers those after it. Layers are therefore aligned level by level of the scope tree, those of one base
name as sequences; the weights that a layer holds tell which of them is new.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from graphmem.report.report import Report

_COUNTER = re.compile(r"_([1-9]\d*)$")

ALIKE = 0.5
"""Two groups of layers with other names are the same one, renamed, if they share this share of their layers' names."""

_SAME_HOLDINGS, _SAME_NUMBER, _SAME_BASE = 4, 2, 1
"""What a pair of layers of one base name scores; equal weights say more than an equal number."""


@dataclass
class Layers:
    """The scope tree of a report.

    Attributes:
        children: scope -> the scopes right below it, in the order in which the report names them.
        holds: scope -> what tells it from others whatever its name: its weights, and its ops where they are known.
    """

    children: dict[str, dict[str, None]] = field(default_factory=dict)
    holds: dict[str, Counter[Hashable]] = field(default_factory=dict)

    def below(self, scope: str) -> set[str]:
        """Names of everything below a scope, as seen from it and without counters."""
        found, todo = set(), list(self.children.get(scope, ()))
        while todo:
            child = todo.pop()
            found.add("/".join(base(part) for part in child.removeprefix(f"{scope}/").split("/")))
            todo += self.children.get(child, ())
        return found


def align(before: Report, after: Report) -> dict[str, str]:
    """Scope of `after` -> the same one of `before`, for every scope that both have.

    The top, "", is always the same one.
    """
    ops = before.simulation is not None and after.simulation is not None
    old, new = layers_of(before, ops), layers_of(after, ops)
    found, todo = {"": ""}, [("", "")]
    while todo:
        was, now = todo.pop()
        for one, other in _pairs(old, new, list(old.children.get(was, ())), list(new.children.get(now, ()))):
            found[other] = one
            todo.append((one, other))
    return found


def layers_of(report: Report, with_ops: bool = False) -> Layers:
    """The scope tree of all that a report names, with its ops if there is a graph and they are wanted."""
    layers = Layers()
    for scope in _scopes(report):
        parts = scope.split("/") if scope else []
        for depth in range(len(parts)):
            layers.children.setdefault("/".join(parts[:depth]), {})["/".join(parts[: depth + 1])] = None
    for scope, roles in report.variables_by_scope.items():
        if "weight" in roles:
            _add(layers, scope, ("weight", roles["weight"]))
    if with_ops and report.simulation is not None:
        for op in report.simulation.graph.ops:
            if op.phase == "forward" and op.outputs:
                _add(layers, op.scope, (op.type, op.outputs[0].shape))
    return layers


def base(name: str) -> str:
    """A name without the counter that makes it unique.

    >>> base("dense_12"), base("dense"), base("conv_0")
    ('dense', 'dense', 'conv_0')
    """
    return _COUNTER.sub("", name)


def _scopes(report: Report) -> Iterator[str]:
    if report.simulation is not None:
        yield from (op.scope for op in report.simulation.graph.ops)
    yield from report.variables_by_scope
    yield from (row.scope for row in report.by_scope)
    yield from (buffer.last_reader_scope for buffer in report.frontier)
    yield report.peak.scope


def _add(layers: Layers, scope: str, held: Hashable) -> None:
    """Say of a scope, and of all above it, that it holds something."""
    while scope:
        layers.holds.setdefault(scope, Counter())[held] += 1
        scope = scope.rpartition("/")[0]


def _pairs(old: Layers, new: Layers, was: list[str], now: list[str]) -> list[tuple[str, str]]:
    """Children of one scope in pairs: those of one base name, then renamed ones."""
    found = []
    for name in dict.fromkeys(base(_leaf(scope)) for scope in was):
        mine = sorted((scope for scope in was if base(_leaf(scope)) == name), key=_number)
        others = sorted((scope for scope in now if base(_leaf(scope)) == name), key=_number)
        found += _as_sequences(old, new, mine, others)
    left = [scope for scope in was if scope not in {one for one, _ in found}]
    right = [scope for scope in now if scope not in {other for _, other in found}]
    return found + _renamed(old, new, left, right)


def _as_sequences(old: Layers, new: Layers, was: list[str], now: list[str]) -> list[tuple[str, str]]:
    """The pairs of highest score that keep the order of both: an alignment of two sequences."""
    scores = [[_score(old, new, one, other) for other in now] for one in was]
    best = [[0] * (len(now) + 1) for _ in range(len(was) + 1)]
    for i in reversed(range(len(was))):
        for j in reversed(range(len(now))):
            best[i][j] = max(scores[i][j] + best[i + 1][j + 1], best[i + 1][j], best[i][j + 1])
    found, i, j = [], 0, 0
    while i < len(was) and j < len(now):
        if best[i][j] == scores[i][j] + best[i + 1][j + 1]:
            found.append((was[i], now[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _score(old: Layers, new: Layers, one: str, other: str) -> int:
    same_holdings = one in old.holds and old.holds[one] == new.holds.get(other)
    same_number = _number(one) == _number(other)
    return _SAME_BASE + _SAME_HOLDINGS * same_holdings + _SAME_NUMBER * same_number


def _renamed(old: Layers, new: Layers, was: list[str], now: list[str]) -> list[tuple[str, str]]:
    """Pairs of other names: layers that hold the same, in their order; groups with mostly the same layers below."""
    found = []
    free = dict.fromkeys(now)
    below = {scope: new.below(scope) for scope in now}
    for one in was:
        holds, mine = old.holds.get(one), old.below(one)
        match = next((scope for scope in free if holds and holds == new.holds.get(scope)), None)
        if match is None:
            nearest = max(free, key=lambda scope: _alike(mine, below[scope]), default=None)
            match = nearest if nearest is not None and _alike(mine, below[nearest]) >= ALIKE else None
        if match is not None:
            found.append((one, match))
            del free[match]
    return found


def _alike(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def _leaf(scope: str) -> str:
    return scope.rpartition("/")[2]


def _number(scope: str) -> int:
    match = _COUNTER.search(scope)
    return int(match[1]) if match else 0
