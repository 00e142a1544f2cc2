"""The gallery: every kind of picture of every model, with the figures of its headlines, at the width of print."""

from __future__ import annotations

import importlib.util
import re

import pytest

from tests.markdown import ROOT

_SPEC = importlib.util.spec_from_file_location("make_gallery", ROOT / "docs" / "make_gallery.py")
assert _SPEC is not None
assert _SPEC.loader is not None
gallery = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(gallery)

PAGE = gallery.PAGE.read_text(encoding="utf-8")
SHOWN = re.findall(r'<img src="images/gallery/([^"]+)"', PAGE)
EVERY = [(name, kind) for name in gallery.MODELS for kind in gallery.KINDS]


def picture(name: str) -> str:
    return (ROOT / gallery.PICTURES / name).read_text(encoding="utf-8")


def width_mm(svg: str) -> float:
    found = re.search(r'<svg[^>]* width="([\d.]+)pt"', svg)
    assert found
    return float(found[1]) / 72 * 25.4


def test_every_picture_is_shown_and_no_other_is_there() -> None:
    assert sorted(SHOWN) == sorted([*(f"{name}{kind}.svg" for name, kind in EVERY), "mnist_cnn.dag.svg"])
    assert sorted(path.name for path in (ROOT / gallery.PICTURES).iterdir()) == sorted(SHOWN)


def test_the_page_is_what_the_script_writes() -> None:
    headlines = dict(re.findall(r"^## (.*?)\n.*?^`([^`\n]*)`$", PAGE, re.MULTILINE | re.DOTALL))
    sections = [gallery.section(name, headlines[title]) for name, (title, _) in gallery.MODELS.items()]
    assert "\n".join([gallery.HEAD, *sections, gallery.dag_section()]) == PAGE


@pytest.mark.parametrize("name", gallery.MODELS)
def test_pictures_have_the_peak_of_the_headline(name: str) -> None:
    headline = re.search(rf"`{name}\.py [^`]*peak (\S+ \S+) \(", PAGE)
    assert headline
    said = {"": "needed in all: ", ".wide": "needed in all: ", ".timeline": "peak ", ".layers": "peak "}
    for kind, words in said.items():
        assert f">{words}{headline[1]}<" in picture(f"{name}{kind}.svg").replace("\u00a0", " ").replace("&#160;", " ")


@pytest.mark.parametrize(("name", "kind"), EVERY)
def test_pictures_have_the_width_and_the_text_of_print(name: str, kind: str) -> None:
    svg = picture(f"{name}{kind}.svg")
    assert width_mm(svg) == pytest.approx({".wide": 174, ".compare": 142}.get(kind, 84), abs=0.4)
    sizes = [float(size) for size in re.findall(r'font-size(?:="|: )([\d.]+)', svg)]
    assert min(sizes) >= 6.5
    assert "<image" not in svg or kind in (".lifetimes", ".xla")
    assert len(svg) < 400_000
