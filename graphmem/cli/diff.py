"""`graphmem diff`: what changed in the peak from one target, trace or report to another."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from graphmem.cli.options import Whole, with_defaults
from graphmem.cli.runtime_options import runtime_options, settings_of
from graphmem.cli.target_options import TARGETS, WHOLE, TargetCommand, options_of, step_options
from graphmem.cli.terminal import Terminal, answer, page_width, wants_color
from graphmem.errors import TargetError

if TYPE_CHECKING:
    from graphmem.report.report import Report

HELP = f"""What changed in the peak from A to B: by kind of memory, role, layer and tensor.

Layers and tensors are matched also where their numbers or sizes differ. Options are for both; those of --for-b are for
B alone. A report is compared as it is.

{TARGETS.replace("TARGET is", "A and B are each")}  step.graphmem              a trace that was saved with -o
  peak.json                  a report that was saved with -o

\b
Examples:
  graphmem diff main.json train.py
  graphmem diff old/model.py new/model.py --batch 32
  graphmem diff train.py train.py --for-b "--optimizer sgd"
  graphmem diff app:ResNet50 app:ResNet101 --batch 8 -o diff.md
  graphmem diff a.graphmem b.graphmem --json
"""

_OWN = {"before", "after", "for_b", "top", "width", "outputs", "force", "as_json"}


class DiffCommand(TargetCommand):
    """Keeps the words of the command, which `--for-b` adds to."""

    takes = "an A and a B"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and keep what was parsed as `words` of the context's `meta`."""
        ctx.meta["words"] = list(args)
        return super().parse_args(ctx, args)


@click.command(
    cls=DiffCommand,
    help=HELP,
    context_settings={"allow_extra_args": True},
    short_help="What changed in the peak between two targets, traces or reports.",
)
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@step_options
@runtime_options()
@click.option("--for-b", metavar="OPTIONS", help='Options for B alone, in one text: "--batch 64 --device gpu".')
@click.option("--top", type=WHOLE, default=10, show_default=True, metavar="N", help="Rows of each list; JSON has all.")
@click.option("--width", type=Whole(60), metavar="N", help="Columns; default: the terminal's, else 80.")
@click.option("-o", "--output", "outputs", multiple=True, metavar="FILE",
              help="Also write FILE (.txt .md .csv .tex .json); repeatable.")  # fmt: skip
@click.option("-f", "--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print the diff as JSON.")
@click.pass_context
def diff(ctx: click.Context, **given: Any) -> None:
    """Analyse what is no report yet, compare, write the files, print the answer."""
    from graphmem.answers.diff import diff_reports
    from graphmem.answers.diff_text import FORMATS, as_json, as_text
    from graphmem.render.output import check_outputs, write_files

    terminal: Terminal = ctx.obj
    words = list(ctx.meta["words"])
    for_b = _context_of_b(ctx, words, given["for_b"])
    values, of_b = with_defaults(ctx, given), with_defaults(for_b, for_b.params)
    check_outputs(values["outputs"], values["force"], tuple(FORMATS))
    _check_used(ctx, values)
    found = diff_reports(
        _report(ctx, terminal, values["before"], values), _report(for_b, terminal, values["after"], of_b)
    )
    write_files(values["outputs"], lambda path: FORMATS[Path(path).suffix.lower()](found, values["top"]))
    for path in values["outputs"]:
        terminal.say(f"Wrote {path}")
    if values["as_json"]:
        answer(as_json(found))
    else:
        width = page_width(values["width"])
        answer(as_text(found, width, values["top"], wants_color(sys.stdout)))


def _context_of_b(ctx: click.Context, words: list[str], for_b: str | None) -> click.Context:
    """The command as if what `--for-b` says had been said of both."""
    if for_b is None:
        return ctx
    try:
        more = shlex.split(for_b)
    except ValueError as error:
        ctx.fail(f"--for-b {for_b!r} cannot be read as options: {str(error).lower()}.")
    at = words.index("--") if "--" in words else len(words)
    b = ctx.command.make_context(ctx.info_name, [*words[:at], *more, *words[at:]], parent=ctx.parent)
    own = [name for name in _OWN if b.params[name] != ctx.params[name]]
    if own:
        ctx.fail(f"--for-b {for_b!r} says more than how B is analysed; give it nothing but options of the analysis.")
    return b


def _check_used(ctx: click.Context, values: dict[str, Any]) -> None:
    """Options of the analysis have an effect only if something is analysed.

    Raises:
        TargetError: both are saved reports, and options are given.
    """
    if not (_is_report(values["before"]) and _is_report(values["after"])):
        return
    said = [name for name in ctx.params if name not in _OWN or name == "for_b"]
    given = [name for name in said if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given or ctx.meta["script_args"]:
        flags = [max(param.opts, key=len) for param in ctx.command.params if param.name in given]
        raise TargetError(
            f"A and B are saved reports, which {', '.join(flags) or 'arguments of a script'} cannot change; "
            "name a target to have it analysed."
        )


def _is_report(target: str) -> bool:
    return Path(target).suffix.lower() == ".json"


def _report(ctx: click.Context, terminal: Terminal, target: str, values: dict[str, Any]) -> Report:
    """The report that the target is, or that of the target."""
    from graphmem.api import analyze_target, load

    if _is_report(target):
        return load(target)
    settings, options = settings_of(ctx, values), options_of(ctx, values)
    with terminal.analysing():
        return analyze_target(target, options, settings, lambda text: terminal.progress(f"{target}: {text}"))
