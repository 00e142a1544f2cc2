"""What one check is made with: what the command line says, else its table in pyproject.toml, else its baseline."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from graphmem.answers.budgets import Entry, Tolerance, read_tolerance
from graphmem.cli.options import configured
from graphmem.errors import TargetError
from graphmem.graph.store import is_trace

if TYPE_CHECKING:
    from graphmem.report.report import Report


class ToleranceType(click.ParamType[Tolerance]):
    """A tolerance such as 2% or 100MiB."""

    name = "TOLERANCE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Tolerance:
        """Read one tolerance; click's usage error if it is none."""
        if isinstance(value, Tolerance):
            return value
        try:
            return read_tolerance(str(value))
        except TargetError as error:
            self.fail(str(error), param, ctx)


def of_check(ctx: click.Context, values: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """The options of one check: those given, else those of its table, else those of `[tool.graphmem]`."""
    of_entry: dict[str, Any] = {
        **entry.options, "inputs": entry.inputs or None, "dims": entry.dims or None, "budget": entry.budget,
        "baseline": entry.baseline or None, "tolerance": entry.tolerance, "strict": entry.strict,
    }  # fmt: skip
    open_ones = {name: value for name, value in of_entry.items() if value is not None and not _said(ctx, name)}
    own = values | open_ones
    return own | {"tolerance": ToleranceType().convert(own["tolerance"], None, ctx)}


def read_baseline(path: str | None, update: bool) -> Report | None:
    """The report of a baseline; `None` if there is none, or none yet.

    Args:
        path: its file; `None` if no baseline is named.
        update: whether it is about to be written, and may be missing.

    Raises:
        TargetError: it is missing, damaged, or no `.json`.
    """
    from graphmem.api import load

    if path is None:
        return None
    if Path(path).suffix.lower() != ".json":
        raise TargetError(f"{path} cannot be a baseline, which is a .json file: name it peak.json.")
    if os.path.exists(path):
        return load(path)
    if not update:
        raise TargetError(f"there is no baseline {path} yet; make it with --update.")
    return None


def as_before(ctx: click.Context, entry: Entry, before: Report) -> dict[str, Any]:
    """Options that nobody says are the baseline's where another machine would else give another figure."""
    found: dict[str, Any] = {}
    if before.facts.get("threads", "").isdecimal():
        found["threads"] = int(before.facts["threads"])
    if not is_trace(entry.target):  # which has one device
        found["device"] = before.card or before.device
    said = {name for name in found if _said(ctx, name)} | set(entry.options) | set(configured())
    return {name: value for name, value in found.items() if name not in said}


def _said(ctx: click.Context, name: str) -> bool:
    """Whether an option is given on the command line."""
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
