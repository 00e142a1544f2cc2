"""`graphmem fit`: the largest batch, image, sequence or argument that fits."""

from __future__ import annotations

import sys
from typing import Any

import click

from graphmem.cli.options import Size, Whole, with_defaults
from graphmem.cli.runtime_options import runtime_options, settings_of
from graphmem.cli.target_options import TARGETS, WHOLE, TargetCommand, options_of, target_options
from graphmem.cli.terminal import Terminal, answer, page_width, wants_color
from graphmem.errors import CheckFailed, TargetError
from graphmem.settings import Settings

HELP = f"""The largest batch, image, sequence or argument with which a step of TARGET fits into a budget.

{TARGETS}A ? in a call or after -- is a place for the value: "model.py:build(width=?)".

Exit code 0: something fits; 1: nothing does, and the answer says what the smallest value needs.

\b
Examples:
  graphmem fit train.py --budget 6GiB
  graphmem fit train.py --device "GTX 1060 6GB" --reserve 500MiB --multiple-of 8
  graphmem fit app:ResNet50 --batch 8 --budget 8GB --vary size --multiple-of 32
  graphmem fit model.py:net --batch 16 --budget 12GiB --vary sequence --power-of-two
  graphmem fit "model.py:build(width=?)" --batch 32 --budget 4GiB --max 512
  graphmem fit train.py --budget 6GiB --target-batch 256
"""


@click.command(
    cls=TargetCommand,
    help=HELP,
    context_settings={"allow_extra_args": True},
    short_help="The largest batch, image, sequence or argument that fits.",
)
@target_options
@click.option("--budget", type=Size(), metavar="SIZE",
              help="What the allocator may take: 6GiB; default: what TensorFlow takes of the card.")  # fmt: skip
@click.option("--gpu", metavar="NAME", help='The same as --device: a card, such as "GTX 1060 6GB".')
@click.option("--reserve", type=Size(), default=0, metavar="SIZE", help="Leave this much of it to others.")
@click.option("--vary", metavar="NAME",
              help="batch (default), size (height and width), height, width, or a dimension that --set "
                   "names.")  # fmt: skip
@click.option("--multiple-of", type=WHOLE, default=1, metavar="N", help="Only multiples of N.")
@click.option("--power-of-two", is_flag=True, help="Only powers of two.")
@click.option("--min", "least", type=WHOLE, default=1, show_default=True, metavar="N", help="The smallest value.")
@click.option("--max", "most", type=WHOLE, default=1 << 20, show_default=True, metavar="N", help="The largest value.")
@click.option("--target-batch", type=WHOLE, metavar="N",
              help="Also say how to reach this batch by adding up the gradients of several steps.")  # fmt: skip
@click.option("--strict", is_flag=True, help="It must fit in every legal order of the ops, not in most.")
@runtime_options()
@click.option("--width", type=Whole(60), metavar="N", help="Columns; default: the terminal's, else 80.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@click.pass_context
def fit(ctx: click.Context, **given: Any) -> int:
    """Search, print the answer."""
    from graphmem.answers.fit import search_target, varied, with_budget
    from graphmem.answers.fit_text import as_json, as_text
    from graphmem.answers.points import Point
    from graphmem.answers.search import Grid

    terminal: Terminal = ctx.obj
    values = with_defaults(ctx, given)
    if values["power_of_two"] and values["multiple_of"] != 1:
        ctx.fail("--power-of-two and --multiple-of do not go together")
    grid = Grid(values["least"], values["most"], values["multiple_of"], values["power_of_two"])
    settings = with_budget(_settings(ctx, values), values["budget"], values["reserve"])
    point = Point(values["target"], options_of(ctx, values), settings)
    vary = values["vary"] or varied(point)
    _check_said_once(vary, given)
    with terminal.analysing():
        found = search_target(
            point, vary, grid, strict=values["strict"], target_batch=values["target_batch"],
            reserve=values["reserve"], progress=terminal.progress,
        )  # fmt: skip
    width = page_width(values["width"])
    answer(as_json(found) if values["as_json"] else as_text(found, width, wants_color(sys.stdout)))
    return 0 if found else CheckFailed.exit_code


def _settings(ctx: click.Context, values: dict[str, Any]) -> Settings:
    """The settings; `--gpu` is `--device`, and `--budget` is `--memory`.

    Raises:
        TargetError: both of a pair are given, and differ.
    """
    if values["gpu"] is not None:
        if values["device"] not in ("auto", values["gpu"]):
            raise TargetError(
                f"--gpu {values['gpu']} and --device {values['device']} say two things; give one of them."
            )
        values["device"] = values["gpu"]
    if values["budget"] is not None and values["memory"] is not None:
        raise TargetError("--budget and --memory say the same thing; give one of them.")
    return settings_of(ctx, values)


def _check_said_once(vary: str, given: dict[str, Any]) -> None:
    """What is varied cannot be given as well; a default of the project gives way.

    Raises:
        TargetError: it is.
    """
    if vary == "batch" and given["batch"] is not None:
        raise TargetError(f"--batch {given['batch']} fixes what --vary batch is to find; leave it out.")
    if vary in dict(given["dims"]):
        raise TargetError(f"--set {vary} fixes what --vary {vary} is to find; leave it out.")
