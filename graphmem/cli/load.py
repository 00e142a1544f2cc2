"""`graphmem load`: what a saved model holds, and what loading it costs in each way."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from graphmem.cli.options import Whole, with_defaults
from graphmem.cli.target_options import WHOLE
from graphmem.cli.terminal import Terminal, answer, page_width, wants_color

HELP = """What a saved model holds, and how much host memory loading it takes in each way.

FILE is a .keras, .h5 or .weights.h5 file, a SavedModel folder, or a checkpoint: its prefix, its index file, or the
folder it is in. The file is read, not loaded: nothing of it is run. --verify loads it, in processes of their
own that end right afterwards; exit code 0: prediction and measurement agree, 1: they do not.

\b
Examples:
  graphmem load net.keras
  graphmem load net.weights.h5 --json
  graphmem load checkpoints/
  graphmem load net.keras --verify
  graphmem load saved_model/ -o load.csv
"""


@click.command(help=HELP, short_help="What a saved model holds, and what loading it costs.")
@click.argument("file", metavar="FILE")
@click.option("--verify", is_flag=True, help="Also load it in each way, and measure resident memory.")
@click.option("--as-is", is_flag=True,
              help="With --verify: count memory that the C library keeps free as well.")  # fmt: skip
@click.option("--unsafe", is_flag=True, help="With --verify: let code run that the file holds or names.")
@click.option("--timeout", type=click.FloatRange(min=1), default=600, show_default=True, metavar="SECONDS",
              help="Time that each process may take.")  # fmt: skip
@click.option("--tolerance", type=click.FloatRange(min=0), default=10, show_default=True, metavar="PERCENT",
              help="Error after loading up to which they agree.")  # fmt: skip
@click.option("--top", type=WHOLE, default=5, show_default=True, metavar="N", help="Largest tensors; JSON has all.")
@click.option("--width", type=Whole(60), metavar="N", help="Columns; default: the terminal's, else 80.")
@click.option("-o", "--output", "outputs", multiple=True, metavar="FILE",
              help="Also write FILE (.txt .md .csv .tex .json); repeatable.")  # fmt: skip
@click.option("-f", "--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@click.pass_context
def load(ctx: click.Context, **given: Any) -> int:
    """Read, predict, measure if asked to, print; 0 unless a measurement disagrees."""
    from graphmem.answers.load import text
    from graphmem.answers.load.answer import load_cost
    from graphmem.render.output import check_outputs, write_files

    terminal: Terminal = ctx.obj
    values = with_defaults(ctx, given)
    for flag in ("as_is", "unsafe"):
        if values[flag] and not values["verify"]:
            ctx.fail(f"--{flag.replace('_', '-')} says how to measure: give --verify as well.")
    check_outputs(values["outputs"], values["force"], tuple(text.FORMATS))
    with terminal.analysing():
        cost = load_cost(
            values["file"], verify=values["verify"], unsafe=values["unsafe"], as_is=values["as_is"],
            timeout=values["timeout"], tolerance=values["tolerance"] / 100, progress=terminal.progress,
        )  # fmt: skip
    write_files(values["outputs"], lambda path: text.FORMATS[Path(path).suffix.lower()](cost))
    for path in values["outputs"]:
        terminal.say(f"Wrote {path}")
    if values["as_json"]:
        answer(text.as_json(cost))
    else:
        width = page_width(values["width"])
        answer(text.as_text(cost, width, values["top"], wants_color(sys.stdout)))
    return 1 if any(cost.agrees(way) is False for way in cost.ways) else 0
