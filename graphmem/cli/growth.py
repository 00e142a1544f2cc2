"""`graphmem growth`: do graphs, variables or event files grow over consecutive models?"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphmem.cli.options import Whole, with_defaults
from graphmem.cli.target_options import WHOLE, TargetCommand
from graphmem.cli.terminal import Terminal, answer, page_width, wants_color
from graphmem.errors import TargetError

if TYPE_CHECKING:
    from graphmem.answers.growth.text import Growth

HELP = """Do graphs, variables or event files grow over consecutive models, and what helps?

With a Python file: RUNS IT, training and all, in a process of its own without a GPU, and counts after each fit() (or
after each model, if it never calls fit) what TensorFlow and Keras hold. --epochs and --steps cut each fit() short.

With a folder: reads the TensorBoard event files below it, and tells for each run how large its graph is, and which
parts of it belong to no model of that run.

\b
Examples:
  graphmem growth train.py --epochs 1
  graphmem growth train.py --steps 5 -o growth.csv -- --folds 10
  graphmem growth logs/
  graphmem growth logs/ --json
"""


class GrowthCommand(TargetCommand):
    """Takes a script or folder, and the script's arguments after `--`."""

    takes = "a SCRIPT or LOGDIR"


@click.command(
    cls=GrowthCommand,
    help=HELP,
    context_settings={"allow_extra_args": True},
    short_help="Do graphs, variables or event files grow from model to model?",
)
@click.argument("target", metavar="SCRIPT|LOGDIR")
@click.option("--epochs", type=WHOLE, metavar="N", help="At most N epochs in each fit(); default: as the script says.")
@click.option("--steps", type=WHOLE, metavar="N", help="At most N steps in each epoch.")
@click.option("--timeout", type=click.FloatRange(min=1), default=3600, show_default=True, metavar="SECONDS",
              help="Time that the script may take.")  # fmt: skip
@click.option("--top", type=Whole(2), default=20, show_default=True, metavar="N", help="Rows; files and JSON have all.")
@click.option("--width", type=Whole(60), metavar="N", help="Columns; default: the terminal's, else 120.")
@click.option("-o", "--output", "outputs", multiple=True, metavar="FILE",
              help="Also write FILE (.txt .md .csv .tex .json); repeatable.")  # fmt: skip
@click.option("-f", "--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@click.pass_context
def growth(ctx: click.Context, **given: Any) -> None:
    """Run or read, write the files, print the answer."""
    from graphmem.answers.growth import text
    from graphmem.render.output import check_outputs, write_files

    terminal: Terminal = ctx.obj
    values = with_defaults(ctx, given)
    check_outputs(values["outputs"], values["force"], tuple(text.FORMATS))
    with terminal.analysing():
        found = _found(ctx, values, terminal)
    write_files(values["outputs"], lambda path: text.FORMATS[Path(path).suffix.lower()](found))
    for path in values["outputs"]:
        terminal.say(f"Wrote {path}")
    if values["as_json"]:
        answer(text.as_json(found))
    else:
        width = page_width(values["width"], piped=120)
        answer(text.as_text(found, width, values["top"], wants_color(sys.stdout)))


def _found(ctx: click.Context, values: dict[str, Any], terminal: Terminal) -> Growth:
    target = values["target"]
    if os.path.isdir(target):
        given = [f"--{name}" for name in ("epochs", "steps") if values[name]]
        if given or ctx.meta["script_args"]:
            raise TargetError(f"{target} is a folder of event files: {given[0] if given else '--'} is for a script.")
        from graphmem.answers.growth.logs import growth_of_logs

        return growth_of_logs(target, terminal.progress)
    if os.path.exists(target) and not target.endswith(".py"):
        raise TargetError(f"{target} is neither a Python file (.py) nor a folder with event files.")
    from graphmem.answers.growth.runs import growth_of_script

    return growth_of_script(
        target, ctx.meta["script_args"], epochs=values["epochs"], steps=values["steps"], timeout=values["timeout"],
        progress=terminal.progress,
    )  # fmt: skip
