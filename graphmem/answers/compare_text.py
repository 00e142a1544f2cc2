"""A comparison as text, CSV, LaTeX, Markdown, JSON and as a bar chart."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from graphmem.answers.compare import Comparison, Estimate
from graphmem.render import tables
from graphmem.render.charts import Bar, bar_chart
from graphmem.render.output import check_outputs, write_files
from graphmem.render.tables import AtLeast, Cell, Column, Table, words
from graphmem.render.words import headline, modelled, short_target, step_words

_COLUMNS = (
    Column("number", "count", "#"),
    Column("estimate"),
    Column("bytes", "bytes", "bytes"),
    Column("ratio", "ratio", "of the peak"),
    Column("at_least", for_people=False),
    Column("prints", for_people=False),
    Column("says", "sentence", "what it leaves out or counts twice"),
    Column("source", for_people=False),
)


def comparison_table(result: Comparison, says: bool = True) -> Table:
    """The estimates, then the simulated peak and the measured one.

    Args:
        says: whether people see the sentences.
    """
    report = result.report
    columns = tuple(Column(c.name, c.kind, c.title, c.for_people and (says or c.name != "says")) for c in _COLUMNS)
    rows: list[tuple[Cell, ...]] = [
        (item.number, item.name, _size(item), _ratio(item), item.at_least, item.prints, item.says, item.source)
        for item in result.estimates
    ]
    peak: Cell = AtLeast(result.peak_bytes) if report.at_least else result.peak_bytes
    rows.append(("", "simulated peak", peak, 1.0, report.at_least, "", "", "graphmem"))
    if result.measured_bytes is not None:
        share = result.measured_bytes / result.peak_bytes if result.peak_bytes else None
        rows.append(("", "measured peak", result.measured_bytes, share, False, "", "", "TensorFlow's allocator"))
    return Table(columns, tuple(rows), title=_title(result), notes=result.notes, bold=(len(result.estimates),))


def by_hand_table(result: Comparison) -> Table:
    """The table that the course notes make by hand: for one sample, float32 unless Keras' default says otherwise."""
    columns = (
        Column("layer"),
        Column("class"),
        Column("shape", title="output of one sample"),
        Column("activations", "count"),
        Column("parameters", "count"),
    )
    rows: list[tuple[Cell, ...]] = [
        (row.layer, row.kind or None, _shape(row.shape), row.activations, row.params) for row in result.by_hand
    ]
    unknown = any(row.activations is None for row in result.by_hand)
    sums = sum(row.activations or 0 for row in result.by_hand), sum(row.params for row in result.by_hand)
    rows.append(("all layers", None, None, AtLeast(sums[0]) if unknown else sums[0], sums[1]))
    return Table(columns, tuple(rows), title="Counted by hand: elements of one sample", bold=(len(rows) - 1,))


def as_text(result: Comparison, width: int = 80, color: bool = False, layers: bool = False) -> str:
    """The comparison for a terminal.

    Args:
        width: columns to lay out for.
        color: whether to write ANSI styles.
        layers: whether the table made by hand follows.
    """
    head = [*headline(result.report, width), modelled(result.report)]
    table = comparison_table(result, says=False)
    table = Table(table.columns, table.rows, bold=table.bold)
    parts = ["\n".join(line for text in head for line in textwrap.wrap(text, width)) + "\n"]
    parts.append(tables.as_text(table, width, color))
    title = "What each leaves out or counts twice"
    lines = [_paragraph(f"{item.number}  ", item.says, width) for item in result.estimates]
    parts.append("\n".join([f"\x1b[1m{title}\x1b[0m" if color else title, *lines]) + "\n")
    if layers:
        parts.append(tables.as_text(by_hand_table(result), width, color))
    if result.notes:
        parts.append("\n".join(_paragraph("Note  ", note, width) for note in result.notes) + "\n")
    return "\n".join(parts)


def as_json(result: Comparison) -> str:
    """The comparison as JSON, schema 1 (see `docs/compare.md`)."""
    return json.dumps(result.to_dict(), indent=1, ensure_ascii=False) + "\n"


def chart(result: Comparison, ending: str) -> bytes:
    """The estimates as bars, the peak as a line across them.

    Args:
        ending: .svg, .png or .pdf.
    """
    bars = [Bar(item.name, item.bytes, _beside(item)) for item in result.estimates]
    bars.append(Bar("simulated peak", result.peak_bytes, words(result.peak_bytes, "bytes"), bold=True))
    if result.measured_bytes is not None:
        bars.append(Bar("measured peak", result.measured_bytes, words(result.measured_bytes, "bytes"), bold=True))
    return bar_chart(bars, ending, line=result.peak_bytes, xlabel="memory", title=_title(result))


def write_comparison(result: Comparison, paths: Sequence[str], *, force: bool = False) -> None:
    """Write files in the format of their endings; none is written before all are rendered.

    Raises:
        TargetError: unknown ending, existing file without `force`, unwritable place.
    """
    check_outputs(paths, force, tuple(FORMATS))
    write_files(paths, lambda path: FORMATS[Path(path).suffix.lower()](result))


def _title(result: Comparison) -> str:
    return f"{short_target(result.report.target)} {step_words(result.report.step, result.report.batch)}".strip()


def _paragraph(mark: str, text: str, width: int) -> str:
    return textwrap.fill(text, width, initial_indent=f"  {mark}", subsequent_indent=" " * (2 + len(mark)))


def _size(item: Estimate) -> Cell:
    return AtLeast(item.bytes) if item.at_least and item.bytes is not None else item.bytes


def _ratio(item: Estimate) -> Cell:
    return AtLeast(item.ratio) if item.at_least and item.ratio is not None else item.ratio


def _beside(item: Estimate) -> str:
    """What stands at the end of a bar."""
    if item.bytes is None:
        return "not computed"
    return f"{words(_size(item), 'bytes')}, {words(item.ratio, 'ratio')}"


def _shape(shape: tuple[int | None, ...] | None) -> str | None:
    return None if shape is None else "×".join("?" if dim is None else str(dim) for dim in shape) or "scalar"


def _text_file(write: Callable[[Comparison], str]) -> Callable[[Comparison], bytes]:
    return lambda result: write(result).encode()


def _picture(ending: str) -> Callable[[Comparison], bytes]:
    return lambda result: chart(result, ending)


FORMATS: dict[str, Callable[[Comparison], bytes]] = {
    ".csv": _text_file(lambda result: tables.as_csv(comparison_table(result))),
    ".tex": _text_file(lambda result: tables.as_latex(comparison_table(result, says=False))),
    ".md": _text_file(lambda result: tables.as_markdown(comparison_table(result))),
    ".json": _text_file(as_json),
    ".txt": _text_file(lambda result: as_text(result, width=120, layers=True)),
    ".svg": _picture(".svg"),
    ".png": _picture(".png"),
    ".pdf": _picture(".pdf"),
}
"""Ending -> the content of such a file."""
