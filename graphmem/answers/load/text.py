"""What loading costs, as text and in the formats of tables."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath

from graphmem.answers.load.answer import LoadCost
from graphmem.answers.load.contents import Contents
from graphmem.answers.load.ways import Way
from graphmem.render import tables
from graphmem.render.tables import AtLeast, Cell, Column, Table
from graphmem.units import format_bytes

_FORMATS = {
    "keras": "Keras model", "h5": "model in legacy HDF5", "weights.h5": "weights file", "savedmodel": "SavedModel",
    "checkpoint": "checkpoint",
}  # fmt: skip


def as_text(cost: LoadCost, width: int = 80, top: int = 5, color: bool = False) -> str:
    """The answer for a terminal.

    Args:
        width: columns to lay out for.
        top: rows of the list of the largest tensors.
        color: whether to write ANSI styles.
    """
    head = _wrapped(headline(cost), width, "  ")
    parts = [f"\x1b[1m{head}\x1b[0m" if color else head]
    parts.append("\n".join(_wrapped(line, width, " " * 15) for line in _compiled_with(cost.contents)))
    shown = [inside_table(cost.contents), largest_table(cost.contents, top), *measured_tables(cost)]
    parts += [tables.as_text(table, width, color).rstrip() for table in shown if table.rows]
    parts.append("\n".join(_wrapped(line, width, "  ") for line in _sentences(cost)))
    if cost.notes:
        parts.append("\n".join(_wrapped(f"Note  {note}", width, " " * 6) for note in cost.notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def headline(cost: LoadCost) -> str:
    """What it is and what loading it takes, in a sentence."""
    contents, first = cost.contents, cost.ways[0]
    least = "at least " if first.at_least else ""
    return (
        f"{PurePath(contents.path).name}, {_FORMATS[contents.format]} of {format_bytes(contents.disk_bytes)}: loading "
        f"it takes {least}{format_bytes(first.peak_bytes)} at its peak and {least}{format_bytes(first.after_bytes)} "
        "afterwards"
    )


def _compiled_with(contents: Contents) -> list[str]:
    if contents.training is None:
        if contents.format in ("keras", "h5"):
            return ["compiled with  nothing: it was saved without having been compiled"]
        return []
    training = contents.training
    arguments = ", ".join(f"{key}={value:g}" for key, value in training.optimizer_config.items() if _is_number(value))
    optimizer = f"{training.optimizer}({arguments})" if arguments else training.optimizer
    rows = [("optimizer", optimizer), ("loss", training.loss), ("metrics", ", ".join(training.metrics))]
    said = [f"{title} {text or '–'}" for title, text in rows]
    return [f"compiled with  {said[0]}", *(" " * 15 + text for text in said[1:])]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def inside_table(contents: Contents) -> Table:
    """What is stored, by kind and dtype."""
    columns = (
        Column("kind"), Column("dtype"), Column("tensors", "count"), Column("bytes", "bytes", "in memory"),
        Column("disk_bytes", "bytes", "on disk"),
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = [tuple(row[column.name] for column in columns) for row in contents.sums]
    disk = sum(tensor.disk_bytes for tensor in contents.tensors)
    rest = contents.disk_bytes - disk
    rows.append(("file structure, configuration", "", None, None, max(rest, 0)))
    rows.append(("in all", "", len(contents.tensors), contents.bytes_of(), contents.disk_bytes))
    return Table(columns, tuple(rows), title="Inside", bold=(len(rows) - 1,))


def largest_table(contents: Contents, top: int) -> Table:
    """The largest stored tensors."""
    ranked = sorted(contents.tensors, key=lambda tensor: (-tensor.bytes, tensor.name))[:top]
    columns = (Column("name"), Column("kind"), Column("shape"), Column("dtype"), Column("bytes", "bytes", "in memory"))
    rows = tuple((one.name, one.kind, "×".join(map(str, one.shape)) or "()", one.dtype, one.bytes) for one in ranked)
    return Table(columns, rows, title="Largest tensors")


def ways_table(cost: LoadCost) -> Table:
    """Each way of loading with its figures, measured ones included where there are any."""
    columns = (
        Column("way"), Column("call", for_people=False), Column("variables_bytes", "bytes"),
        Column("objects_bytes", "bytes", "objects"), Column("after_bytes", "bytes", "after"),
        Column("reading_bytes", "bytes", "reading"), Column("peak_bytes", "bytes", "peak"),
        *(() if not _measured(cost) else (
            Column("measured_before_bytes", "bytes", for_people=False),
            Column("measured_after_bytes", "bytes", "measured after"),
            Column("measured_peak_bytes", "bytes", "measured peak"),
        )),
    )  # fmt: skip
    rows = tuple(_row(way, _measured(cost)) for way in cost.ways)
    return Table(columns, rows, title="What loading takes")


def _row(way: Way, measured: bool) -> tuple[Cell, ...]:
    after: Cell = AtLeast(way.after_bytes) if way.at_least else way.after_bytes
    peak: Cell = AtLeast(way.peak_bytes) if way.at_least else way.peak_bytes
    figures: tuple[Cell, ...] = (way.stored_bytes + way.made_bytes, way.object_bytes, after, way.reading_bytes, peak)
    done = way.measured
    more: tuple[Cell, ...] = (done.before, done.after, done.peak) if done is not None else (None, None, None)
    return (way.name, way.call, *figures, *(more if measured else ()))


def measured_tables(cost: LoadCost) -> list[Table]:
    """For the terminal: the prediction, and if it was measured, both side by side."""
    table = ways_table(cost)
    if not _measured(cost):
        return [table]
    count = len(table.columns) - 3
    predicted = replace(table, columns=table.columns[:count], rows=tuple(row[:count] for row in table.rows))
    columns = (
        Column("way"), Column("after", "bytes", "after"), Column("after_m", "bytes", "measured"),
        Column("off", "text", "off"), Column("peak", "bytes", "peak"), Column("peak_m", "bytes", "measured"),
        Column("peak_off", "text", "off"),
    )  # fmt: skip
    rows = tuple(
        (
            way.name, way.after_bytes, way.measured.after, off(way.after_bytes, way.measured.after),
            way.peak_bytes, way.measured.peak, off(way.peak_bytes, way.measured.peak),
        )
        for way in cost.ways if way.measured
    )  # fmt: skip
    before = max(way.measured.before for way in cost.ways if way.measured)
    note = f"Beyond the {format_bytes(before)} resident with TensorFlow and Keras imported."
    return [predicted, Table(columns, rows, title="Measured here", notes=(note,))]


def off(predicted: int, measured: int) -> str:
    """The error of a prediction: `+1.2 %` is too high.

    >>> off(101, 100), off(95, 100), off(5, 0)
    ('+1.0 %', '-5.0 %', '–')
    """
    return f"{100 * (predicted - measured) / measured:+.1f} %" if measured > 0 else "–"


def _measured(cost: LoadCost) -> bool:
    return any(way.measured for way in cost.ways)


def _sentences(cost: LoadCost) -> list[str]:
    lines = [f"{way.name}: {way.call}{'. ' + way.says if way.says else ''}" for way in cost.ways]
    verdicts = [cost.agrees(way) for way in cost.ways if way.measured]
    if verdicts:
        good = all(verdicts)
        lines.append(
            f"agreement: {'after loading, prediction and measurement agree' if good else 'none'} "
            f"(tolerance {100 * cost.tolerance:g} %)"
        )
    return lines


def _wrapped(text: str, width: int, indent: str) -> str:
    return textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def as_json(cost: LoadCost) -> str:
    """The answer as JSON, schema 1 (see `docs/load.md`)."""
    return json.dumps(cost.to_dict(), indent=1, ensure_ascii=False) + "\n"


FORMATS: dict[str, Callable[[LoadCost], str]] = {
    ".txt": lambda cost: as_text(cost, 120),
    ".md": lambda cost: tables.as_markdown(ways_table(cost)),
    ".csv": lambda cost: tables.as_csv(ways_table(cost)),
    ".tex": lambda cost: tables.as_latex(ways_table(cost)),
    ".json": as_json,
}
"""Ending -> the answer as the text of such a file; tables are of the ways of loading."""
