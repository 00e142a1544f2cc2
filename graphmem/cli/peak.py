"""`graphmem peak`: how much, when, and what holds it."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import click

from graphmem.cli.options import CacheSize, Size, Whole, with_defaults
from graphmem.cli.target_options import TARGETS, WHOLE, TargetCommand, options_of, target_options
from graphmem.cli.terminal import Terminal, answer, wants_color
from graphmem.collector import collection_paused
from graphmem.settings import ALLOCATORS, DEVICES, ORDERS, REFERENCE_L3_BYTES, Settings

HELP = f"""Peak memory of one step of TARGET: how much, when, and what holds it.

{TARGETS}  step.graphmem              a trace that was saved with -o

\b
Examples:
  graphmem peak train.py
  graphmem peak train.py -o peak.svg -o peak.json -- --epochs 3
  graphmem peak app:ResNet50 --batch 32 --optimizer sgd
  graphmem peak model.py:step --input x:float32:8x224x224x3 --input y:int32:8
  graphmem peak net.keras --step predict --batch 1 --json
"""


@click.command(
    cls=TargetCommand,
    help=HELP,
    context_settings={"allow_extra_args": True},
    short_help="How much memory a step needs at its peak, when, and what holds it.",
)
@target_options
@click.option("--device", type=click.Choice(DEVICES), default="cpu", show_default=True, help="Device to model.")
@click.option("--runtime", default="graph", show_default=True, metavar="NAME", help="Runtime to model.")
@click.option("--order", type=click.Choice(ORDERS), default="default", show_default=True, help="Order of the ops.")
@click.option("--orders", type=WHOLE, metavar="N", help="How many legal orders the range is taken over.")
@click.option("--warmup", type=Whole(0), default=0, show_default=True, metavar="N",
              help="Calls of the step before this one; see docs/targets.md.")  # fmt: skip
@click.option("--threads", type=WHOLE, metavar="N", help="Intra-op threads; default: this machine's cores.")
@click.option("--l3-cache", type=CacheSize(), default=REFERENCE_L3_BYTES, metavar="SIZE",
              help="L3 cache, which Conv3D gradients depend on: 32MiB, or here; default: 256MiB.")  # fmt: skip
@click.option("--rewrite/--no-rewrite", default=True, show_default=True, help="Apply TensorFlow's graph rewrites.")
@click.option("--allocator", type=click.Choice(ALLOCATORS),
              help="Allocator to model; default: exact (the sum of live bytes), with --memory bfc.")  # fmt: skip
@click.option("--memory", type=Size(), metavar="SIZE", help="Say whether the step fits into this: 6GiB.")
@click.option("--top", type=WHOLE, default=10, show_default=True, metavar="N", help="Rows of each list; JSON has all.")
@click.option("--width", type=Whole(60), metavar="N", help="Columns; default: the terminal's, else 80.")
@click.option("-o", "--output", "outputs", multiple=True, metavar="FILE",
              help="Also write FILE (.svg .png .pdf .dot .json .txt .html .csv .graphmem); repeatable.")  # fmt: skip
@click.option("-f", "--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def peak(ctx: click.Context, **given: Any) -> None:
    """Analyse, write the files, print the answer."""
    from graphmem.render.output import check_outputs

    terminal: Terminal = ctx.obj
    values = with_defaults(ctx, given)
    check_outputs(values["outputs"], values["force"])
    values["l3_bytes"] = CacheSize().convert(values.pop("l3_cache"), None, ctx)
    if values["memory"] is not None:
        values["memory"] = Size().convert(values["memory"], None, ctx)
    settings = Settings(**{name: values[name] for name in Settings.__dataclass_fields__})
    with collection_paused():
        report = _analyse(terminal, values["target"], options_of(ctx, values), settings)
        _show(terminal, report, values)


def _show(terminal: Terminal, report: Any, values: dict[str, Any]) -> None:
    """Write the files, print the answer."""
    from graphmem.render.output import write_reports

    write_reports(report, values["outputs"], force=values["force"], top=values["top"])
    for path in values["outputs"]:
        terminal.say(f"Wrote {path}")
    if values["as_json"]:
        from graphmem.render.as_json import as_json

        answer(as_json(report) + "\n")
    else:
        from graphmem.render.text import as_text

        width = values["width"] or max(_columns(), 60)
        answer(as_text(report, width=width, top=values["top"], color=wants_color(sys.stdout)))


def _analyse(terminal: Terminal, target: str, options: Any, settings: Settings) -> Any:
    """The report, while nobody but us writes to the user's terminal."""
    from graphmem.api import analyze_target

    with terminal.analysing():
        return analyze_target(target, options, settings, terminal.progress)


def _columns() -> int:
    """The terminal's width, 80 if the answer does not go to one."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80
