"""`growth_of_script`: run a script that builds several models, and say what grows from one to the next."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphmem.answers.growth.series import FEWEST, growth_per_row
from graphmem.errors import TargetError

FIGURES = (
    "graph_nodes", "func_graphs", "func_graph_nodes", "functions", "variables", "variable_bytes", "models",
    "resident_bytes",
)  # fmt: skip
"""What is counted after each model, in the order in which it is shown."""


@dataclass
class ScriptGrowth:
    """The answer of `graphmem growth SCRIPT`.

    Attributes:
        script: as given.
        per: "fit" or "model": what a row stands for.
        rows: a label and `FIGURES` each, in order.
        growth: per figure, what a row adds to it, typically; `None`: too few rows to tell.
        limited: calls of `fit` that were cut short by `epochs` or `steps`.
        notes: what the figures leave out.
    """

    script: str
    per: str
    rows: list[dict[str, Any]]
    growth: dict[str, int | None]
    limited: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def grows(self) -> bool:
        """Whether anything that is counted grows; resident memory, which wavers, does not decide."""
        return any((value or 0) > 0 for name, value in self.growth.items() if name != "resident_bytes")

    @property
    def advice(self) -> list[str]:
        """What to call, a sentence each."""
        return advice(self.growth)

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready data, schema 1 (see `docs/growth.md`)."""
        return {
            "schema": 1, "kind": "script", "script": self.script, "per": self.per, "grows": self.grows,
            "growth": self.growth, "advice": self.advice, "rows": self.rows, "limited_fits": self.limited,
            "notes": self.notes,
        }  # fmt: skip


def growth_of_script(
    path: str,
    argv: Sequence[str] = (),
    *,
    epochs: int | None = None,
    steps: int | None = None,
    timeout: float = 3600,
    progress: Callable[[str], None] = lambda text: None,
) -> ScriptGrowth:
    """Run a script for real, in a process of its own, and count what stays after each model.

    Args:
        path, argv: the file and its arguments.
        epochs, steps: at most so many epochs, and steps of an epoch, in each `fit`; `None`: as the script says.
        timeout: seconds that it may take.
        progress: told what goes on.

    Raises:
        TargetError: there is no such file, or it builds no model.
        UserCodeError: the script raised.
        CheckFailed: its process was killed, crashed or ran out of time.
    """
    if not os.path.isfile(path):
        raise TargetError(f"{path} does not exist; name a Python file, or a folder with event files.")
    from graphmem.measure.growing import run_script

    progress(f"running {os.path.basename(path)}")
    done = run_script(path, argv, epochs=epochs, steps=steps, timeout=timeout)
    per = "fit" if done["fits"] else "model"
    rows = done[f"{per}s"]
    if not rows:
        raise TargetError(f"{path} ran to its end and built no Keras model; there is nothing to count after.")
    growth = {name: growth_per_row([row[name] for row in rows]) for name in FIGURES}
    notes = []
    if len(rows) < FEWEST:
        notes.append(f"It takes {FEWEST} rows to tell what grows: the first holds what is made once per process.")
    if done["limited"]:
        notes.append(
            f"{done['limited']} calls of fit() were cut short: what a later epoch or step would add is missing."
        )
    return ScriptGrowth(path, per, rows, growth, done["limited"], notes)


def advice(growth: Mapping[str, int | None]) -> list[str]:
    """What helps against what grows.

    >>> advice({"graph_nodes": 0, "models": 0, "func_graphs": 0, "functions": 0, "variables": 0})
    []
    """

    def grows(name: str) -> bool:
        return (growth.get(name) or 0) > 0

    said = []
    if grows("graph_nodes"):
        said.append(
            "All models are built in TensorFlow's one default graph, which never lets go of a node, and every event "
            "file gets all of it: call keras.backend.clear_session() before each model, or build each in "
            "`with tf.Graph().as_default():`."
        )
    if grows("models"):
        said.append(
            "Models stay alive, with their variables and functions, because something holds them (a list, a callback, "
            "a closure): drop that, or `del` it, and call keras.utils.clear_session()."
        )
    elif grows("variables"):
        said.append(
            "Variables outlive their models: something holds them, or graphs that do. If clear_session() between "
            "models does not change this, train each model in a process of its own (multiprocessing, spawn)."
        )
    if (grows("func_graphs") or grows("functions")) and not grows("models"):
        said.append(
            "Traced functions outlive their models. clear_session() does not always free them: where this matters, "
            "build and compile one model and set its weights anew, or train each model in a process of its own."
        )
    return said
