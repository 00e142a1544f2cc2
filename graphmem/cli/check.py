"""`graphmem check`: whether steps stay within their budgets, and within what they needed before."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import click

from graphmem.answers.budgets import Entry, read_entries
from graphmem.answers.check import DEFAULT_TOLERANCE, judge
from graphmem.answers.check_text import FORMATS, Outcome, all_as_markdown, all_as_text
from graphmem.cli.check_options import ToleranceType, as_before, of_check, read_baseline
from graphmem.cli.options import CONFIG_KEYS, Size, Whole, configured, project_file, with_defaults
from graphmem.cli.runtime_options import runtime_options, settings_of
from graphmem.cli.target_options import TARGETS, WHOLE, TargetCommand, options_of, step_options
from graphmem.cli.terminal import Terminal, answer, page_width, wants_color
from graphmem.errors import CheckFailed, GraphmemError, InternalError, TargetError, UserCodeError

HELP = f"""Check that the peak of TARGET is within a budget, and no more than it was.

Without TARGET, all checks of [[tool.graphmem.check]] in the nearest pyproject.toml are made; with the name or the
target of one, that one. Exit code 0: all passed; 1: one failed; 2 or 3: one could not be made.

{TARGETS}  step.graphmem              a trace that was saved with -o

\b
Examples:
  graphmem check train.py --budget 6GiB
  graphmem check train.py --baseline peak.json --update
  graphmem check train.py --baseline peak.json --tolerance 5%
  graphmem check app:ResNet50 --batch 32 --allocator bfc --budget 8GB --strict
  graphmem check
  graphmem check --format github-benchmark > peaks.json
