"""The options that say what runs the step, which verbs that analyse share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from graphmem.cli.options import CacheSize, Size, Whole
from graphmem.settings import ALLOCATORS, ORDERS, REFERENCE_L3_BYTES, RUNTIMES, WORKSPACES, Settings

WHOLE = Whole()


def runtime_options(runtimes: tuple[str, ...] = RUNTIMES) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a verb the options that `settings_of` reads.

    Args:
        runtimes: the choices of `--runtime`.
    """
    decorators = [
        click.option(
            "--device", default="auto", show_default=True, metavar="NAME",
            help='Device to model: cpu, gpu, a card ("RTX 3060 12GB"), or auto: this machine\'s.',
        ),
        click.option(
            "--runtime", type=click.Choice(runtimes), default="auto", show_default=True,
            help="What runs the step: op by op (graph), compiled (xla), or as the step itself decides.",
        ),
        click.option(
            "--order", type=click.Choice(ORDERS), default="default", show_default=True, help="Order of the ops."
        ),
        click.option("--orders", type=WHOLE, metavar="N", help="How many legal orders the range is taken over."),
        click.option(
            "--warmup", type=Whole(0), default=0, show_default=True, metavar="N",
            help="Calls of the step before this one; see docs/targets.md.",
        ),
        click.option("--threads", type=WHOLE, metavar="N", help="Intra-op threads; default: this machine's cores."),
        click.option(
            "--l3-cache", type=CacheSize(), default=REFERENCE_L3_BYTES, metavar="SIZE",
            help="L3 cache, which Conv3D gradients depend on: 32MiB, or here; default: 256MiB.",
        ),
        click.option(
            "--rewrite/--no-rewrite", default=True, show_default=True, help="Apply TensorFlow's graph rewrites."
        ),
        click.option(
            "--allocator", type=click.Choice(ALLOCATORS),
            help="Allocator to model; default: exact (the sum of live bytes), with --memory bfc.",
        ),
        click.option(
            "--conv-workspace", type=click.Choice(WORKSPACES), default="none", show_default=True,
            help="What to count of cuDNN's workspace for convolutions, which no step needs.",
        ),
        click.option(
            "--memory", type=Size(), metavar="SIZE",
            help="Say whether the step fits into this: 6GiB; default for a card: what TensorFlow takes of it.",
        ),
    ]  # fmt: skip

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(decorators):
            command = option(command)
        return command

    return decorate


def settings_of(ctx: click.Context, values: dict[str, Any], **changes: Any) -> Settings:
    """The settings that these options, and the defaults of `[tool.graphmem]`, give.

    Args:
        values: the verb's options, defaults filled in.
        changes: settings to take instead.

    Raises:
        TargetError: they do not go together.
    """
    given = {name: values[name] for name in Settings.__dataclass_fields__ if name in values}
    given["l3_bytes"] = CacheSize().convert(values["l3_cache"], None, ctx)
    if values["memory"] is not None:
        given["memory"] = Size().convert(values["memory"], None, ctx)
    return Settings(**{**given, "cards": ctx.meta.get("cards", {}), **changes})
