"""`graphmem advise`: what lowers the peak."""

from __future__ import annotations

import sys
from typing import Any

import click

from graphmem.answers.advise.changes import KINDS
from graphmem.cli.options import Size, Whole, with_defaults
from graphmem.cli.runtime_options import runtime_options, settings_of
from graphmem.cli.target_options import TARGETS, TargetCommand, options_of, target_options
from graphmem.cli.terminal import Terminal, answer, page_width, wants_color
from graphmem.errors import TargetError

HELP = f"""What lowers the peak of one step of TARGET: a smaller optimizer, mixed precision, half the batch,
recomputing, freezing, sparse updates, loss from logits, XLA on or off. Each change is made and analysed anew, then
ranked by what it saves, with what it costs and the lines to paste.

{TARGETS}
Exit code 0: done; 1: there is a budget, and neither the step nor any one change fits into it.

\b
Examples:
  graphmem advise train.py
  graphmem advise train.py --budget 6GiB
  graphmem advise app:ResNet50 --batch 32 --device "RTX 3060 12GB" --snippets 10
  graphmem advise model.py:build --only recompute --only optimizer
  graphmem advise model.py:build --json -o advice.md
"""


@click.command(
    cls=TargetCommand,
    help=HELP,
    context_settings={"allow_extra_args": True},
    short_help="What lowers the peak, by how much, and what it costs.",
)
@target_options
@click.option("--budget", type=Size(), metavar="SIZE",
              help="What the allocator may take: 6GiB; default: what TensorFlow takes of a card.")  # fmt: skip
@click.option("--reserve", type=Size(), default=0, metavar="SIZE", help="Leave this much of it to others.")
@click.option("--snippets", type=Whole(0), default=3, show_default=True, metavar="N",
              help="For how many of the changes the lines to paste are printed; .md and JSON have all.")  # fmt: skip
@click.option("--only", multiple=True, type=click.Choice(KINDS), help="Try only changes of this kind; repeatable.")
@runtime_options()
@click.option("--width", type=Whole(60), metavar="N", help="Columns; default: the terminal's, else 80.")
@click.option("-o", "--output", "outputs", multiple=True, metavar="FILE",
              help="Also write FILE (.txt .md .csv .json .tex); repeatable.")  # fmt: skip
@click.option("-f", "--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print the advice as JSON.")
@click.pass_context
def advise(ctx: click.Context, **given: Any) -> int:
    """Try, write the files, print the answer."""
    from graphmem.answers.advise import text
    from graphmem.answers.advise.advising import advise_target
    from graphmem.answers.fit import with_budget
    from graphmem.render.output import check_outputs

    terminal: Terminal = ctx.obj
    values = with_defaults(ctx, given)
    check_outputs(values["outputs"], values["force"], tuple(text.FORMATS))
    if values["budget"] is not None and given["memory"] is not None:
        raise TargetError("--budget and --memory say the same thing; give one of them.")
    settings = with_budget(settings_of(ctx, values), values["budget"], values["reserve"])
    with terminal.analysing():
        found = advise_target(values["target"], options_of(ctx, values), settings, values["only"], terminal.progress)
    text.write_advice(found, values["outputs"], force=values["force"])
    for path in values["outputs"]:
        terminal.say(f"Wrote {path}")
    if values["as_json"]:
        answer(text.as_json(found))
    else:
        width = page_width(values["width"])
        answer(text.as_text(found, width, wants_color(sys.stdout), values["snippets"]))
    return found.exit_code