"""

_NOT_OF_CHECKS = ("top", "width", "gpus", "check")
"""Keys of `[tool.graphmem]` that a check does not have."""


class CheckCommand(TargetCommand):
    """Takes one target, or none."""

    takes = "one TARGET at most"


@click.command(
    cls=CheckCommand,
    help=HELP,
    context_settings={"allow_extra_args": True},
    short_help="Whether steps stay within a budget, and within what they needed before.",
)
@click.argument("target", required=False)
@click.option("--budget", type=Size(), metavar="SIZE", help="The most that it may need: 6GiB.")
@click.option("--baseline", metavar="FILE", help="Report of an earlier peak (.json), which it may not exceed.")
@click.option("--tolerance", type=ToleranceType(), default=DEFAULT_TOLERANCE, show_default=True, metavar="SHARE",
              help="How much more than the baseline is allowed: 2%, or 100MiB.")  # fmt: skip
@click.option("--update", is_flag=True, help="Write what it needs now as the baseline.")
@click.option("--strict", is_flag=True,
              help="Fail also if something is unknown, or if the worst legal order needs too much.")  # fmt: skip
@step_options
@runtime_options()
@click.option("--format", "fmt", type=click.Choice(["text", *FORMATS]), default="text", show_default=True,
              help="What is printed.")  # fmt: skip
@click.option("--top", type=WHOLE, default=5, show_default=True, metavar="N", help="Layers that are listed.")
@click.option("--width", type=Whole(60), metavar="N", help="Columns; default: the terminal's, else 80.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.pass_context
def check(ctx: click.Context, **given: Any) -> int:
    """Make the checks, print the verdicts, add them to the summary of a GitHub workflow."""
    terminal: Terminal = ctx.obj
    values = with_defaults(ctx, given)
    entries = _entries(ctx, values)
    with _folder(ctx, values):
        outcomes = [_outcome(ctx, terminal, values, entry, alone=len(entries) == 1) for entry in entries]
    _summarise(terminal, outcomes, values["top"])
    fmt = "json" if values["as_json"] else values["fmt"]
    if fmt != "text":
        answer(FORMATS[fmt](outcomes))
    else:
        width = page_width(values["width"])
        answer(all_as_text(outcomes, width, values["top"], wants_color(sys.stdout)))
    errors = [outcome.error.exit_code for outcome in outcomes if outcome.error is not None]
    failed = any(outcome.verdict == "FAIL" for outcome in outcomes)
    return max(errors) if errors else CheckFailed.exit_code if failed else 0


def _entries(ctx: click.Context, values: dict[str, Any]) -> list[Entry]:
    """The checks to make: those of the project, or the one that the command line says.

    Raises:
        TargetError: there is none, or nothing to check against.
    """
    target, path = values["target"], project_file()
    known = read_entries(configured().get("check", []), str(path), _keys()) if path else []
    if target is None:
        if not known:
            raise TargetError("there is nothing to check: name a TARGET, or write [[tool.graphmem.check]] tables.")
        if values["budget"] is not None or values["baseline"] is not None:
            ctx.fail("--budget and --baseline are for one TARGET; those of several are in [[tool.graphmem.check]]")
        ctx.meta["from"] = path
        chosen = known
    else:
        chosen = [entry for entry in known if target in (entry.name, entry.target)]
        if chosen:
            ctx.meta["from"] = path
        else:
            chosen = [Entry(target, target, dims=tuple(values["dims"]))]
    if values["update"] and values["baseline"] is None and not any(entry.baseline for entry in chosen):
        raise TargetError("--update writes a baseline, and there is none: name it with --baseline peak.json.")
    return chosen


def _keys() -> dict[str, tuple[type, tuple[str, ...]]]:
    return {key: kind for key, kind in CONFIG_KEYS.items() if key not in _NOT_OF_CHECKS}


@contextlib.contextmanager
def _folder(ctx: click.Context, values: dict[str, Any]) -> Iterator[None]:
    """Work in the folder of the pyproject.toml that has the checks; what the command line names stays what it was."""
    path, here = ctx.meta.get("from"), os.getcwd()
    if path is None:
        yield
        return
    if values["baseline"]:
        values["baseline"] = os.path.abspath(values["baseline"])
    os.chdir(path.parent)
    try:
        yield
    finally:
        os.chdir(here)


def _outcome(ctx: click.Context, terminal: Terminal, values: dict[str, Any], entry: Entry, alone: bool) -> Outcome:
    """One check; an error of one of several checks does not keep the others from being made."""
    try:
        return _checked(ctx, terminal, values, entry)
    except InternalError:
        raise
    except GraphmemError as error:
        if alone:
            raise
        if isinstance(error, UserCodeError) and error.excerpt:
            terminal.complain(error.excerpt.rstrip())
        return Outcome(entry.name, entry.target, None, error)


def _checked(ctx: click.Context, terminal: Terminal, values: dict[str, Any], entry: Entry) -> Outcome:
    from graphmem.api import analyze_target
    from graphmem.render.as_json import as_json
    from graphmem.render.output import replace_file

    own = of_check(ctx, values, entry)
    path = own["baseline"]
    before = read_baseline(path, values["update"])
    if before is not None:
        own |= as_before(ctx, entry, before)
    settings = settings_of(ctx, own)
    if settings.allocator == "bfc" and settings.memory is None and own["budget"] is not None:
        settings = replace(settings, memory=own["budget"])
    budget = settings.limit if own["budget"] is None else own["budget"]
    if budget is None and not path:
        raise TargetError(f"{entry.target} has nothing to be held against: give --budget 6GiB or --baseline peak.json.")
    options = options_of(ctx, own)
    options = replace(options, script_args=options.script_args or entry.args)
    with terminal.analysing():
        report = analyze_target(
            entry.target, options, settings, lambda text: terminal.progress(text and f"{entry.name}: {text}")
        )
    if values["update"] and path:
        replace_file(path, (as_json(report) + "\n").encode())
        terminal.say(f"Wrote {path}")
        before = report
    verdict = judge(
        report, name=entry.name, budget=budget, baseline=before, tolerance=own["tolerance"], strict=own["strict"]
    )
    return Outcome(entry.name, entry.target, verdict)


def _summarise(terminal: Terminal, outcomes: list[Outcome], top: int) -> None:
    """Add the verdicts to the summary that GitHub shows of a workflow's run, if this is one."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(all_as_markdown(outcomes, top) + "\n")
    except OSError as error:
        terminal.complain(f"graphmem: the summary {path} cannot be written: {error.strerror}.")
