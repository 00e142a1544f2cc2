"""The command `graphmem`: finds the verb, and turns every failure into one sentence and an exit code.

Exit codes: 0 done, 1 a check failed, 2 bad command, target, file or configuration, 3 the user's code raised or cannot
be traced, 4 an internal error, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import difflib
import importlib
import sys
import traceback
from typing import Any, NoReturn

import click

from graphmem.cli.options import shared_options
from graphmem.cli.terminal import Terminal, no_more_answers, open_standard_streams
from graphmem.errors import GraphmemError, InternalError, UserCodeError

VERBS = {
    "peak": "graphmem.cli.peak",
    "compare": "graphmem.cli.compare",
    "diff": "graphmem.cli.diff",
    "check": "graphmem.cli.check",
    "fit": "graphmem.cli.fit",
    "sweep": "graphmem.cli.sweep",
    "advise": "graphmem.cli.advise",
    "verify": "graphmem.cli.verify",
    "load": "graphmem.cli.load",
    "growth": "graphmem.cli.growth",
    "ops": "graphmem.cli.ops",
}
"""Verb -> the module that defines it under the same name; imported when the verb is used."""

STOPPED = 130
REPORT = "This is a bug in graphmem: please report it"

HELP = """How much memory a TensorFlow/Keras step needs, before anyone runs it, and what holds it.

\b
Examples:
  graphmem peak train.py
  graphmem peak "model.py:build(depth=50)" --batch 32 -o peak.svg
  graphmem peak app:ResNet50 --batch 8 --device gpu
  graphmem fit train.py --budget 6GiB
  graphmem verify train.py
  graphmem ops --help

`graphmem VERB --help` tells the options of a verb. Defaults come from [tool.graphmem] in the nearest pyproject.toml.
"""


class Verbs(click.Group):
    """The verbs, imported when used, each with the shared options."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order of their importance."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb; `None` if there is none of that name."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(importlib.import_module(VERBS[cmd_name]), cmd_name)
        taken = {flag for parameter in command.params for flag in parameter.opts}
        command.params += [option for option in shared_options() if not taken & set(option.opts)]
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the verb, and suggest one for a misspelt name or for a target without a verb."""
        name = args[0]
        if name not in VERBS and not name.startswith("-"):
            close = difflib.get_close_matches(name, VERBS, n=1)
            if close:
                hint = f"did you mean {close[0]}?"
            elif any(mark in name for mark in "./:"):
                hint = f"for a target, write: graphmem peak {name}"
            else:
                hint = f"the verbs are {', '.join(VERBS)}."
            ctx.fail(f"there is no verb {name!r}; {hint}")
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from graphmem.version import __version__

        click.echo(f"graphmem {__version__}")
        ctx.exit()


cli = Verbs(
    "graphmem",
    help=HELP,
    params=[
        click.Option(
            ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Print the version."
        ),
        *shared_options(),
    ],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)


def main(argv: list[str] | None = None) -> int:
    """Run the command line with these arguments (default: the process's own) and return its exit code."""
    terminal = Terminal()
    try:
        result = cli.main(args=argv, prog_name="graphmem", obj=terminal, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else str(error), err=True)
        return 2
    except click.UsageError as error:
        said = error.format_message().replace(". (Did you mean", "; did you mean").rstrip(".?)")
        ending = "?" if "did you mean" in said else "."
        verb = error.ctx.command_path if error.ctx else "graphmem"
        terminal.complain(f"graphmem: {said[0].lower()}{said[1:]}{ending} `{verb} --help` tells the usage.")
        return 2
    except BrokenPipeError:
        no_more_answers()
        return 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        where = f" while {terminal.phase}" if terminal.phase else ""
        terminal.complain(f"graphmem: stopped{where}; nothing was written.")
        return STOPPED
    except GraphmemError as error:
        return _failed(terminal, error)
    except Exception as error:
        return _failed(terminal, error)


def _failed(terminal: Terminal, error: Exception) -> int:
    """Tell the user in a sentence; the traceback only with --debug."""
    if terminal.debug:
        terminal.complain("".join(traceback.format_exception(error)).rstrip())
    if isinstance(error, UserCodeError) and error.excerpt:
        terminal.complain(error.excerpt.rstrip())
    if isinstance(error, GraphmemError) and not isinstance(error, InternalError):
        terminal.complain(f"graphmem: {error}")
        return error.exit_code
    what = str(error) if isinstance(error, InternalError) else f"{type(error).__name__}: {error}"
    more = "" if terminal.debug else ", with what --debug prints"
    terminal.complain(f"graphmem: internal error: {what.rstrip('.')}. {REPORT}{more}.")
    return InternalError.exit_code


def entry() -> NoReturn:
    """The console script."""
    open_standard_streams()
    sys.exit(main())
