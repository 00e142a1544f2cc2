"""`graphmem compare`: the estimates that people use, beside the simulated peak."""

from __future__ import annotations

import sys
from typing import Any

import click

from graphmem.cli.options import Whole, with_defaults
from graphmem.cli.runtime_options import runtime_options, settings_of
from graphmem.cli.target_options import TARGETS, WHOLE, TargetCommand, options_of, target_options
from graphmem.cli.terminal import Terminal, answer, page_width, wants_color
from graphmem.collector import collection_paused

HELP = f"""Nine estimates of memory that people use, beside the simulated peak of one step of TARGET.

Each is computed as its authors define it, from what the model says of its layers or from the step's trace, with its
ratio to the peak and what it leaves out or counts twice.

{TARGETS}  step.graphmem              a trace that was saved with -o

\b
Examples:
  graphmem compare app:VGG16 --batch 32
  graphmem compare train.py --verify
  graphmem compare app:ResNet50 --batch 32 -o estimates.tex -o estimates.pdf
  graphmem compare model.py:build --layers --json
"""


@click.command(
    cls=TargetCommand,
    help=HELP,
    context_settings={"allow_extra_args": True},
    short_help="The estimates that people use beside the peak: how wrong each is, and why.",
)
@target_options
@runtime_options()
@click.option("--verify", is_flag=True, help="Run one real step here as well, and show what it was measured to need.")
@click.option("--runs", type=WHOLE, default=3, show_default=True, metavar="N",
              help="Processes that --verify measures a step in.")  # fmt: skip
@click.option("--layers", is_flag=True, help="Also print the table that is made by hand, a row for each layer.")
@click.option("--width", type=Whole(60), metavar="N", help="Columns; default: the terminal's, else 80.")
@click.option("-o", "--output", "outputs", multiple=True, metavar="FILE",
              help="Also write FILE (.csv .tex .md .json .txt .svg .png .pdf); repeatable.")  # fmt: skip
@click.option("-f", "--force", is_flag=True, help="Replace existing files; run what may not fit into memory.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@click.pass_context
def compare(ctx: click.Context, **given: Any) -> None:
    """Analyse, compare, write the files, print the answer."""
    from graphmem.answers import compare_text
    from graphmem.answers.comparing import Verify, compare_target
    from graphmem.render.output import check_outputs

    terminal: Terminal = ctx.obj
    values = with_defaults(ctx, given)
    check_outputs(values["outputs"], values["force"], tuple(compare_text.FORMATS))
    settings, options = settings_of(ctx, values), options_of(ctx, values)
    verify = Verify(values["runs"], values["force"]) if values["verify"] else None
    with terminal.analysing(), collection_paused():
        result = compare_target(values["target"], options, settings, verify, terminal.progress)
    compare_text.write_comparison(result, values["outputs"], force=values["force"])
    for path in values["outputs"]:
        terminal.say(f"Wrote {path}")
    if values["as_json"]:
        answer(compare_text.as_json(result))
        return
    width = page_width(values["width"])
    answer(compare_text.as_text(result, width, wants_color(sys.stdout), values["layers"]))
