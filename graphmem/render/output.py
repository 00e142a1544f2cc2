"""Reports to files: the ending decides the format; a file is whole or not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from graphmem.errors import TargetError
from graphmem.report.report import Report

PICTURES = (".svg", ".png", ".pdf")


def check_outputs(paths: Sequence[str], force: bool = False, endings: Sequence[str] = ()) -> None:
    """Find out before a long analysis whether these files can be written.

    Args:
        paths: the files.
        force: whether existing files may be replaced.
        endings: which endings there are, for files other than reports.

    Raises:
        TargetError: unknown ending, a file that exists without `force`, a missing or unwritable folder, one file named
            twice, no program to draw pictures with.
    """
    seen: set[str] = set()
    for path in paths:
        _check(path, force, endings)
        place = os.path.realpath(path)
        if place in seen:
            raise TargetError(f"{path} is named twice as an output; name each file once.")
        seen.add(place)


def _check(path: str, force: bool, endings: Sequence[str]) -> None:
    ending = _ending(path, endings or tuple(FORMATS))
    folder = Path(path).parent
    if os.path.isdir(path):
        raise TargetError(f"{path} is a folder; name a file in it, such as {Path(path) / 'peak.svg'}.")
    if os.path.lexists(path) and not force:
        raise TargetError(f"{path} exists; choose another name, or pass --force to replace it.")
    if not folder.is_dir():
        raise TargetError(f"{path} cannot be written: there is no folder {folder}; create it first.")
    try:
        with open(_temporary(path), "xb"):
            pass
        os.unlink(_temporary(path))
    except OSError as error:
        raise TargetError(f"{path} cannot be written: {error.strerror}; choose another place.") from error
    if ending in PICTURES and not endings:
        from graphmem.render.engines import find_engine

        if find_engine() is None:
            raise TargetError(f"{path} cannot be drawn: pip install graphviz-pure, install Graphviz, or write a .dot.")


def _ending(path: str, endings: Sequence[str]) -> str:
    ending = Path(path).suffix.lower()
    if ending not in endings:
        named = f"the ending {ending}" if ending else "no ending"
        raise TargetError(f"{path} has {named}, which tells no format; the endings are {', '.join(endings)}.")
    return ending


def write_report(report: Report, path: str, *, force: bool = False, top: int = 10) -> None:
    """Write a report to a file in the format of its ending.

    Args:
        report: what to write.
        path: the file; its ending is one of `FORMATS`.
        force: whether an existing file is replaced.
        top: rows of each list, in text.

    Raises:
        TargetError: as `check_outputs`; or a report loaded from JSON is to be saved as a trace.
    """
    write_reports(report, [path], force=force, top=top)


def write_reports(report: Report, paths: Sequence[str], *, force: bool = False, top: int = 10) -> None:
    """As `write_report`, for several files: none is written before all are rendered."""
    check_outputs(paths, force)
    contents = [FORMATS[_ending(path, tuple(FORMATS))](report, top) for path in paths]
    for path, content in zip(paths, contents, strict=True):
        replace_file(path, content)


def replace_file(path: str, content: bytes) -> None:
    """Write a file beside its place and rename it into it: readers see the old file or the new one, never a part.

    Raises:
        TargetError: it cannot be written.
    """
    temporary = _temporary(path)
    try:
        try:
            with open(temporary, "xb") as file:
                file.write(content)
            os.replace(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise TargetError(f"{path} cannot be written: {error.strerror or error}.") from error


def _temporary(path: str) -> str:
    return f"{path}.{os.getpid()}.tmp"


def _picture(fmt: str) -> Callable[[Report, int], bytes]:
    def render(report: Report, top: int) -> bytes:
        from graphmem.render.engines import render_dot
        from graphmem.render.frontier import frontier_dot

        return render_dot(frontier_dot(report), fmt)

    return render


def _dot(report: Report, top: int) -> bytes:
    from graphmem.render.frontier import frontier_dot

    return frontier_dot(report).encode()


def _json(report: Report, top: int) -> bytes:
    from graphmem.render.as_json import as_json

    return (as_json(report, timeline=True) + "\n").encode()


def _text(report: Report, top: int) -> bytes:
    from graphmem.render.text import as_text

    return as_text(report, width=120, top=top).encode()


def _html(report: Report, top: int) -> bytes:
    from graphmem.render.notebook import as_page

    return as_page(report).encode()


def _trace(report: Report, top: int) -> bytes:
    from graphmem.graph.store import to_bytes
    from graphmem.report.lifetimes import graph_to_save

    if report.simulation is None:
        raise TargetError("a report loaded from JSON holds no graph to save as a trace; analyse its target again.")
    return to_bytes(graph_to_save(report.simulation))


def _lifetimes(report: Report, top: int) -> bytes:
    from graphmem.graph.lifetimes_csv import write_lifetimes
    from graphmem.report.lifetimes import lifetimes_of

    if report.simulation is None:
        raise TargetError("a report loaded from JSON holds no lifetimes to write; analyse its target again.")
    return write_lifetimes(lifetimes_of(report.simulation)).encode()


FORMATS: dict[str, Callable[[Report, int], bytes]] = {
    **{ending: _picture(ending[1:]) for ending in PICTURES},
    ".dot": _dot,
    ".json": _json,
    ".txt": _text,
    ".html": _html,
    ".csv": _lifetimes,
    ".graphmem": _trace,
}
"""Ending -> (report, rows of a list) -> the file's content."""
