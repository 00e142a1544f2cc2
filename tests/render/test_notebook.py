"""The HTML of a report: complete, well-formed, and no place to smuggle markup in."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from graphmem.errors import TargetError
from graphmem.render.notebook import as_html
from graphmem.render.words import NO_BREAK
from tests.example_reports import CASES, buffer, report_of, resnet50


@pytest.mark.parametrize("case", CASES)
def test_the_fragment_is_well_formed(case: str) -> None:
    root = ElementTree.fromstring(as_html(CASES[case]()).replace("<br>", "<br/>"))
    assert root.tag == "div"
    assert root.find("p/b").text.startswith(("model.py", "ResNet50", "gpt", "step.py", "identity.py"))


@pytest.mark.parametrize("case", CASES)
def test_no_mark_of_the_text_report_is_left(case: str) -> None:
    page = as_html(CASES[case]())
    assert NO_BREAK not in page
    assert "Worst moment: " not in page or re.search(r"position \d+ of \d+", page)


def test_the_rows_add_up_to_all_buffers() -> None:
    root = ElementTree.fromstring(as_html(resnet50()).replace("<br>", "<br/>"))
    table = next(item for item in root.iter("table") if "alive at the peak" in ElementTree.tostring(item, "unicode"))
    rows = [["".join(cell.itertext()).strip() for cell in row] for row in table][1:]
    counts = [int(row[1].split()[0]) if row[1] else 1 for row in rows[:-1]]
    assert rows[-1][2] == f"… {len(resnet50().frontier) - sum(counts)} others"


def test_the_picture_is_inline() -> None:
    assert "<svg" in as_html(resnet50())


def test_without_an_engine_there_is_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_engine(dot: str, fmt: str) -> bytes:
        raise TargetError("there is no Graphviz to draw with.")

    monkeypatch.setattr("graphmem.render.engines.render_dot", no_engine)
    assert "<svg" not in as_html(resnet50())
    assert "conv1_bn" in as_html(resnet50())


def test_names_are_escaped() -> None:
    evil = "<script>alert(1)</script>"
    report = report_of(
        [buffer(64, (16,), evil, "forward", evil, evil, evil, "elsewhere" + evil, dtype=evil)],
        target=evil, notes=[evil], not_counted=[evil], facts={evil: evil, "optimizer": evil}, unknown_ops={evil: 1},
        unknown_sizes=[evil],
    )  # fmt: skip
    page = as_html(report)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_report_shows_itself_in_a_notebook() -> None:
    assert resnet50()._repr_html_() == as_html(resnet50())
