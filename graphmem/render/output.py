"""Reports to files: the ending decides the format; a file is whole or not there.

An ending may have two parts (`.trace.json`); the longest that fits decides. What is in a picture is said by its name
(`peak.timeline.svg`) or by `Choices`.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from graphmem.errors import TargetError
from graphmem.render.choices import DOT_KINDS, Choices, check_choices, kind_of
from graphmem.render.formats import FORMATS, GZIPPED, draw
from graphmem.report.report import Report


def check_outputs(
    paths: Sequence[str], force: bool = False, endings: Sequence[str] = (), choices: Choices | None = None
) -> None:
    """Find out before a long analysis whether these files can be written.

    Args:
        paths: the files.
        force: whether existing files may be replaced.
        endings: which endings there are, for files other than reports.
        choices: what a report's pictures are to be.

    Raises:
        TargetError: unknown ending, a file that exists without `force`, a missing or unwritable folder, one file named
            twice, no program to draw pictures with, a choice that changes nothing.
    """
    seen: set[str] = set()
    if not endings:
        check_choices(paths, choices or Choices())
    for path in [*paths, *(caption_path(path) for path in paths if _has_caption(path, choices))]:
        _check(path, force, endings, choices or Choices())
        place = os.path.realpath(path)
        if place in seen:
            raise TargetError(f"{path} is named twice as an output; name each file once.")
        seen.add(place)


def _has_caption(path: str, choices: Choices | None) -> bool:
    return choices is not None and choices.caption and bool(kind_of(path, choices))


def caption_path(path: str) -> str:
    """Where the caption of a picture goes: beside it, for LaTeX where the picture is one that LaTeX takes.

    >>> caption_path("fig/peak.pdf"), caption_path("peak.svg")
    ('fig/peak.pdf.caption.tex', 'peak.svg.caption.txt')
    """
    return f"{path}.caption.{'tex' if path.lower().endswith('.pdf') else 'txt'}"


def _check(path: str, force: bool, endings: Sequence[str], choices: Choices) -> None:
    _ending(path, endings or tuple(FORMATS))
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
    if not endings and kind_of(path, choices) in DOT_KINDS and not path.lower().endswith(".dot"):
        from graphmem.render.engines import find_engine

        if find_engine() is None:
            raise TargetError(f"{path} cannot be drawn: pip install graphviz-pure, install Graphviz, or write a .dot.")


def _ending(path: str, endings: Sequence[str]) -> str:
    name = Path(path).name.lower()
    if name.endswith(".gz"):
        endings = [f"{ending}.gz" for ending in endings if ending in GZIPPED] or endings
    found = [ending for ending in endings if name.endswith(ending) and len(name) > len(ending)]
    if not found:
        ending = Path(path).suffix.lower()
        named = f"the ending {ending}" if ending else "no ending"
        raise TargetError(f"{path} has {named}, which tells no format; the endings are {', '.join(endings)}.")
    return max(found, key=len).removesuffix(".gz")


def write_report(report: Report, path: str, *, force: bool = False, choices: Choices | None = None) -> None:
    """Write a report to a file in the format of its ending.

    Args:
        report: what to write.
        path: the file; its ending is one of `FORMATS`.
        force: whether an existing file is replaced.
        choices: what a picture is to be, how many rows a text has.

    Raises:
        TargetError: as `check_outputs`; or a report loaded from JSON lacks what the file is to hold.
    """
    write_reports(report, [path], force=force, choices=choices)


def write_reports(
    report: Report, paths: Sequence[str], *, force: bool = False, choices: Choices | None = None
) -> list[str]:
    """As `write_report`, for several files: none is written before all are rendered. What was written is returned."""
    chosen = choices or Choices()
    check_outputs(paths, force, choices=chosen)
    contents: dict[str, bytes] = {}
    for path in paths:
        contents[path] = _content(report, path, chosen)
        if _has_caption(path, chosen):
            contents[caption_path(path)] = _caption(report, path, chosen)
    write_files(contents, contents.__getitem__)
    return list(contents)


def _content(report: Report, path: str, choices: Choices) -> bytes:
    ending = _ending(path, tuple(FORMATS))
    kind = kind_of(path, choices)
    if kind:
        return draw(report, kind, ending, choices)
    content = FORMATS[ending](report, choices)
    return gzip.compress(content, 6, mtime=0) if path.lower().endswith(".gz") else content


def _caption(report: Report, path: str, choices: Choices) -> bytes:
    from graphmem.render.caption import caption
    from graphmem.render.tables import in_latex

    text = caption(report, kind_of(path, choices), choices.by)
    return f"{in_latex(text) + '%' if caption_path(path).endswith('.tex') else text}\n".encode()


def write_files(paths: Iterable[str], content: Callable[[str], bytes | str]) -> None:
    """Write what `content` makes for each path; none is written before all are made.

    Raises:
        TargetError: one cannot be written.
    """
    made = [(path, content(path)) for path in paths]
    for path, text in made:
        replace_file(path, text.encode() if isinstance(text, str) else text)


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
