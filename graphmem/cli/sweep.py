"""`graphmem sweep`: a table of peaks over batch sizes, optimizers, precisions, arguments."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphmem.cli.options import Size, Whole, with_defaults
from graphmem.cli.runtime_options import runtime_options, settings_of
from graphmem.cli.target_options import TARGETS, WHOLE, TargetCommand, options_of, target_options
from graphmem.cli.terminal import Terminal, answer, page_width, wants_color
from graphmem.errors import TargetError

if TYPE_CHECKING:
    from graphmem.answers.sweep import Sweep

HELP = f"""Peak memory of TARGET at every combination of values.

--over takes batch, size (image height and width), height, width, step, optimizer, loss, policy (Keras' dtype policy),
device, runtime, memory, allocator, order, threads, an argument of the target's call, or a dimension that --set names.

{TARGETS}A ? in a call or after -- is a place for the values: "model.py:build(width=?)".

Points are analysed in processes of their own. One that fails is a row with its error; the exit code is then that of the
error.

\b
Examples:
  graphmem sweep train.py --over batch=8,16,32
  graphmem sweep app:ResNet50 --over batch=8,16,32 --over policy=float32,mixed_float16 --budget 6GiB -o peaks.svg
  graphmem sweep "model.py:build(width=?)" --batch 8 --over width=32,64,128 --over optimizer=adam,sgd -o peaks.csv
  graphmem sweep train.py --over batch=8,16,32 --resume peaks.json --jobs 4
  graphmem sweep train.py --over batch=8,16,32 --dask tcp://10.0.0.7:8786
"""

STOPPED, ENDED = 130, 143


class _Ended(KeyboardInterrupt):
    """The process was told to end (SIGTERM)."""


@click.command(
    cls=TargetCommand,
    help=HELP,
    context_settings={"allow_extra_args": True},
    short_help="A table or picture of peaks over batch sizes, optimizers, precisions, arguments.",
)
@target_options
@click.option("--over", "over", multiple=True, metavar="NAME=V1,V2,...", help="What is varied; repeatable.")
@click.option("--policy", default="", metavar="NAME", help="Keras' dtype policy for all points: mixed_float16.")
@click.option("--budget", type=Size(), metavar="SIZE", help="Say which points fit into this: 6GiB.")
@click.option("--jobs", type=WHOLE, metavar="N",
              help="Processes at a time; default: one per core, and per 2 GiB of free memory.")  # fmt: skip
@click.option("--dask", metavar="ADDRESS", help="Have the workers of this Dask scheduler analyse the points.")
@click.option("--resume", default="", metavar="FILE",
              help="Keep finished points in FILE (JSON), and do not analyse again what is in it.")  # fmt: skip
@click.option("--timeout", type=WHOLE, default=3600, show_default=True, metavar="SECONDS",
              help="The most that one point may take.")  # fmt: skip
@runtime_options()
@click.option("--plot", type=click.Choice(("auto", "heat", "line")), default="auto", show_default=True,
              help="The picture: a heat map of two axes, or lines.")  # fmt: skip
@click.option("--width", type=Whole(60), metavar="N", help="Columns; default: the terminal's, else 80.")
@click.option("-o", "--output", "outputs", multiple=True, metavar="FILE",
              help="Also write FILE (.txt .csv .md .tex .json .svg .png .pdf); repeatable.")  # fmt: skip
@click.option("-f", "--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print the points as JSON.")
@click.pass_context
def sweep(ctx: click.Context, **given: Any) -> int:
    """Analyse the points, write the files, print the table."""
    from graphmem.answers.points import Point
    from graphmem.answers.sweep import sweep_target
    from graphmem.answers.sweep_charts import check_plot
    from graphmem.answers.sweep_points import parse_axis
    from graphmem.render.output import check_outputs

    terminal: Terminal = ctx.obj
    values = with_defaults(ctx, given)
    if not values["over"]:
        ctx.fail("there is nothing to sweep over: give --over batch=8,16,32")
    axes = [parse_axis(text) for text in values["over"]]
    check_outputs(values["outputs"], values["force"], _endings())
    check_plot(len(axes), values["plot"])
    if values["budget"] is not None:
        if values["memory"] is not None:
            raise TargetError("--budget and --memory say the same thing; give one of them.")
        values["memory"] = values["budget"]
    base = Point(values["target"], options_of(ctx, values), settings_of(ctx, values), values["policy"])
    try:
        with _ends_on_sigterm(), terminal.analysing():
            found = sweep_target(
                base, axes, jobs=values["jobs"], dask=values["dask"], resume=values["resume"],
                timeout=values["timeout"], progress=terminal.progress,
            )  # fmt: skip
    except KeyboardInterrupt as stopped:
        return _stopped(terminal, values["resume"], isinstance(stopped, _Ended))
    _show(terminal, found, values)
    return found.exit_code


@contextmanager
def _ends_on_sigterm() -> Iterator[None]:
    """Within the block SIGTERM stops as Ctrl-C does, so that no process is left behind."""

    def end(number: int, frame: Any) -> None:
        raise _Ended

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stopped(terminal: Terminal, resume: str, ended: bool) -> int:
    """Say what is left of the work."""
    if resume:
        how = f"what was finished is in {resume}: run the same command again to go on"
    else:
        how = "nothing was written; with --resume FILE what is finished is kept"
    where = f" after {terminal.phase}" if terminal.phase else ""
    terminal.complain(f"graphmem: stopped{where}; {how}.")
    return ENDED if ended else STOPPED


def _endings() -> tuple[str, ...]:
    from graphmem.answers.sweep_charts import PICTURES
    from graphmem.render.tables import FORMATS

    return (*FORMATS, *PICTURES)


def _show(terminal: Terminal, found: Sweep, values: dict[str, Any]) -> None:
    """Say what failed, write the files, print the table."""
    from graphmem.answers.sweep_text import as_json, as_table
    from graphmem.render.output import write_files
    from graphmem.render.tables import as_text

    kept = sum(point.kept for point in found.points)
    if kept:
        terminal.say(f"{kept} of {len(found.points)} points are from {values['resume']}")
    for point in found.failed if terminal.verbose or terminal.debug else ():
        terminal.complain(f"{point.values}: {point.error}\n{point.result['excerpt']}".rstrip())
    paths = _drawable(terminal, found, values["outputs"])
    write_files(paths, lambda path: _content(found, path, values["plot"]))
    for path in paths:
        terminal.say(f"Wrote {path}")
    width = page_width(values["width"])
    answer(as_json(found) if values["as_json"] else as_text(as_table(found), width, wants_color(sys.stdout)))


def _drawable(terminal: Terminal, found: Sweep, outputs: tuple[str, ...]) -> list[str]:
    """The files that can be written: there are no pictures of nothing."""
    from graphmem.answers.sweep_charts import PICTURES

    if len(found.failed) < len(found.points):
        return list(outputs)
    pictures = [path for path in outputs if Path(path).suffix.lower() in PICTURES]
    for path in pictures:
        terminal.complain(f"{path} is not drawn: no point has figures.")
    return [path for path in outputs if path not in pictures]


def _content(found: Sweep, path: str, plot: str) -> bytes:
    """The sweep in the format of a file's ending."""
    from graphmem.answers.sweep_charts import PICTURES, chart
    from graphmem.answers.sweep_text import as_json, as_table
    from graphmem.render.tables import FORMATS

    ending = Path(path).suffix.lower()
    if ending in PICTURES:
        return chart(found, ending, plot)
    return (as_json(found) if ending == ".json" else FORMATS[ending](as_table(found))).encode()
