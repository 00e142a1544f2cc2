"""The options about the input pipeline, whose buffers are the host's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import click

from graphmem.cli.options import Whole
from graphmem.report.report import Report

STAGES = {
    "prefetch": "batches", "queue": "batches", "shuffle": "samples", "cache": "samples",
}  # fmt: skip
"""Stages that the user may describe -> what their sizes count."""

NO_PIPELINE = (
    "no call with data was met: the target is no script that trains; describe the pipeline with --prefetch, --queue, "
    "--shuffle or --cache."
)


def pipeline_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the options that `described` reads."""
    described = [
        click.option(f"--{name}", type=Whole(), metavar="N", help=f"A pipeline that holds N {unit} in its {name}.")
        for name, unit in STAGES.items()
    ]
    for decorate in reversed(described):
        command = decorate(command)
    text = "Also tell what the input pipeline of the call holds in the host's memory."
    return click.option("--pipeline", is_flag=True, help=text)(command)


def asked(values: dict[str, Any]) -> bool:
    """Whether the input pipeline is to be told of."""
    return bool(values["pipeline"] or any(values[name] is not None for name in STAGES))


@contextmanager
def described(values: dict[str, Any]) -> Iterator[Callable[[Report], Report]]:
    """Within the block targets are resolved; what is yielded adds their pipeline to a report, if that is asked for.

    Raises:
        TargetError: there is no pipeline, neither met nor described.
    """
    if not asked(values):
        yield lambda report: report
        return
    from graphmem.errors import TargetError
    from graphmem.target.host_pipeline import pipelines_watched, said_stages, summary

    said = {name: values[name] for name in STAGES if values[name] is not None}
    with pipelines_watched() as watched:

        def add(report: Report) -> Report:
            if said:
                stages, source = said_stages(said, report.argument_bytes, report.batch), "the options"
            elif watched.where:
                stages, source = watched.stages, watched.where
            else:
                raise TargetError(NO_PIPELINE)
            return replace(report, host_pipeline=summary(stages, source))

        yield add
