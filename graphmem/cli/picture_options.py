"""The options that say what the pictures of a report are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from graphmem.render.choices import COLUMN_MM, DIRECTIONS, KINDS, PAGE_MM, STACKS, Choices
from graphmem.render.themes import THEMES

_MM = {"mm": 1.0, "cm": 10.0, "in": 25.4, "pt": 25.4 / 72.27}
_LENGTH = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(mm|cm|in|pt)")
_PRESETS = {"column": COLUMN_MM, "page": PAGE_MM}
_NARROWEST = 60


class Millimetres(float):
    """The width of a picture."""


class Width(click.ParamType[Any]):
    """Columns of text, a whole number; or the width of a picture: "column", "page", 84mm, 3.3in."""

    name = "WIDTH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | Millimetres:
        """Read one width; click's usage error if it is none."""
        if isinstance(value, Millimetres):
            return value
        text = str(value).strip().lower()
        length = _LENGTH.fullmatch(text)
        if text in _PRESETS or length:
            return Millimetres(_PRESETS[text] if length is None else float(length[1]) * _MM[length[2]])
        if not text.isdecimal() or int(text) < _NARROWEST:
            self.fail(
                f"{value!r} is neither {_NARROWEST} or more columns of text nor the width of a picture: "
                "column, page, 84mm, 3.3in.", param, ctx,
            )  # fmt: skip
        return int(text)


def picture_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the options that `choices_of` and `columns_of` read."""
    decorators = [
        click.option("--picture", type=click.Choice(KINDS), default="frontier", show_default=True,
                     help="What pictures show; FILE may say it too: peak.timeline.svg."),
        click.option("--by", type=click.Choice(STACKS), default="role", show_default=True,
                     help="What a timeline is stacked by."),
        click.option("--theme", type=click.Choice(tuple(THEMES)), default="light", show_default=True,
                     help="Colours of pictures; print: grey, for printers without colour."),
        click.option("--width", type=Width(), multiple=True, metavar="WIDTH",
                     help="Columns of text; or width of pictures: column, page, 84mm, 3.3in."),
        click.option("--depth", type=click.IntRange(min=0), metavar="N",
                     help="Components of layers' names that make a frame of a frontier; default: a few frames."),
        click.option("--direction", type=click.Choice(DIRECTIONS),
                     help="Where arrows go, down or to the right; default: lr in a frontier, tb in a dag."),
        click.option("--caption", is_flag=True, help="Write a caption beside each picture: FILE.caption.txt or .tex."),
    ]  # fmt: skip
    for option in reversed(decorators):
        command = option(command)
    return command


def choices_of(values: dict[str, Any]) -> Choices:
    """What the options say of pictures and lists.

    Raises:
        TargetError: a width that no picture has.
    """
    widths = [float(width) for width in _widths(values) if isinstance(width, Millimetres)]
    return Choices(
        top=values["top"], picture=values["picture"], by=values["by"], theme=values["theme"],
        width=widths[-1] if widths else None, depth=values["depth"],
        direction=values["direction"], caption=values["caption"],
    )  # fmt: skip


def columns_of(values: dict[str, Any]) -> int | None:
    """Columns of text, if they are given."""
    given = [width for width in _widths(values) if not isinstance(width, Millimetres)]
    return given[-1] if given else None


def _widths(values: dict[str, Any]) -> tuple[Any, ...]:
    """All that was given; a default of pyproject.toml is one number."""
    width = values["width"]
    return width if isinstance(width, tuple) else (width,)
