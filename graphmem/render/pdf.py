"""SVG as Graphviz writes it, to a one-page PDF: vector, selectable text, no package and no engine needed.

It reads the shapes that Graphviz's SVG has (polygon, polyline, path, ellipse, text, moved groups)
and refuses others. Text is set in the PDF reader's own Helvetica, in Latin letters; others become "?" and ≥ becomes >=.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from itertools import pairwise

from graphmem.errors import InternalError
from graphmem.render.textfit import text_width

_FONTS = ("Helvetica", "Helvetica-Bold", "Helvetica-Oblique", "Helvetica-BoldOblique")
_NAMED = {"black": "#000000", "white": "#ffffff", "grey": "#c0c0c0", "gray": "#c0c0c0", "red": "#ff0000"}
_NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")
_ROUND = 0.5523
"""Length of a Bézier handle for a quarter of a circle of radius 1."""


def svg_to_pdf(svg: str) -> bytes:
    """The picture as PDF of the same size; the same SVG gives the same bytes.

    Raises:
        InternalError: the SVG has something that Graphviz does not write.
    """
    root = ElementTree.fromstring(svg)
    left, top, width, height = (float(number) for number in _NUMBER.findall(root.attrib["viewBox"]))
    scale = float(_NUMBER.findall(root.attrib["width"])[0]) / width
    setup = f"{scale:g} 0 0 {-scale:g} {_n(-left * scale)} {_n((top + height) * scale)} cm"
    content = "\n".join([setup, *_drawn(root)]).encode("cp1252", "replace")
    fonts = [f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>" for name in _FONTS]
    names = " ".join(f"/F{index} {index + 5} 0 R" for index in range(len(_FONTS)))
    box = f"[0 0 {_n(width * scale)} {_n(height * scale)}]"
    return _file(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            f"<< /Type /Page /Parent 2 0 R /MediaBox {box} /Contents 4 0 R "
            f"/Resources << /Font << {names} >> >> >>".encode(),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
            *(font.encode() for font in fonts),
        ]
    )


def _file(objects: list[bytes]) -> bytes:
    """The objects, numbered from 1, with the table of where each starts."""
    out, starts = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", []
    for number, body in enumerate(objects, 1):
        starts.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    size = len(objects) + 1
    out_end = b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return out + out_end % (size, table, size, len(out))


def _drawn(parent: ElementTree.Element) -> Iterator[str]:
    """PDF operators for the children of an element, in order."""
    for element in parent:
        kind, attributes = element.tag.rpartition("}")[2], element.attrib
        if kind in ("title", "desc"):
            continue
        if kind in ("g", "a"):
            yield from ("q", *_moved(attributes.get("transform", "")), *_drawn(element), "Q")
        elif kind == "text":
            yield from _text(element.text or "", attributes)
        elif kind in ("polygon", "polyline", "path", "ellipse"):
            yield from _shape(_outline(kind, attributes), attributes, closed=kind in ("polygon", "ellipse"))
        else:
            raise InternalError(f"no rule to write the SVG element <{kind}> as PDF")


def _moved(transform: str) -> list[str]:
    steps = {
        name: [float(n) for n in _NUMBER.findall(numbers)]
        for name, numbers in re.findall(r"(\w+)\(([^)]*)\)", transform)
    }
    moved = []
    if "scale" in steps:
        moved.append(f"{steps['scale'][0]:g} 0 0 {steps['scale'][-1]:g} 0 0 cm")
    if any(steps.get("rotate", [0])) or set(steps) - {"scale", "rotate", "translate"}:
        raise InternalError(f"no rule to write the SVG transform {transform!r} as PDF")
    if "translate" in steps:
        moved.append(f"1 0 0 1 {_n(steps['translate'][0])} {_n(steps['translate'][1])} cm")
    return moved


def _outline(kind: str, attributes: Mapping[str, str]) -> str:
    if kind == "ellipse":
        return _ellipse(*(float(attributes[name]) for name in ("cx", "cy", "rx", "ry")))
    if kind != "path":
        points = [_n(float(number)) for number in _NUMBER.findall(attributes["points"])]
        return " ".join(
            f"{x} {y} {'l' if index else 'm'}"
            for index, (x, y) in enumerate(zip(points[::2], points[1::2], strict=True))
        )
    parts = []
    for command, text in re.findall(r"([A-Za-z])([^A-Za-z]*)", attributes["d"]):
        numbers = [_n(float(number)) for number in _NUMBER.findall(text)]
        size = {"M": 2, "L": 2, "C": 6}.get(command)
        if size is None:
            raise InternalError(f"no rule to write the SVG path command {command!r} as PDF")
        parts += [" ".join([*numbers[at : at + size], command.lower()]) for at in range(0, len(numbers), size)]
    return " ".join(parts)


def _ellipse(x: float, y: float, rx: float, ry: float) -> str:
    """Four Bézier curves."""
    corners = [(1, 0), (0, 1), (-1, 0), (0, -1), (1, 0)]
    parts = [f"{_n(x + rx)} {_n(y)} m"]
    for (ax, ay), (bx, by) in pairwise(corners):
        points = [(ax + _ROUND * bx, ay + _ROUND * by), (bx + _ROUND * ax, by + _ROUND * ay), (bx, by)]
        parts.append(" ".join(f"{_n(x + rx * px)} {_n(y + ry * py)}" for px, py in points) + " c")
    return " ".join(parts)


def _shape(outline: str, attributes: Mapping[str, str], *, closed: bool) -> Iterator[str]:
    fill, stroke = _colour(attributes.get("fill", "black")), _colour(attributes.get("stroke", "none"))
    if not fill and not stroke:
        return
    dashes = attributes.get("stroke-dasharray", "").replace(",", " ")
    yield f"q {attributes.get('stroke-width', '1')} w [{dashes}] 0 d"
    yield from (f"{fill} rg" if fill else "", f"{stroke} RG" if stroke else "", outline)
    yield {(True, True): "b", (True, False): "f", (False, True): "s" if closed else "S"}[
        bool(fill), bool(stroke)
    ] + " Q"


def _text(text: str, attributes: Mapping[str, str]) -> Iterator[str]:
    size, bold = float(attributes["font-size"]), attributes.get("font-weight") == "bold"
    share = {"start": 0.0, "middle": 0.5, "end": 1.0}[attributes.get("text-anchor", "start")]
    x = float(attributes["x"]) - share * text_width(text, size, bold=bold)
    font = bold + 2 * (attributes.get("font-style") == "italic")
    escaped = re.sub(r"([\\()])", r"\\\1", text.replace("\n", " ").replace("≥", ">="))
    place = f"1 0 0 -1 {_n(x)} {_n(float(attributes['y']))} Tm"
    yield f"BT /F{font:d} {size:g} Tf {_colour(attributes.get('fill', 'black'))} rg {place} ({escaped}) Tj ET"


def _colour(name: str) -> str:
    """Red, green and blue between 0 and 1; "" for none."""
    if name in ("none", "transparent"):
        return ""
    value = _NAMED.get(name, name)
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", value):
        raise InternalError(f"no rule to write the colour {name!r} as PDF")
    return " ".join(_n(int(value[at : at + 2], 16) / 255, 3) for at in (1, 3, 5))


def _n(number: float, digits: int = 2) -> str:
    """A number as PDF writes it: no exponent, no needless zeros."""
    text = f"{number:.{digits}f}".rstrip("0").rstrip(".")
    return "0" if text in ("", "-", "-0") else text
