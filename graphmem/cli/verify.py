"""`graphmem verify`: run one real step here, and compare it with the prediction tensor by tensor."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from graphmem.cli.options import Whole, with_defaults
from graphmem.cli.target_options import TARGETS, WHOLE, TargetCommand, options_of, target_options
from graphmem.cli.terminal import Terminal, answer, page_width, wants_color
from graphmem.errors import TargetError
from graphmem.settings import RUNTIMES, Settings

HELP = f"""Run one real step of TARGET here, and compare it with the prediction.

The step runs on this machine's CPU in processes of their own, with weights and made-up data, under TensorFlow's own
allocator, which tells what it allocates. Exit code 0: they agree; 1: they do not, or the step could not be measured.

{TARGETS}
\b
Examples:
  graphmem verify train.py
  graphmem verify app:MobileNetV2 --batch 4 -o curve.svg
  graphmem verify model.py:step --input x:float32:8x224x224x3 --runs 5
  graphmem verify train.py --json --tolerance 1
"""


@click.command(
    cls=TargetCommand,
    help=HELP,
    context_settings={"allow_extra_args": True},
    short_help="Run one real step here and compare it with the prediction.",
)
@target_options
@click.option("--runtime", type=click.Choice(RUNTIMES), default="auto", show_default=True,
              help="What runs the step: op by op (graph), compiled (xla), or as the step itself decides.")  # fmt: skip
@click.option("--order", type=click.Choice(["default", "deterministic"]), default="default", show_default=True,
              help="Order of the ops.")  # fmt: skip
@click.option("--orders", type=WHOLE, metavar="N", help="How many legal orders the range is taken over.")
@click.option("--threads", type=WHOLE, metavar="N", help="Intra-op threads; default: this machine's cores.")
@click.option("--runs", type=WHOLE, default=3, show_default=True, metavar="N", help="Processes, one step each.")
@click.option("--warmup", type=Whole(0), default=1, show_default=True, metavar="N",
              help="Calls of the step before the one measured.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=1), default=900, show_default=True, metavar="SECONDS",
              help="Time that each process may take.")  # fmt: skip
@click.option("--tolerance", type=click.FloatRange(min=0), default=3, show_default=True, metavar="PERCENT",
              help="Error up to which they agree.")  # fmt: skip
@click.option("--top", type=WHOLE, default=8, show_default=True, metavar="N", help="Rows of each list; JSON has all.")
@click.option("--width", type=Whole(60), metavar="N", help="Columns; default: the terminal's, else 80.")
@click.option("-o", "--output", "outputs", multiple=True, metavar="FILE",
              help="Also draw the memory curves: .svg .png .pdf; repeatable.")  # fmt: skip
@click.option("-f", "--force", is_flag=True, help="Run what may not fit into memory; replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@click.pass_context
def verify(ctx: click.Context, **given: Any) -> int:
    """Predict, run, compare; print the comparison; 0 if they agree."""
    from graphmem.render.curves import FORMATS, curves_picture
    from graphmem.render.output import check_outputs, replace_file

    terminal: Terminal = ctx.obj
    values = with_defaults(ctx, given)
    check_outputs(values["outputs"], values["force"], FORMATS)
    result = _verify(ctx, terminal, values)
    pictures = [(path, curves_picture(result, Path(path).suffix.lower())) for path in values["outputs"]]
    for path, content in pictures:
        replace_file(path, content)
        terminal.say(f"Wrote {path}")
    if values["as_json"]:
        answer(json.dumps(result.to_dict(), indent=1) + "\n")
    else:
        from graphmem.render.verification import verification_text

        width = page_width(values["width"])
        answer(verification_text(result, width=width, top=values["top"], color=wants_color(sys.stdout)))
    return 0 if result.agrees else 1


def _verify(ctx: click.Context, terminal: Terminal, values: dict[str, Any]) -> Any:
    from graphmem.api import analyze_target
    from graphmem.measure.machine import free_bytes
    from graphmem.measure.verify import ORDERS, Effort, check_memory, check_target
    from graphmem.measure.verify import verify as measured
    from graphmem.ops.machine import l3_cache_bytes

    check_target(values["target"])
    if values["order"] not in ORDERS:  # a default of pyproject.toml
        raise TargetError(f"TensorFlow cannot be made to run in {values['order']} order; pass --order {ORDERS[0]}.")
    threads = values["threads"] or os.cpu_count() or 1
    settings = Settings(
        device="cpu", runtime=values["runtime"], order=values["order"], orders=values["orders"],
        warmup=values["warmup"], threads=threads, l3_bytes=l3_cache_bytes(), allocator="bfc",
    )  # fmt: skip
    effort = Effort(values["runs"], values["warmup"], values["timeout"], values["tolerance"] / 100)
    options = options_of(ctx, values)
    with terminal.analysing():
        report = analyze_target(values["target"], options, settings, terminal.progress)
        free = free_bytes()
        if not values["force"]:
            check_memory(report, free)
        return measured(report, values["target"], options, settings, effort, free, terminal.progress)
