"""`graphmem ops`: what graphmem knows of each op."""

from __future__ import annotations

import difflib
import fnmatch
import io
import json
import shutil
import sys

import click

from graphmem.cli.options import Whole
from graphmem.cli.terminal import answer, wants_color
from graphmem.errors import TargetError
from graphmem.ops.registry import Rule, all_rules
from graphmem.ops.words import as_plain, describe, explain

HELP = """What graphmem knows of each op's memory: views, buffers taken over, scratch, variables.

NAME is an op type or a pattern with * and ?; without any, all ops are listed. An op that is not listed is unknown: its
outputs are counted as new buffers, its scratch is not counted, and a report in which it occurs names it.

\b
Examples:
  graphmem ops Conv2DBackpropFilter
  graphmem ops "Resource*" "*Grad"
  graphmem ops --json
"""

FEW = 10
"""Up to so many ops are shown with what the phrases mean and where each row comes from."""


@click.command(help=HELP, short_help="What graphmem knows of each op.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
@click.option("--width", type=Whole(60), metavar="N", help="Columns; default: the terminal's, else 80.")
def ops(names: tuple[str, ...], as_json: bool, width: int | None) -> None:
    """Print rows of the op table."""
    rows = select(names)
    if as_json:
        table = {name: as_plain(rule) for name, rule in rows.items()}
        answer(json.dumps({"schema": 1, "ops": table}, indent=1) + "\n")
        return
    columns = width or (shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80)
    answer(as_text(rows, columns, wants_color(sys.stdout)))


def select(names: tuple[str, ...]) -> dict[str, Rule]:
    """The rows that the names and patterns match, sorted; all for none.

    Raises:
        TargetError: a name or pattern matches nothing.
    """
    table = all_rules()
    if not names:
        return table
    found: dict[str, Rule] = {}
    for name in names:
        matches = [op for op in table if fnmatch.fnmatchcase(op.lower(), name.lower())]
        if not matches:
            raise TargetError(_unknown(name, list(table)))
        found |= {op: table[op] for op in matches}
    return dict(sorted(found.items()))


def _unknown(name: str, known: list[str]) -> str:
    if any(mark in name for mark in "*?["):
        return f"no op matches {name!r}; `graphmem ops` lists the {len(known)} that graphmem knows."
    by_lower = {op.lower(): op for op in known}
    close = [by_lower[op] for op in difflib.get_close_matches(name.lower(), by_lower, n=3)]
    hint = f"did you mean {' or '.join(close)}?" if close else f"`graphmem ops` lists the {len(known)} that it knows."
    return f"graphmem knows no op {name!r}: its outputs count as new buffers, its scratch is not counted; {hint}"


def as_text(rows: dict[str, Rule], width: int, color: bool) -> str:
    """The rows as a table; below a short one, the formulas in words."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE, pad_edge=False, show_edge=False, width=width)
    table.add_column("op", overflow="fold", width=min(36, width // 2), style="bold")
    table.add_column("memory", ratio=1)
    table.add_column("inline", width=6)
    for name, rule in rows.items():
        table.add_row(name, "; ".join(describe(rule)), "yes" if rule.inline else "")
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=color, no_color=not color, highlight=False)
    console.print(table)
    if len(rows) <= FEW:
        for name, rule in rows.items():
            for line in [*explain(rule), f"source: {rule.source}"]:
                console.print(f"{name}: {line}", markup=False)
    noun = "op" if len(rows) == 1 else "ops"
    console.print(f"{len(rows)} {noun}. inline: on the CPU it runs at once, not through the thread pool.", markup=False)
    return stream.getvalue()
