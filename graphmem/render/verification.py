"""A verification as text: predicted beside measured at a glance, laid out for 80 columns and more."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

from graphmem.render.rows import SMALL, plural, shorten
from graphmem.render.words import short_target, step_words
from graphmem.units import format_bytes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from graphmem.measure.result import Tensors, Verification

CLOSE = 0.01
"""Up to this relative error it "agrees", without more words."""


UNNAMED = "(no op)"
"""In place of a name: of what XLA asks for, and of what is allocated outside of ops, the allocator hears none."""


def verification_text(result: Verification, width: int = 80, top: int = 8, color: bool = False) -> str:
    """The whole comparison as text, its last line the verdict.

    Args:
        width: columns to lay out for.
        top: rows of each list.
        color: whether to write ANSI colours.
    """
    from rich.console import Console

    stream = io.StringIO()
    console = Console(
        file=stream, width=width, color_system="truecolor" if color else None, force_terminal=color, no_color=not color,
        legacy_windows=False, highlight=False, markup=False, emoji=False,
    )  # fmt: skip
    _headline(console, result, width)
    _layers(console, result)
    if not _compiled(result):
        _peak(console, result, width)
    _tensors(console, result, width, top)
    _notes(console, result)
    good = result.agrees
    console.print()
    console.print(verdict(result), style="bold green" if good else "bold red")
    return "\n".join(line.rstrip() for line in stream.getvalue().split("\n")).rstrip() + "\n"


def verdict(result: Verification) -> str:
    """The last line, such as `agreement: agrees within 1 % (step peak predicted 0.4 % too low)`."""
    worst = max(result.layers, key=lambda layer: abs(layer.error))
    layer = result.step_peak if result.agrees else worst
    said, tolerance = f"{layer.name} predicted {_off(layer.error)}", _percent(result.tolerance)
    if not result.agrees:
        return f"agreement: none: {said} (tolerance {tolerance})"
    if abs(layer.error) <= min(CLOSE, result.tolerance):
        return f"agreement: agrees within {_percent(min(CLOSE, result.tolerance))} ({said})"
    return f"agreement: differs within the tolerance of {tolerance} ({said})"


def _off(error: float) -> str:
    if not error:
        return "exactly"
    return f"{_percent(abs(error))} too {'high' if error > 0 else 'low'}"


def _percent(share: float) -> str:
    """A share in per cent with the decimals that tell it from 0."""
    if share == float("inf"):
        return "infinitely"
    percent = 100 * share
    if percent >= 10 or percent == round(percent):
        return f"{percent:.0f} %"
    return f"{percent:.1f} %" if percent >= 0.05 else "< 0.1 %"


def _compiled(result: Verification) -> bool:
    return result.runtime == "xla"


def _headline(console: Console, result: Verification, width: int) -> None:
    what = step_words(result.step, result.batch)
    counted = f"predicted and measured in {plural(len(result.runs), 'run')}"
    name = shorten(short_target(result.target), max(12, width - len(f" {what}: {counted}")))
    console.print(f"{name} {what}: {counted}", style="bold")
    version, threads = result.versions.get("tensorflow", "?"), int(result.facts.get("threads", 1))
    workers, how = plural(threads, "intra-op thread"), f"{result.order} order"
    how = "compiled by XLA" if _compiled(result) else f"{how}, {workers}, 1 inter-op"
    console.print(f"TensorFlow {version} on this CPU, {how}", style="dim")


def _layers(console: Console, result: Verification) -> None:
    """The three kinds of memory, and the spread of the one that is not settled."""
    table = _grid("left", "right", "right", "left")
    table.add_row("", "predicted", "measured", "prediction is", style="dim")
    for layer in result.layers:
        sizes = format_bytes(layer.predicted_bytes), format_bytes(layer.measured_bytes)
        said = "exact" if not layer.error else _off(layer.error)
        table.add_row(layer.name, *sizes, said, style="bold" if layer is result.step_peak else None)
    if not _compiled(result):
        _spread(table, result)
    allocator = result.allocator
    if allocator is not None:
        sizes = format_bytes(allocator.predicted_bytes), format_bytes(allocator.measured_bytes)
        table.add_row(allocator.name, *sizes, f"{_off(allocator.error)}; all in use, as BFC rounds it")
    _section(console, "", table)


def _spread(table: Table, result: Verification) -> None:
    """The lowest and highest step peak, of the orders drawn and of the runs."""
    peaks = [run.step_peak_bytes for run in result.runs]
    inside = sum(run.inside for run in result.runs)
    table.add_row("  lowest", format_bytes(result.range_bytes[0]), format_bytes(min(peaks)), "")
    where = f"{inside} of {plural(len(peaks), 'run')} within the range"
    table.add_row("  highest", format_bytes(result.range_bytes[1]), format_bytes(max(peaks)), where)


def _peak(console: Console, result: Verification, width: int) -> None:
    tensors = result.tensors
    table = _grid("left", "left")
    room = width - 16
    if tensors.predicted_op == tensors.measured_op:
        table.add_row("same op", shorten(tensors.measured_op or UNNAMED, room))
    else:
        table.add_row("predicted", shorten(tensors.predicted_op or UNNAMED, room))
        table.add_row("measured", shorten(tensors.measured_op or UNNAMED, room))
    _section(console, f"Op at the peak{_of_run(result)}", table)


def _of_run(result: Verification) -> str:
    return f" of run {result.tensors.run + 1}, in the nearest order" if len(result.runs) > 1 else ""


def _tensors(console: Console, result: Verification, width: int, top: int) -> None:
    """Bytes alive at the peak by op type, or by what a block is for: in both, only predicted, only measured; then
    what differs."""
    tensors, compiled = result.tensors, _compiled(result)
    table = _grid("left", "right", "right", "right")
    table.add_row("for" if compiled else "made by", "in both", "predicted only", "measured only", style="dim")
    rows = sorted(
        tensors.by_op_type,
        key=lambda row: (-row.matched_bytes - row.predicted_only_bytes - row.measured_only_bytes, row.op_type),
    )
    shown = rows if len(rows) <= top + 1 else rows[:top]
    for row in shown:
        sizes = row.matched_bytes, row.predicted_only_bytes, row.measured_only_bytes
        table.add_row(shorten(row.op_type, width - 48), *map(_cell, sizes))
    rest = rows[len(shown) :]
    if rest:
        sums = (
            sum(row.matched_bytes for row in rest),
            sum(row.predicted_only_bytes for row in rest),
            sum(row.measured_only_bytes for row in rest),
        )
        table.add_row(f"… {len(rest)} others", *map(_cell, sums))
    ours, real = tensors.predicted_peak_bytes, tensors.measured_peak_bytes
    totals = tensors.matched_bytes, ours - tensors.matched_bytes, real - tensors.matched_bytes
    table.add_row("step peak", *map(_cell, totals), style="bold")
    share = math.floor(1000 * tensors.matched_share) / 10  # never 100 % where something differs
    if compiled:
        title = "What XLA asks for, block by block"
        matches = f"{tensors.matched:,} of {plural(tensors.measured, 'measured block')} match to the byte"
    else:
        title = "Alive at the peak, tensor by tensor"
        matches = f"{tensors.matched:,} of {plural(tensors.measured, 'measured buffer')} match in op and size"
    _section(console, title, table, f"{matches}: {share:.1f} % of the bytes")
    _differences(console, tensors, width, top)


def _differences(console: Console, tensors: Tensors, width: int, top: int) -> None:
    """The buffers that are alive at one peak only, most bytes first; those below 0.1 % of it are added up."""
    if not tensors.differences:
        return
    least = SMALL * tensors.measured_peak_bytes
    shown = [item for item in tensors.differences[:top] if item.bytes * abs(item.count) >= least]
    table = _grid("right", "left", "left")
    for item in shown:
        side = "measured only" if item.count > 0 else "predicted only"
        table.add_row(format_bytes(item.bytes * abs(item.count)), side, shorten(item.op or UNNAMED, width - 30))
    left = tensors.differences[len(shown) :]
    if left:
        rest = sum(item.bytes * abs(item.count) for item in left)
        noun = "other" if shown else "difference"
        table.add_row(format_bytes(rest), plural(len(left), noun), "")
    _section(console, "What differs", table)


def _notes(console: Console, result: Verification) -> None:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for number, note in enumerate(result.notes):
        table.add_row("" if number else "Note", note.rstrip("."))
    console.print()
    console.print(table)


def _cell(size: int) -> str:
    return format_bytes(size) if size else "–"


def _section(console: Console, title: str, table: Table, lead: str = "") -> None:
    from rich.padding import Padding

    console.print()
    if title:
        console.print(title, style="bold")
    if lead:
        console.print(lead, style="dim")
    console.print(Padding(table, (0, 0, 0, 2), expand=False))


def _grid(*aligned: str) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for side in aligned:
        table.add_column(justify="right" if side == "right" else "left", no_wrap=True, overflow="ellipsis")
    return table
