"""What can be varied of a target, and the target at one value: batch, sizes, named dimensions, arguments, settings.

A `?` in the target's call, or in the arguments of its script, is a place for a value; it is named after the keyword
or the flag that it follows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from graphmem.errors import TargetError
from graphmem.settings import Settings
from graphmem.target.step import LARGEST_DIM, Options
from graphmem.units import parse_bytes

Value = int | float | str | bool | None
"""A literal; most of what can be varied takes a whole number, or a text."""

PLACE = "?"
_STAND_IN = "_graphmem_place_"
_APP_SIZE = 3
"""Channels of the images that an application of Keras takes unless it is told otherwise."""

_OF_OPTIONS = {"step": "kind", "optimizer": "optimizer", "loss": "loss"}
_OF_SETTINGS = ("device", "runtime", "order", "allocator", "conv_workspace")
_NUMBERS_OF_SETTINGS = ("threads", "warmup", "orders")
_AXES = {"size": ("height", "width"), "height": ("height",), "width": ("width",)}


@dataclass(frozen=True)
class Point:
    """A target as it is analysed.

    Attributes:
        target: as on the command line, without places left.
        options, settings: of the analysis.
        policy: Keras' dtype policy that the target is built under; "": its own.
    """

    target: str
    options: Options
    settings: Settings
    policy: str = ""

    def at(self, name: str, value: Value) -> Point:
        """The same with one thing varied.

        Args:
            name: the name of a place, or of a keyword in the target's call; "batch"; "size" (image height and width),
                "height" or "width"; "step", "optimizer", "loss", "policy"; a setting; else a dimension that `--set`
                names.
            value: a whole number, or a text.

        Raises:
            TargetError: the value is none for what is varied.
        """
        if name in places(self.target, self.options.script_args) or name in keywords(self.target):
            return self._with_argument(name, value)
        if name == "batch":
            return replace(self, options=_options(self.options, batch=_whole(name, value)))
        if name in _OF_OPTIONS:
            return replace(self, options=_options(self.options, **{_OF_OPTIONS[name]: str(value)}))
        if name == "policy":
            return replace(self, policy=str(value))
        if name in _OF_SETTINGS:
            return self._set(name, str(value))
        if name in _NUMBERS_OF_SETTINGS:
            return self._set(name, _whole(name, value))
        if name == "memory":
            memory = value if isinstance(value, int) else parse_bytes(str(value))
            return self._set(name, memory)
        if name == "size" and self.target.startswith("app:"):
            return replace(self, target=_sized_app(self.target, _whole(name, value)))
        number = _whole(name, value)
        sized = dict.fromkeys(_AXES.get(name, (name,)), number)
        return replace(self, options=_options(self.options, dims={**self.options.dims, **sized}))

    def _set(self, name: str, value: Any) -> Point:
        changes: dict[str, Any] = {name: value}
        return replace(self, settings=replace(self.settings, **changes))

    def _with_argument(self, name: str, value: Value) -> Point:
        taken = list(_script_places(self.options.script_args))
        words = list(self.options.script_args)
        for index, place in taken:
            if place == name:
                words[index] = words[index].replace(PLACE, str(value))
        target = _filled(self.target, name, value) if "(" in self.target else self.target
        return replace(self, target=target, options=_options(self.options, script_args=tuple(words)))


def places(target: str, script_args: tuple[str, ...] = ()) -> list[str]:
    """The names of the places in a target's call and in its script's arguments, each once.

    >>> places("model.py:build(width=?, shape=(?, 3))"), places("train.py", ("--image-size", "?", "--b=?"))
    (['width', 'shape'], ['image-size', 'b'])

    Raises:
        TargetError: the call cannot be read.
    """
    names = [name for name, _ in _call_places(target)] if PLACE in target else []
    return list(dict.fromkeys([*names, *(name for _, name in _script_places(script_args))]))


def keywords(target: str) -> list[str]:
    """The keywords of a target's call; empty if it is none."""
    if "(" not in target or target.partition("(")[0].rpartition(":")[1] != ":":
        return []
    return [keyword.arg for keyword in _call(target).keywords if keyword.arg]


