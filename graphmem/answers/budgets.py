"""What a check is held against: tolerances, and the checks that a project keeps in `[[tool.graphmem.check]]`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphmem.errors import TargetError
from graphmem.units import format_bytes, parse_bytes

_PERCENT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*")

OWN_KEYS = ("name", "target", "budget", "baseline", "tolerance", "strict", "input", "set", "args")
"""Keys of a check that are not also keys of `[tool.graphmem]`."""


@dataclass(frozen=True)
class Tolerance:
    """How much more than the baseline is allowed: a share of it, or bytes."""

    share: float = 0.0
    bytes: int = 0

    def allowed(self, baseline: int) -> int:
        """The most that is allowed where the baseline was this (bytes)."""
        return baseline + self.bytes + math.floor(baseline * self.share)

    def __str__(self) -> str:
        return format_bytes(self.bytes) if self.bytes else f"{100 * self.share:g} %"


@dataclass(frozen=True)
class Entry:
    """One check of a project.

    Attributes:
        name: what it is called; the target if nothing else. Names are unique.
        target: as on the command line.
        budget: bytes; `None` if there is none.
        baseline: file of a report, relative to the project's folder; "" if there is none.
        tolerance: `None`: the default.
        strict: `None`: as the command line says.
        inputs, dims, args: what `--input`, `--set` and the words after `--` say on the command line.
        options: other options of the analysis by the name of their key, such as "batch".
    """

    name: str
    target: str
    budget: int | None = None
    baseline: str = ""
    tolerance: Tolerance | None = None
    strict: bool | None = None
    inputs: tuple[str, ...] = ()
    dims: tuple[tuple[str, int], ...] = ()
    args: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


def read_tolerance(value: float | str) -> Tolerance:
    """A tolerance of "2%", "100MiB" or 0.02.

    Raises:
        TargetError: it is none of these.
    """
    if isinstance(value, str):
        percent = _PERCENT.fullmatch(value)
        if percent:
            return Tolerance(share=float(percent[1]) / 100)
        if value.strip() == "0":
            return Tolerance()
        try:
            if re.search(r"[A-Za-z]\s*$", value):
                return Tolerance(bytes=parse_bytes(value))
        except TargetError:
            pass
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1:
        return Tolerance(share=value)
    raise TargetError(f"{value!r} is no tolerance; write it like 2% or 100MiB.")


def read_entries(tables: object, path: str, allowed: Mapping[str, tuple[type, tuple[str, ...]]]) -> list[Entry]:
    """The checks of a pyproject.toml.

    Args:
        tables: the value of `tool.graphmem.check`.
        path: the file, for what is said of it.
        allowed: option of the analysis -> its type, and its choices if it has any.

    Raises:
        TargetError: a key or value is wrong, or two checks have one name.
    """
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise TargetError(f"{path}: tool.graphmem.check must be an array of tables: write [[tool.graphmem.check]].")
    entries: list[Entry] = []
    for number, table in enumerate(tables, 1):
        where = f"{path}: check {number}"
        try:
            entry = _entry(table, allowed)
        except TargetError as error:
            raise TargetError(f"{where} of [[tool.graphmem.check]]: {error}") from error
        if any(entry.name == other.name for other in entries):
            raise TargetError(f"{where} is called {entry.name!r}, as one before it: give it another name.")
        entries.append(entry)
    return entries


def _entry(table: Mapping[str, Any], allowed: Mapping[str, tuple[type, tuple[str, ...]]]) -> Entry:
    for key in table:
        if key not in OWN_KEYS and key not in allowed:
            raise TargetError(f"there is no key {key!r}; it may have {', '.join((*OWN_KEYS, *allowed))}.")
    target = _of(table, "target", str, "a text")
    if not target:
        raise TargetError('it has no target: write target = "train.py".')
    budget, tolerance = _of(table, "budget", str, 'a text such as "6GiB"'), table.get("tolerance")
    if budget is None and "baseline" not in table and "memory" not in table:
        raise TargetError('it has nothing to check against: write budget = "6GiB" or baseline = "peak.json".')
    return Entry(
        name=_of(table, "name", str, "a text") or target,
        target=target,
        budget=None if budget is None else parse_bytes(budget),
        baseline=_of(table, "baseline", str, "a text") or "",
        tolerance=None if tolerance is None else read_tolerance(tolerance),
        strict=_of(table, "strict", bool, "true or false"),
        inputs=_texts(table, "input"),
        dims=_dims(table),
        args=_texts(table, "args"),
        options={key: _option(key, table[key], *allowed[key]) for key in table if key not in OWN_KEYS},
    )


def _of(table: Mapping[str, Any], key: str, kind: type, words: str) -> Any:
    value = table.get(key)
    if value is not None and not isinstance(value, kind):
        raise TargetError(f"{key} must be {words}, not {value!r}.")
    return value


def _texts(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TargetError(f"{key} must be a list of texts, not {value!r}.")
    return tuple(value)


def _dims(table: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    value = table.get("set", {})
    if not isinstance(value, dict) or not all(_whole(item) for item in value.values()):
        raise TargetError(f"set must be a table of whole numbers: set = {{ sequence = 128 }}, not {value!r}.")
    return tuple(value.items())


def _option(key: str, value: object, kind: type, choices: tuple[str, ...]) -> Any:
    fits = _whole(value) if kind is int else isinstance(value, kind)
    if not fits or (choices and value not in choices):
        words = {str: "a text", int: "a whole number of 1 or more", bool: "true or false"}
        wanted = " or ".join(map(repr, choices)) or words.get(kind, kind.__name__)
        raise TargetError(f"{key} must be {wanted}, not {value!r}.")
    return value


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
