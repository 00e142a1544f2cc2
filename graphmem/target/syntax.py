"""How a target is written: a file, a name in it, a call with literals, a module, an application, a saved model."""

from __future__ import annotations

import ast
import difflib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphmem.errors import TargetError

_SAVED = (".keras", ".h5", ".hdf5")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class Named:
    """A name, such as `model` or `nets.build`, and the literals it is called with, if it is called."""

    name: str
    called: bool = False
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """What a target names.

    Attributes:
        kind: "script", "module", "app", "saved" (a `.keras` or `.h5` file) or "folder" (a SavedModel).
        where: the path, the module, or "" for an application.
        named: the object in it; `None` if the target names none.
    """

    kind: str
    where: str
    named: Named | None = None


def parse_target(target: str) -> Place:
    """Read a target; files must exist.

    Raises:
        TargetError: the target has no form that is known, or its file is missing.
    """
    if target in ("", "-"):
        raise TargetError("The target is empty, or stdin; name a file, a module's object or app:NAME.")
    if target.startswith("app:"):
        return Place("app", "", parse_named(target[4:], target))
    path = Path(target)
    if path.is_dir():
        return _folder(path)
    if path.is_file():
        return _file(path)
    script, colon, name = target.partition(".py:")
    if colon:
        if not Path(script + ".py").is_file():
            raise TargetError(_missing(Path(script + ".py")))
        return Place("script", script + ".py", parse_named(name, target))
    module, colon, name = target.partition(":")
    if colon and _MODULE.fullmatch(module):
        return Place("module", module, parse_named(name, target))
    raise TargetError(_missing(path, module))


def parse_named(text: str, target: str) -> Named:
    """Read `name`, `obj.name` or `name(1, width=2)`; the arguments are literals.

    Raises:
        TargetError: the text is something else.
    """
    try:
        expression = ast.parse(text.strip(), mode="eval").body
        called = isinstance(expression, ast.Call)
        name = expression.func if isinstance(expression, ast.Call) else expression
        if not _MODULE.fullmatch(ast.unparse(name)):
            raise ValueError("not a name")
        if not isinstance(expression, ast.Call):
            return Named(ast.unparse(name))
        kwargs = {str(k.arg): ast.literal_eval(k.value) for k in expression.keywords if k.arg is not None}
        if len(kwargs) != len(expression.keywords):
            raise ValueError("** is no literal")
        return Named(ast.unparse(name), called, tuple(map(ast.literal_eval, expression.args)), kwargs)
    except (SyntaxError, ValueError) as error:
        raise TargetError(
            f"{target!r}: {text!r} is neither a name nor a call with literal arguments, such as build(width=2)."
        ) from error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'ResNet50'?`, or a full stop if nothing comes close."""
    known = list(known)
    by_lower = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower(), by_lower, 3, 0.6)
    return f"; did you mean {' or '.join(repr(by_lower[c]) for c in close)}?" if close else "."


def _file(path: Path) -> Place:
    suffix = path.suffix.lower()
    if suffix == ".py":
        return Place("script", str(path))
    if suffix in _SAVED:
        return Place("saved", str(path))
    if suffix == ".ipynb":
        raise TargetError(f"{path} is a notebook; save it as a Python file, or call graphmem.analyze(model) in it.")
    if suffix == ".graphmem":
        raise TargetError(f"{path} is no trace that graphmem wrote, or is damaged; trace its model again.")
    raise TargetError(f"{path} is no Python file, saved model (.keras, .h5) or saved trace (.graphmem).")


def _folder(path: Path) -> Place:
    if (path / "saved_model.pb").is_file() or (path / "saved_model.pbtxt").is_file():
        return Place("folder", str(path))
    raise TargetError(f"{path} is a folder without a saved_model.pb, so no SavedModel; name a file.")


def _missing(path: Path, module: str = "") -> str:
    if path.is_symlink():
        return f"{str(path)!r} is a link to {os.readlink(path)!r}, which does not exist."
    if "." in module and _MODULE.fullmatch(module) and Path(module.partition(".")[0]).is_dir():
        return f"There is no file {module!r}; if it is a module, say which of its names: {module}:NAME."
    beside = path.parent if path.parent.is_dir() else Path(".")
    files = [p for p in sorted(beside.iterdir())[:2000] if p.suffix == path.suffix and p.exists()]
    close = difflib.get_close_matches(path.stem.lower(), [p.stem.lower() for p in files], 3, 0.6)
    named = list(dict.fromkeys(repr(str(p)) for stem in close for p in files if p.stem.lower() == stem))
    return f"There is no file {str(path)!r}" + (f"; did you mean {' or '.join(named)}?" if named else ".")
