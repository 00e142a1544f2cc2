"""The rows of the accuracy benchmark as text for a terminal and as a section of a Markdown page."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.compare import Row, Verdict

HEAD = (
    f"{'case':32}{'predicted':>10}{'measured':>10}{'(lowest – highest)':>20}{'error':>9}{'range':>20}  inside exact"
    f"{'bfc':>9}{'determ.':>9}{'matched':>9}"
)


def row_text(row: Row) -> str:
    """One line of the table; MB are millions of bytes."""
    measured = f"({mb(row.lowest)} – {mb(row.highest)})"
    predicted = f"{mb(row.low)} – {mb(row.high)}"
    return (
        f"{row.name:32}{mb(row.predicted):>10}{mb(row.median):>10}{measured:>20}{signed(row.error):>9}{predicted:>20}"
        f"{_yes(row.inside):>8}{_yes(row.exact):>6}{signed(row.bfc_error):>9}{signed(row.deterministic_error):>9}"
        f"{row.matched:>8.1f}%{'  at least' if row.at_least else ''}"
    )


def mb(nbytes: int) -> str:
    """Millions of bytes: one decimal, or three below ten."""
    return f"{nbytes / 1e6:.1f}" if nbytes >= 10_000_000 else f"{nbytes / 1e6:.3f}"


def signed(error: float | None) -> str:
    """An error in percent, with its sign; a dash where nothing was measured."""
    return "–" if error is None else f"{error:+.2f}%"


def _yes(value: bool) -> str:
    return "yes" if value else "NO"


def verdict_text(verdicts: Iterable[Verdict]) -> str:
    """One line per limit, and the cases that exceed it."""
    lines = []
    for verdict in verdicts:
        lines.append(f"{verdict.what:46}{verdict.allowed:>8}  {verdict.found:40}{'pass' if verdict.passed else 'FAIL'}")
        lines += [f"    {name}" for name in verdict.cases]
    return "\n".join(lines)


VARIANTS = {
    "": "training steps in float32, and steps of their own kind",
    "predict": "predict, float32",
    "mixed": "training, mixed_float16",
    "predict+mixed": "predict, mixed_float16",
}


def markdown(rows: Sequence[Row], verdicts: Sequence[Verdict]) -> str:
    """The limits, a summary per variant, and a table of all cases."""
    lines = ["| limit | allowed | found | |", "|---|---:|---:|---|"]
    lines += [f"| {v.what} | {v.allowed} | {v.found} | {'kept' if v.passed else 'exceeded'} |" for v in verdicts]
    lines += ["", "| steps | cases | median \\|error\\| | worst over | worst under | in range |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    for variant, title in VARIANTS.items():
        if chosen := [row for row in rows if row.name.partition("/")[2] == variant]:
            lines.append(_summary(title, chosen))
    lines.append(_summary("all", rows))
    lines += [
        "",
        "| case | predicted | measured (lowest – highest) | error | range | in range | allocator | deterministic "
        "| matched |",
        "|---|---:|---:|---:|---:|---|---:|---:|---:|",
    ]
    for row in rows:
        lines.append(
            f"| {row.name} | {mb(row.predicted)} | {mb(row.median)} ({mb(row.lowest)} – {mb(row.highest)}) "
            f"| {signed(row.error)} | {mb(row.low)} – {mb(row.high)} | {_yes(row.inside).lower()} "
            f"| {signed(row.bfc_error)} | {signed(row.deterministic_error)} "
            f"| {row.matched:.1f}% |"
        )
    return "\n".join(lines) + "\n"


def _summary(title: str, rows: Sequence[Row]) -> str:
    errors = [row.error for row in rows]
    inside = sum(row.inside for row in rows)
    median = statistics.median(abs(error) for error in errors)
    return (
        f"| {title} | {len(rows)} | {median:.2f} % | {max(0.0, *errors):+.2f} % | {min(0.0, *errors):+.2f} % "
        f"| {inside} |"
    )


def write_section(page: Path, section: str, text: str) -> None:
    """Replace what stands between the marks `<!-- NAME: begin -->` and `<!-- NAME: end -->` of a page."""
    begin, end = f"<!-- {section}: begin -->\n", f"<!-- {section}: end -->\n"
    whole = page.read_text()
    if whole.count(begin) != 1 or whole.count(end) != 1:
        sys.exit(f"{page} has no section between {begin.strip()} and {end.strip()}.")
    before, _, rest = whole.partition(begin)
    written = page.with_name(page.name + ".new")
    written.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}")
    os.replace(written, page)
