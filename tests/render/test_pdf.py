"""SVG to PDF: the operators of each shape, and a file that a reader can follow."""

from __future__ import annotations

import re

import pytest

from graphmem.errors import InternalError
from graphmem.render.pdf import svg_to_pdf


def svg(body: str) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="100pt" height="50pt" viewBox="0 0 100 50">{body}</svg>'


def operators(body: str) -> list[str]:
    """The lines of the page's content, without the set-up of the page."""
    content = re.search(rb"stream\n(.*)\nendstream", svg_to_pdf(svg(body)), re.DOTALL)
    assert content is not None
    lines = content[1].decode("cp1252").split("\n")
    assert lines[0] == "1 0 0 -1 0 50 cm"
    return [line for line in lines[1:] if line]


def test_shapes() -> None:
    assert operators('<polygon points="0,0 10,0 10,5.5" fill="#ff0000" stroke="none"/>') == [
        "q 1 w [] 0 d", "1 0 0 rg", "0 0 m 10 0 l 10 5.5 l", "f Q",
    ]  # fmt: skip
    assert operators('<path d="M1,2C3,4 5,6 7,8 9,10 11,12 13,14" fill="none" stroke="black" stroke-width="0.5"/>') == [
        "q 0.5 w [] 0 d", "0 0 0 RG", "1 2 m 3 4 5 6 7 8 c 9 10 11 12 13 14 c", "S Q",
    ]  # fmt: skip
    assert operators('<polygon points="0,0 1,1" fill="white" stroke="black" stroke-dasharray="5,2"/>') == [
        "q 1 w [5 2] 0 d", "1 1 1 rg", "0 0 0 RG", "0 0 m 1 1 l", "b Q",
    ]  # fmt: skip
    assert operators('<polyline points="0,0 1,1" fill="none" stroke="none"/>') == []
    circle = operators('<ellipse cx="5" cy="5" rx="2" ry="1" fill="none" stroke="black"/>')
    assert circle[2].startswith("7 5 m 7 5.55 6.1 6 5 6 c")
    assert circle[2].endswith("7 5 c")


def test_groups_move_what_they_hold() -> None:
    body = '<g transform="scale(2 2) rotate(0) translate(4 10)"><title>x</title><a><polygon points="0,0"/></a></g>'
    assert operators(body)[:4] == ["q", "2 0 0 2 0 0 cm", "1 0 0 1 4 10 cm", "q"]
    assert operators(body)[-2:] == ["Q", "Q"]


def test_text() -> None:
    assert operators('<text x="3" y="4" font-size="7.00" fill="#ffffff" font-weight="bold">a (b) \\ ×</text>') == [
        "BT /F1 7 Tf 1 1 1 rg 1 0 0 -1 3 4 Tm (a \\(b\\) \\\\ ×) Tj ET"
    ]
    assert "/F2 7 Tf" in operators('<text x="3" y="4" font-size="7" font-style="italic">a</text>')[0]
    assert " 0 0 -1 46.11 4 Tm" in operators('<text x="50" y="4" font-size="7" text-anchor="middle">aa</text>')[0]
    assert "(>= 1 ? ?)" in operators('<text x="3" y="4" font-size="7">≥ 1 層 \u200b</text>')[0]


@pytest.mark.parametrize(
    "body",
    [
        "<rect/>",
        '<path d="M0,0A1,1 0 0 0 1,1" stroke="black"/>',
        '<g transform="rotate(90)"/>',
        '<polygon points="0,0" fill="url(#gradient)"/>',
    ],
)
def test_what_graphviz_does_not_write_is_refused(body: str) -> None:
    with pytest.raises(InternalError, match=r"no rule to write the (SVG|colour)"):
        svg_to_pdf(svg(body))


def test_the_file_is_one_that_a_reader_can_follow() -> None:
    pdf = svg_to_pdf(svg('<text x="3" y="4" font-size="7">a</text>'))
    assert pdf.startswith(b"%PDF-1.4\n")
    assert b"/MediaBox [0 0 100 50]" in pdf
    start = int(re.search(rb"startxref\n(\d+)\n%%EOF\n$", pdf)[1])  # type: ignore[index]
    assert pdf[start:].startswith(b"xref\n0 9\n0000000000 65535 f \n")
    offsets = [int(entry) for entry in re.findall(rb"(\d{10}) 00000 n \n", pdf[start:])]
    assert [pdf[offset:].split(b"\n", 1)[0] for offset in offsets] == [b"%d 0 obj" % n for n in range(1, 9)]
    length, content = re.search(rb"/Length (\d+) >>\nstream\n(.*)\nendstream", pdf, re.DOTALL).groups()  # type: ignore[union-attr]
    assert int(length) == len(content)
    assert svg_to_pdf(svg("<g/>")) == svg_to_pdf(svg("<g/>"))
