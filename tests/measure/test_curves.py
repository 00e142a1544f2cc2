"""The picture of both curves."""

from __future__ import annotations

import re

import pytest

from graphmem.render.curves import FORMATS, _points, curves_picture
from tests.measure.examples import AS_PREDICTED, events, run_of, verification


@pytest.mark.parametrize(("ending", "begins"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_formats(ending: str, begins: bytes) -> None:
    result = verification([run_of(AS_PREDICTED)])
    picture = curves_picture(result, ending)
    assert picture.startswith(begins)
    assert picture == curves_picture(result, ending)
    assert ending in FORMATS


def test_text_is_text_and_says_both_peaks() -> None:
    picture = curves_picture(verification([run_of(events(("a", 8), ("b", 16), "a", ("c", 64)))]), ".svg").decode()
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    assert "measured, peak 80 B" in texts
    assert "predicted, peak 48 B" in texts
    assert "alive (B)" in texts


def test_a_long_step_makes_a_small_picture_with_the_peak_in_it() -> None:
    many = [(f"op{number}", 4096) for number in range(100_000)]
    picture = curves_picture(verification([run_of(events(*many, *(name for name, _ in many), ("z", 4096)))]), ".svg")
    assert len(picture) < 80_000
    assert b"measured, peak 391 MiB" in picture
    assert max(_points(list(range(100_000)), 1)[1]) == 99_999
