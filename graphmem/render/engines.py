"""Turn DOT text into SVG, PNG or PDF: with the system's `dot` if there is one, else with pip's `graphviz-pure`."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from graphmem.errors import TargetError
from graphmem.render.pdf import svg_to_pdf

FORMATS = ("svg", "png", "pdf")
DPI = 600
"""Resolution of PNG: what journals ask for line art with text."""

TIMEOUT = 60.0
"""Seconds that a layout may take; one of a frontier takes milliseconds."""

_NO_ENGINE = "no Graphviz found to draw with; `pip install graphviz-pure`, install Graphviz, or write a .dot file."


def render_dot(dot: str, fmt: str, *, timeout: float = TIMEOUT) -> bytes:
    """Lay out DOT text and return the picture.

    Args:
        dot: DOT source.
        fmt: one of `FORMATS`.
        timeout: seconds that the engine may take.

    Raises:
        TargetError: an unknown format, no engine, or an engine that failed or took too long.
    """
    if fmt not in FORMATS:
        raise TargetError(f"a picture cannot be written as {fmt!r}; choose one of {', '.join(FORMATS)}.")
    engine = find_engine()
    if engine is None:
        raise TargetError(_NO_ENGINE)
    if fmt == "pdf":
        return svg_to_pdf(_run(engine, dot, "svg", timeout).decode("utf-8"))
    picture = _run(engine, dot, fmt, timeout)
    return _without_comments(picture) if fmt == "svg" else picture


def find_engine() -> Path | None:
    """The executable that draws: `dot` on the PATH, else the one that the package graphviz-pure installed."""
    for found in (shutil.which("dot"), _installed_pure(), shutil.which("graphviz-pure")):
        if found:
            return Path(found)
    return None


def _installed_pure() -> str | None:
    """graphviz-pure's executable where pip put it, be this Python's scripts folder on the PATH or not."""
    try:
        files = importlib.metadata.files("graphviz-pure") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    places = [Path(str(file.locate())) for file in files if Path(file.name).stem == "graphviz-pure"]
    places.append(Path(sysconfig.get_path("scripts")) / "graphviz-pure")
    return next((str(place) for place in places if shutil.which(str(place))), None)


def _run(engine: Path, dot: str, fmt: str, timeout: float) -> bytes:
    command = [str(engine), f"-T{fmt}", *([f"-Gdpi={DPI}"] if fmt == "png" else [])]
    try:
        done = subprocess.run(command, input=dot.encode(), capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise TargetError(f"{engine.name} took longer than {timeout:g} s to draw; write a .dot file instead.") from None
    except OSError as error:
        raise TargetError(f"{engine} cannot be run: {error.strerror or error}; write a .dot file instead.") from error
    if done.returncode != 0 or not done.stdout:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise TargetError(f"{engine.name} could not draw the picture: {said[0] if said else 'it wrote nothing'}.")
    return done.stdout


def _without_comments(svg: bytes) -> bytes:
    """SVG without the engine's comments: its version is no part of the picture, nor are the names of its parts."""
    return re.sub(rb"<!--.*?-->\s*", b"", svg, flags=re.DOTALL)
