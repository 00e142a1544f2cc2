"""`growth_of_logs`: how large the graph is in each run of a folder of event files, and what of it is left over."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from graphmem.answers.growth.events import Events, read_events
from graphmem.answers.growth.parts import orphans, parts_of
from graphmem.answers.growth.series import growth_per_row
from graphmem.errors import TargetError

MARK = "tfevents"
"""What the name of every event file contains."""


@dataclass(frozen=True)
class Run:
    """One folder with event files.

    Attributes:
        name: the folder, from the one given.
        bytes: of its event files.
        graph_bytes: of the graphs in them.
        nodes: of those graphs.
        function_nodes: nodes in their functions.
        parts: weakly connected parts that hold variables.
        orphans: those of them that belong to no model of the run.
        orphan_nodes: how many nodes those have.
        orphan_scopes: their outermost name scopes.
        layers_told: whether the run tells the layers of its models.
    """

    name: str
    bytes: int
    graph_bytes: int
    nodes: int
    function_nodes: int
    parts: int
    orphans: int
    orphan_nodes: int
    orphan_scopes: tuple[str, ...]
    layers_told: bool


@dataclass
class LogGrowth:
    """The answer of `graphmem growth LOGDIR`.

    Attributes:
        folder: as given.
        runs: in the order in which they began.
        growth: per figure, what a run adds to it, typically; `None`: too few runs to tell.
        notes: what was not read.
    """

    folder: str
    runs: list[Run]
    growth: dict[str, int | None]
    notes: list[str] = field(default_factory=list)

    @property
    def grows(self) -> bool:
        """Whether the graphs grow from run to run."""
        return any((self.growth[name] or 0) > 0 for name in ("graph_bytes", "nodes"))

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready data, schema 1 (see `docs/growth.md`)."""
        runs = [{**asdict(run), "orphan_scopes": list(run.orphan_scopes)} for run in self.runs]
        return {
            "schema": 1, "kind": "logs", "folder": self.folder, "grows": self.grows, "growth": self.growth,
            "runs": runs, "notes": self.notes,
        }  # fmt: skip


FIGURES = ("bytes", "graph_bytes", "nodes", "orphans")


def growth_of_logs(folder: str, progress: Callable[[str], None] = lambda text: None) -> LogGrowth:
    """Read all event files below a folder.

    Args:
        progress: told what goes on.

    Raises:
        TargetError: there are none, or one is damaged.
    """
    found: dict[str, list[Path]] = {}
    for place, _, names in os.walk(folder):
        files = [Path(place) / name for name in names if MARK in name]
        if files:
            found[os.path.relpath(place, folder)] = files
    if not found:
        raise TargetError(f"{folder} holds no event files: no file below it has {MARK!r} in its name.")
    read = []
    for name, files in found.items():
        progress(f"reading {name}")
        read.append((name, read_events(files)))
    read.sort(key=lambda item: (item[1].began, item[0]))
    notes = [
        f"{name} ends in the middle of a record: it is being written, or was cut." for name, one in read if one.cut
    ]
    earlier: set[str] = set()
    runs = [_run(name, events, earlier) for name, events in read]
    rows = [run for run in runs if run.nodes] or runs
    if len(rows) < len(runs):
        notes.append(f"{len(runs) - len(rows)} of {len(runs)} runs hold no graph and do not count for the growth.")
    growth = {name: growth_per_row([getattr(run, name) for run in rows]) for name in FIGURES}
    return LogGrowth(folder, runs, growth, notes)


def _run(name: str, events: Events, earlier: set[str]) -> Run:
    """One run; adds the variables of its graph to those of earlier runs."""
    parts = [part for graph in events.graphs for part in parts_of(graph.nodes)[0]]
    left = orphans(parts, events.layers, earlier)
    for part in parts:
        earlier |= part.variables
    scopes = dict.fromkeys(scope for part in left for scope in part.scopes[:1])
    return Run(
        name=name,
        bytes=events.bytes,
        graph_bytes=sum(graph.bytes for graph in events.graphs) + events.other_graph_bytes,
        nodes=sum(len(graph.nodes) for graph in events.graphs),
        function_nodes=sum(graph.function_nodes for graph in events.graphs),
        parts=len(parts),
        orphans=len(left),
        orphan_nodes=sum(part.nodes for part in left),
        orphan_scopes=tuple(scopes),
        layers_told=bool(events.layers),
    )
