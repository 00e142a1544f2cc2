"""The weakly connected parts of a graph, and which of them belong to a model of the run that wrote it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from graphmem.answers.growth.events import Node

_VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable", "AutoReloadVariable"})
"""Ops that hold a model's state: a part without one is a loose constant or the like, and nobody's."""

_BOOKKEEPING = frozenset({"NoOp", "SaveV2", "RestoreV2", "MergeV2Checkpoints", "MergeSummary", "ShardedFilename"})
"""Ops that tie parts together which compute nothing in common: initialising, saving and summarising everything."""

_SHARED = frozenset({"keras_learning_phase"})
"""Names of nodes that Keras makes once for all models of a graph."""


@dataclass(frozen=True)
class Part:
    """A weakly connected part of a graph that holds variables.

    Attributes:
        nodes: how many it has.
        scopes: the outermost name scopes of its variables, in the order in which they were made.
        variables: names of its variables.
    """

    nodes: int
    scopes: tuple[str, ...]
    variables: frozenset[str]


def parts_of(nodes: Iterable[Node]) -> tuple[list[Part], int]:
    """The parts that hold variables, in the order in which those were made, and how many nodes lie in none of them.

    Nodes that only initialise, save or summarise, and those that all models share, do not connect anything.
    """
    import networkx as nx

    by_name = {node.name: node for node in nodes}
    own = {name: node for name, node in by_name.items() if node.op not in _BOOKKEEPING and name not in _SHARED}
    graph = nx.DiGraph()
    graph.add_nodes_from(own)
    for name, node in own.items():
        for said in node.inputs:
            source = said.lstrip("^").partition(":")[0]
            if source in own:
                graph.add_edge(source, name)
    part_of = {name: number for number, members in enumerate(nx.weakly_connected_components(graph)) for name in members}
    sizes = Counter(part_of.values())
    variables: dict[int, list[str]] = {}
    for name, node in own.items():
        if node.op in _VARIABLES:
            variables.setdefault(part_of[name], []).append(name)
    parts = [_part(sizes[number], names) for number, names in variables.items()]
    return parts, len(by_name) - sum(part.nodes for part in parts)


def _part(nodes: int, variables: list[str]) -> Part:
    scopes = tuple(dict.fromkeys(name.partition("/")[0] for name in variables))
    return Part(nodes, scopes, frozenset(variables))


def orphans(parts: list[Part], layers: set[str], earlier: set[str]) -> list[Part]:
    """The parts that belong to no model of the run.

    Args:
        parts: of the run's graph.
        layers: names of the layers of the run's models; empty if the run does not tell.
        earlier: names of the variables in the graphs of earlier runs.

    Where the run tells its layers, a part is its own if one of its variables lies in one of them. Else a part is a
    leftover if all its variables were in an earlier run's graph, unless that holds for all parts: then the same model
    was run again.
    """
    if layers:
        told = [part for part in parts if not any(layers & set(name.split("/")) for name in part.variables)]
        if len(told) < len(parts):
            return told
    left = [part for part in parts if part.variables <= earlier]
    return left if len(left) < len(parts) else []
