"""`graphmem peak`: how much, when, and what holds it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import click

from graphmem.cli.options import with_defaults
from graphmem.cli.picture_options import choices_of, columns_of, picture_options
from graphmem.cli.pipeline_options import asked, described, pipeline_options
from graphmem.cli.runtime_options import runtime_options, settings_of
from graphmem.cli.target_options import TARGETS, WHOLE, TargetCommand, options_of, target_options
from graphmem.cli.terminal import Terminal, answer, page_width, wants_color
from graphmem.collector import collection_paused
from graphmem.errors import TargetError
from graphmem.settings import RUNTIMES, Settings

HELP = f"""Peak memory of one step of TARGET: how much, when, and what holds it.

{TARGETS}  step.graphmem              a trace that was saved with -o

\b
Examples:
  graphmem peak train.py
  graphmem peak train.py -o peak.svg -o peak.json -- --epochs 3
  graphmem peak train.py -o peak.timeline.pdf --caption --width 84mm
  graphmem peak app:ResNet50 --batch 32 --optimizer sgd
  graphmem peak model.py:step --input x:float32:8x224x224x3 --input y:int32:8
  graphmem peak train.py --pipeline
  graphmem peak net.keras --step predict --batch 1 --json
"""


@click.command(
    cls=TargetCommand,
    help=HELP,
    context_settings={"allow_extra_args": True},
    short_help="How much memory a step needs at its peak, when, and what holds it.",
)
@target_options
@runtime_options((*RUNTIMES, "both"))
@click.option("--top", type=WHOLE, default=10, show_default=True, metavar="N", help="Rows and boxes; JSON has all.")
@click.option("-o", "--output", "outputs", multiple=True, metavar="FILE",
              help="Also write FILE (.svg .png .pdf .dot, .txt .html .tex .md .json, .csv .graphml .trace.json "
                   ".graphmem and more, see docs/report.md); repeatable.")  # fmt: skip
@pipeline_options
@picture_options
@click.option("-f", "--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def peak(ctx: click.Context, **given: Any) -> None:
    """Analyse, write the files, print the answer."""
    from graphmem.render.output import check_outputs

    terminal: Terminal = ctx.obj
    values = with_defaults(ctx, given)
    check_outputs(values["outputs"], values["force"], choices=choices_of(values))
    if values["runtime"] == "both":
        _peak_of_both(ctx, terminal, values)
        return
    settings = settings_of(ctx, values)
    with collection_paused(), described(values) as with_pipeline:
        with _estimated(values["outputs"]):
            report = with_pipeline(_analyse(terminal, values["target"], options_of(ctx, values), settings))
        _show(terminal, report, values)


def _peak_of_both(ctx: click.Context, terminal: Terminal, values: dict[str, Any]) -> None:
    """Op by op beside compiled by XLA: which needs less, and what makes the difference."""
    from graphmem.api import analyze_each
    from graphmem.render.runtimes import both_as_dict, both_as_text

    if asked(values):
        raise TargetError("--runtime both prints a comparison; for the input pipeline, say --runtime graph.")
    if values["outputs"]:
        raise TargetError("--runtime both prints a comparison; for files, say --runtime graph or --runtime xla.")
    each = [settings_of(ctx, values, runtime=runtime) for runtime in ("graph", "xla")]
    with terminal.analysing():
        reports = analyze_each(values["target"], options_of(ctx, values), each, terminal.progress)
    if values["as_json"]:
        answer(json.dumps(both_as_dict(*reports), indent=1) + "\n")
    else:
        width = page_width(columns_of(values))
        answer(both_as_text(*reports, width=width, color=wants_color(sys.stdout)))


def _estimated(outputs: Sequence[str]) -> AbstractContextManager[None]:
    """A page has TensorFlow's own estimate beside the others."""
    from graphmem.answers.comparing import with_static_estimate

    return with_static_estimate() if any(path.lower().endswith(".html") for path in outputs) else nullcontext()


def _show(terminal: Terminal, report: Any, values: dict[str, Any]) -> None:
    """Write the files, print the answer."""
    from graphmem.render.output import write_reports

    for path in write_reports(report, values["outputs"], force=values["force"], choices=choices_of(values)):
        terminal.say(f"Wrote {path}")
    if values["as_json"]:
        from graphmem.render.as_json import as_json

        answer(as_json(report) + "\n")
    else:
        from graphmem.render.text import as_text

        width = page_width(columns_of(values))
        answer(as_text(report, width=width, top=values["top"], color=wants_color(sys.stdout)))


def _analyse(terminal: Terminal, target: str, options: Any, settings: Settings) -> Any:
    """The report, while nobody but us writes to the user's terminal."""
    from graphmem.api import analyze_target

    with terminal.analysing():
        return analyze_target(target, options, settings, terminal.progress)
