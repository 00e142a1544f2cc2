"""What a TARGET is and how it is made whole: the argument, the options and the help of every verb that takes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from graphmem.cli.options import Assignment, Whole
from graphmem.settings import STEPS
from graphmem.target.step import Options

WHOLE = Whole()

TARGETS = """\b
TARGET is one of
  train.py                   a script (stopped at fit(); nothing trains) or a file with one model
  model.py:net               a model, function or factory in a file
  "model.py:build(depth=50)" a factory with literal arguments
  package.module:name        the same in an importable module
  app:ResNet50               a model of keras.applications
  net.keras, net.h5, folder/ a saved model
"""
"""For the help of a verb: the forms of a target that is built anew."""


class TargetCommand(click.Command):
    """Takes what follows `--` as the script's arguments.

    Attributes:
        takes: what the verb takes, for the complaint about more.
    """

    takes = "one TARGET"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set the arguments of the script aside; they are `script_args` of the context's `meta`."""
        ctx.meta["script_args"] = ()
        if "--" in args:
            at = args.index("--")
            args, ctx.meta["script_args"] = args[:at], tuple(args[at + 1 :])
        rest = super().parse_args(ctx, args)
        if ctx.args:
            ctx.fail(f"unexpected {ctx.args[0]!r}: there is {self.takes}, and the arguments of a script come after --.")
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage, with the script's arguments at its end."""
        return [*super().collect_usage_pieces(ctx), "[-- SCRIPT ARGS]"]


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb its TARGET and the options that close what the target leaves open."""
    return click.argument("target")(step_options(command))


def step_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the options that close what its targets leave open; `options_of` reads them."""
    decorators = [
        click.option("--step", type=click.Choice(STEPS), help="Which step; default: the target's own, else train."),
        click.option("--batch", type=WHOLE, metavar="N", help="Samples per step."),
        click.option(
            "--input", "inputs", multiple=True, metavar="NAME:DTYPE:SHAPE", help="An input: x:float32:8x224x224x3."
        ),
        click.option(
            "--set", "dims", multiple=True, type=Assignment(), help="An open dimension or trip count: sequence=128."
        ),
        click.option("--loss", metavar="NAME", help="Keras loss for a model that is not compiled."),
        click.option("--optimizer", metavar="NAME", help="Keras optimizer for a model that is not compiled."),
    ]
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def options_of(ctx: click.Context, values: dict[str, Any]) -> Options:
    """What these options, and the arguments after `--`, say of the target."""
    return Options(
        kind=values["step"],
        batch=values["batch"],
        inputs=values["inputs"],
        dims=dict(values["dims"]),
        loss=values["loss"],
        optimizer=values["optimizer"],
        script_args=ctx.meta["script_args"],
    )
