"""Turn DOT text into SVG, PNG or PDF, with pip's `graphviz-pure` or the system's `dot`.

SVG and PNG come from graphviz-pure where it is installed: it measures and draws text with fonts of its own, so the same
picture has the same bytes on every machine. PDF comes from the system's `dot` where there is one, and Arial or a font
of its widths, since that embeds the font; elsewhere it is made from the SVG.
"""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import struct
import subprocess
import sysconfig
import zlib
from pathlib import Path

from graphmem.errors import TargetError
from graphmem.render.pdf import svg_to_pdf

FORMATS = ("svg", "png", "pdf")
"""What DOT text can be turned into."""

DPI = 600
"""Resolution of PNG: what journals ask of line art with text."""

TIMEOUT = 60.0
"""Seconds that a layout may take; one of a frontier takes milliseconds."""


def render_dot(dot: str, fmt: str, *, timeout: float = TIMEOUT) -> bytes:
    """Lay out DOT text and return the picture.

    Args:
        dot: DOT source.
        fmt: one of `FORMATS`.
        timeout: seconds that an engine may take.

    Raises:
        TargetError: an unknown format, no engine, or no engine that could draw it in time.
    """
    if fmt not in FORMATS:
        raise TargetError(f"a picture cannot be written as {fmt!r}; choose one of {', '.join(FORMATS)}.")
    pure, system = _pure(), _system()
    if fmt == "pdf" and system is not None and _has_arial():
        try:
            return _without_date(_run(system, dot, "pdf", timeout))
        except TargetError:
            pass  # a dot built without Cairo; the SVG will do
    failure: TargetError | None = None
    for engine in (pure, system):
        if engine is None:
            continue
        try:
            picture = _run(engine, dot, "svg" if fmt == "pdf" else fmt, timeout)
        except TargetError as error:
            failure = failure or error
            continue
        if fmt == "png":
            return _with_resolution(picture)
        svg = _with_fonts(_without_comments(picture.decode("utf-8")))
        return svg.encode() if fmt == "svg" else svg_to_pdf(svg)
    raise failure or TargetError(
        "there is no Graphviz to draw with; `pip install graphviz-pure`, or write a .dot file."
    )


_LIKE_ARIAL = ("Arial", "Helvetica", "Liberation Sans", "Arimo", "Nimbus Sans", "TeX Gyre Heros", "FreeSans")
"""Fonts with the widths of Helvetica."""


def find_engine() -> Path | None:
    """An executable that draws, if there is one."""
    return _pure() or _system()


def _system() -> Path | None:
    found = shutil.which("dot")
    return Path(found) if found else None


def _has_arial() -> bool:
    """Whether text has the widths that pictures count on: fontconfig tells; Windows and macOS have Arial."""
    asked = shutil.which("fc-match")
    if asked is None:
        return True
    try:
        done = subprocess.run([asked, "-f", "%{family}", "Arial"], capture_output=True, timeout=TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return any(name in done.stdout.decode(errors="replace") for name in _LIKE_ARIAL)


def _pure() -> Path | None:
    """graphviz-pure's executable where pip put it, be this Python's scripts folder on the PATH or not."""
    try:
        files = importlib.metadata.files("graphviz-pure") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    places = [str(file.locate()) for file in files if Path(file.name).stem == "graphviz-pure"]
    places += [str(Path(sysconfig.get_path("scripts")) / "graphviz-pure"), "graphviz-pure"]
    return next((Path(found) for found in map(shutil.which, places) if found), None)


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


def _with_resolution(png: bytes) -> bytes:
    """The PNG with `DPI` in it, so that it has its width in millimetres wherever it is placed."""
    head = 33  # signature and IHDR, which comes first
    if not png.startswith(b"\x89PNG") or b"pHYs" in png[head : png.find(b"IDAT")]:
        return png
    per_metre = round(DPI / 0.0254)
    chunk = b"pHYs" + struct.pack(">IIB", per_metre, per_metre, 1)
    return png[:head] + struct.pack(">I", 9) + chunk + struct.pack(">I", zlib.crc32(chunk)) + png[head:]


def _without_date(pdf: bytes) -> bytes:
    """PDF with the time of day that Cairo writes into it replaced by another of the same length."""
    return re.sub(rb"\(D:\d{14}", b"(D:19700101000000", pdf)


def _without_comments(svg: str) -> str:
    """SVG without the engine's comments: its version and the names of nodes are no part of the picture."""
    return re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)


def _with_fonts(svg: str) -> str:
    """SVG that any viewer shows in a font of the right widths, be there Arial or not."""
    return re.sub(r'(<text [^>]*font-family=")Arial(?=")', r"\1Arial,Helvetica,Liberation Sans,sans-serif", svg)