def _call_places(target: str) -> list[tuple[str, ast.expr]]:
    """(name, expression) of each argument of the call with a place in it; it is named "argument" if positional."""
    call = _call(target)
    named = [("argument", expression) for expression in call.args]
    named += [(keyword.arg or "", keyword.value) for keyword in call.keywords]
    return [(name, expression) for name, expression in named if _has_place(expression)]


def _call(target: str) -> ast.Call:
    text = target.rpartition(":")[2] if target.count("(") == 0 else target[: target.index("(")].rpartition(":")[2]
    text += target[target.index("(") :] if "(" in target else ""
    try:
        call = ast.parse(text.replace(PLACE, _STAND_IN).strip(), mode="eval").body
    except SyntaxError:
        call = None
    if not isinstance(call, ast.Call):
        raise TargetError(f"{target!r}: a ? stands for an argument in a call, such as model.py:build(width=?).")
    return call


def _has_place(expression: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == _STAND_IN for node in ast.walk(expression))


def _filled(target: str, name: str, value: Value) -> str:
    """The target with the places of one argument filled in."""
    call = _call(target)
    literal = ast.Constant(value)
    for index, expression in enumerate(call.args):
        if name == "argument":
            call.args[index] = _Fill(literal).visit(expression)
    for keyword in call.keywords:
        if keyword.arg == name:
            keyword.value = _Fill(literal).visit(keyword.value) if _has_place(keyword.value) else literal
    start = target.index("(")
    before = target[:start].rpartition(":")
    return f"{before[0]}{before[1]}{ast.unparse(call).replace(_STAND_IN, PLACE)}"


class _Fill(ast.NodeTransformer):
    """Puts a literal into the places of an expression."""

    def __init__(self, literal: ast.Constant) -> None:
        self.literal = literal

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a place."""
        return self.literal if node.id == _STAND_IN else node


def _script_places(words: tuple[str, ...]) -> list[tuple[int, str]]:
    """(index, name) of each word of a script's arguments that is a place."""
    found = []
    for index, word in enumerate(words):
        flag, equals, rest = word.partition("=")
        if word == PLACE:
            before = words[index - 1] if index else ""
            found.append((index, before.lstrip("-") if before.startswith("-") and "=" not in before else "argument"))
        elif equals and rest == PLACE and flag.startswith("-"):
            found.append((index, flag.lstrip("-")))
    return found


def _sized_app(target: str, size: int) -> str:
    """An application of Keras for images of another size."""
    if "input_shape" in target:
        raise TargetError(
            f"{target} says its input_shape; write input_shape=(?, ?, {_APP_SIZE}) in it to vary the size."
        )
    call = _call(target if "(" in target else f"{target}()")
    shape = ast.Tuple([ast.Constant(size), ast.Constant(size), ast.Constant(_APP_SIZE)], ast.Load())
    call.keywords.append(ast.keyword("input_shape", shape))
    return f"app:{ast.unparse(call)}"


def _options(options: Options, **changes: Any) -> Options:
    """Changed options that have not been used yet: those given keep a record of what was asked of them."""
    return replace(options, **{"dims": dict(options.dims), **changes})


def _whole(name: str, value: Value) -> int:
    text = str(value)
    if not re.fullmatch(r"\d+", text) or not 1 <= int(text) <= LARGEST_DIM:
        raise TargetError(f"{name} must be a whole number from 1 to {LARGEST_DIM}, not {text!r}.")
    return int(text)


def check_filled(point: Point, given: Mapping[str, Any]) -> None:
    """See that every place has a value.

    Args:
        given: what is varied.

    Raises:
        TargetError: a `?` stays open.
    """
    left = [name for name in places(point.target, point.options.script_args) if name not in given]
    if left:
        raise TargetError(f"{point.target} has a ? for {left[0]!r}, and nothing says its values.")
