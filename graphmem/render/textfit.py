"""How wide a text is in Helvetica, and how to make it fit: what a picture must know before Graphviz lays it out.

Arial, Liberation Sans, Nimbus Sans and Arimo have Helvetica's widths: the estimate holds wherever the picture is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Advance widths of the characters 32 to 126 in thousandths of the font size (Adobe's Helvetica metrics).
_WIDTHS = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
_OTHERS = {"×": 584, "–": 556, "…": 1000, "·": 278}
_BOLD = 1.09
_WORD = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+(?:[0-9]+D?)?|[0-9]+|[^A-Za-z0-9]+")


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Width in points at a font size in points; characters that Helvetica lacks count as one em.

    >>> round(text_width("Conv2D", 10), 2)
    36.12
    """
    units = sum(_WIDTHS[ord(c) - 32] if 32 <= ord(c) < 127 else _OTHERS.get(c, 1000) for c in text)
    return units * size / 1000 * (_BOLD if bold else 1.0)


def elide(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """The text, its middle replaced by … where it is wider than `width` points.

    >>> elide("conv2_block1_1_conv", 50, 7)
    'conv2_…_conv'
    """
    if text_width(text, size, bold=bold) <= width:
        return text
    for keep in range(len(text) - 1, 0, -1):
        short = f"{text[: (keep + 1) // 2]}…{text[len(text) - keep // 2 :]}"
        if text_width(short, size, bold=bold) <= width:
            return short
    return "…"


def elide_path(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """As `elide`, but of a path the first components go before the last one is cut.

    >>> elide_path("decoder_layer_{0–11}/attention/query", 60, 7)
    '…/attention/query'
    """
    while text_width(text, size, bold=bold) > width and "/" in text.removeprefix("…/"):
        text = "…/" + text.removeprefix("…/").partition("/")[2]
    return elide(
        text if text_width(text, size, bold=bold) <= width else text.removeprefix("…/"), width, size, bold=bold
    )


def wrap_op_type(text: str, width: float, size: float) -> list[str]:
    """The name of an op type in lines no wider than `width` points, broken between its words.

    >>> wrap_op_type("FusedBatchNormGradV3", 50, 7)
    ['FusedBatch', 'NormGradV3']
    """
    return [elide(line, width, size) for line in wrap(_WORD.findall(text), width, size)]


def wrap(words: Sequence[str], width: float, size: float) -> list[str]:
    """Words, joined as they are, in as few lines of `width` points as can be, all about as long.

    >>> wrap(["16×", "160×", "160×", "32"], 35, 7)
    ['16×160×', '160×32']
    """
    lines = _filled(words, width, size)
    while len(lines) > 1:  # as narrow as this number of lines can be: no short word alone on the last one
        widest = max(text_width(line, size) for line in lines)
        narrower = _filled(words, widest - 0.01, size)
        if len(narrower) > len(lines) or max(text_width(line, size) for line in narrower) >= widest:
            break
        lines = narrower
    return lines


def _filled(words: Sequence[str], width: float, size: float) -> list[str]:
    lines: list[str] = []
    for word in words:
        if lines and text_width(lines[-1] + word, size) <= width:
            lines[-1] += word
        else:
            lines.append(word)
    return lines
