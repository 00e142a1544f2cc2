"""Defaults from `[tool.graphmem]` in the nearest pyproject.toml, and options that all verbs share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from graphmem.errors import TargetError
from graphmem.ops.machine import l3_cache_bytes
from graphmem.settings import ALLOCATORS, ORDERS, RUNTIMES, STEPS, WORKSPACES
from graphmem.units import parse_bytes

#: Keys of `[tool.graphmem]`: the type of each, and its choices if it has any.
CONFIG_KEYS: dict[str, tuple[type, tuple[str, ...]]] = {
    "step": (str, STEPS),
    "batch": (int, ()),
    "loss": (str, ()),
    "optimizer": (str, ()),
    "device": (str, ()),
    "runtime": (str, RUNTIMES),
    "order": (str, ORDERS),
    "orders": (int, ()),
    "warmup": (int, ()),
    "threads": (int, ()),
    "l3_cache": (str, ()),
    "rewrite": (bool, ()),
    "allocator": (str, ALLOCATORS),
    "memory": (str, ()),
    "conv_workspace": (str, WORKSPACES),
    "top": (int, ()),
    "width": (int, ()),
    "gpus": (dict, ()),
    "check": (list, ()),
}
_TYPE_NAMES = {
    str: "a text", int: "a whole number of 1 or more", bool: "true or false", dict: "a table",
    list: "an array of tables",
}  # fmt: skip


def configured(start: Path | None = None) -> dict[str, Any]:
    """The defaults that the nearest pyproject.toml at or above a folder (default: the current one) gives.

    Raises:
        TargetError: the file is no TOML, or a key or value of `[tool.graphmem]` is wrong.
    """
    path = project_file(start)
    return {} if path is None else _checked(_read(path), path)


def project_file(start: Path | None = None) -> Path | None:
    """The nearest pyproject.toml at or above a folder (default: the current one)."""
    folder = (start or Path.cwd()).resolve()
    candidates = (candidate / "pyproject.toml" for candidate in (folder, *folder.parents))
    return next((path for path in candidates if path.is_file()), None)


def _read(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TargetError(f"{path} cannot be read for defaults of graphmem: {error}; correct it.") from error
    tool = data.get("tool", {})
    table = tool.get("graphmem", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise TargetError(f"{path}: tool.graphmem must be a table: write [tool.graphmem].")
    return table


def _checked(table: dict[str, Any], path: Path) -> dict[str, Any]:
    for key, value in table.items():
        if key not in CONFIG_KEYS:
            raise TargetError(f"{path}: [tool.graphmem] has no key {key!r}; it may have {', '.join(CONFIG_KEYS)}.")
        kind, choices = CONFIG_KEYS[key]
        if not _fits(value, kind) or (choices and value not in choices):
            wanted = " or ".join(map(repr, choices)) or _TYPE_NAMES[kind]
            raise TargetError(f"{path}: [tool.graphmem] {key} must be {wanted}, not {value!r}.")
    return table


def _fits(value: object, kind: type) -> bool:
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return isinstance(value, kind)


def with_defaults(ctx: click.Context, given: dict[str, Any]) -> dict[str, Any]:
    """The options as given, and those not given as pyproject.toml has them."""
    defaults = configured()
    ctx.meta["cards"] = defaults.get("gpus", {})
    left_out = [name for name in given if ctx.get_parameter_source(name) is ParameterSource.DEFAULT]
    return given | {name: defaults[name] for name in left_out if name in defaults}


def shared_options() -> list[click.Option]:
    """-q, -v and --debug, which every verb takes; they are set on the context's `Terminal`."""

    def option(flags: list[str], name: str, text: str) -> click.Option:
        def store(ctx: click.Context, _: click.Parameter, value: bool) -> None:
            if value:
                setattr(ctx.obj, name, True)

        return click.Option(flags, is_flag=True, expose_value=False, callback=store, help=text, is_eager=True)

    return [
        option(["-q", "--quiet"], "quiet", "Print nothing but the answer and errors."),
        option(["-v", "--verbose"], "verbose", "Print each phase with its time, and what TensorFlow wrote."),
        option(["--debug"], "debug", "As -v, and the traceback of an error."),
    ]


class Size(click.ParamType[int]):
    """A size such as 32MiB, in bytes."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read one size; click's usage error if it is none."""
        if isinstance(value, int):
            return value
        try:
            return parse_bytes(value)
        except TargetError as error:
            self.fail(str(error), param, ctx)


class CacheSize(Size):
    """A size, or "here" for this machine's L3 cache, in bytes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read one size; click's usage error if it is none."""
        return l3_cache_bytes() if value == "here" else super().convert(value, param, ctx)


class Assignment(click.ParamType[tuple[str, int]]):
    """NAME=VALUE with a whole number, as (name, value)."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Read one assignment; click's usage error if it is none."""
        if isinstance(value, tuple):
            return value
        name, equals, number = str(value).partition("=")
        if not name.strip() or not equals or not number.strip().isdecimal() or int(number) < 1:
            self.fail(f"{value!r} is not NAME=VALUE with a whole number of 1 or more: sequence=128.", param, ctx)
        return name.strip(), int(number)


class Whole(click.ParamType[int]):
    """A whole number of at least `least`."""

    name = "N"

    def __init__(self, least: int = 1) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read one number; click's usage error if it is none."""
        text = str(value).strip()
        if not text.isdecimal() or int(text) < self.least:
            self.fail(f"{value!r} is not a whole number of {self.least} or more.", param, ctx)
        return int(text)
