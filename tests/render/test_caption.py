"""Captions and the table of the peak: the facts that a paper needs, and sums that are right."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from graphmem.answers.sweep_text import as_table
from graphmem.errors import TargetError
from graphmem.render.caption import caption
from graphmem.render.choices import Choices
from graphmem.render.output import caption_path, write_reports
from graphmem.render.peak_table import peak_table
from graphmem.render.tables import AtLeast, as_latex
from graphmem.units import format_bytes
from tests.answers.test_compare import comparison
from tests.answers.test_sweep import example
from tests.example_reports import CASES, mlp, resnet50, transformer, with_timeline
from tests.markdown import ROOT, blocks
from tests.steps import report_of, tower


def test_a_caption_has_the_facts() -> None:
    text = caption(resnet50(), "frontier")
    facts = (
        "ResNet50, batch 8", "Adam".lower(), "dtype policy float32", "run op by op on a CPU",
        "graphmem 0.1.0 for TensorFlow 2.21.0 and Keras 3.15.1", format_bytes(resnet50().needed_bytes),
        "over 8 orders", "Sum runs in conv1_bn, in the backward pass", "variables 293 MiB",
    )  # fmt: skip
    for fact in facts:
        assert fact in text
    assert text.startswith("Tensors alive at the memory peak of one training step")
    assert text.endswith(".")


def test_each_picture_has_its_own() -> None:
    assert caption(mlp(), "timeline").startswith("Memory alive over the schedule")
    assert "stacked by layer" in caption(mlp(), "timeline", "scope")
    assert "as TensorFlow's allocator (BFC) places it" in caption(mlp(), "lifetimes")
    limited = replace(mlp(), allocator={"name": "bfc", "limit_bytes": 1 << 30})
    assert caption(limited, "timeline").endswith("1.00 GiB are allowed.")
    assert "allowed" not in caption(limited, "frontier")


def test_what_is_a_bound_or_compiled_is_called_so() -> None:
    assert "Peak at least" in caption(transformer(), "frontier")
    compiled = caption(replace(mlp(), runtime="xla"), "lifetimes")
    assert compiled.startswith("Temporary memory by address over the schedule, as XLA planned it,")
    assert "allocator" not in compiled
    assert "compiled by XLA for RTX 3060" in caption(replace(mlp(), runtime="xla", card="RTX 3060"), "frontier")


@pytest.mark.parametrize("case", CASES)
def test_the_rows_of_the_table_add_up(case: str) -> None:
    report = CASES[case]()
    table = peak_table(report)
    sizes = [row[1].value if isinstance(row[1], AtLeast) else row[1] for row in table.rows]
    assert sum(sizes[:-1]) == sizes[-1] == report.needed_bytes
    assert table.rows[-1][0] == "needed"
    assert isinstance(table.rows[-1][1], AtLeast) == report.at_least


def test_captions_are_written_beside_pictures(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a.timeline.pdf", "a.timeline.svg", "a.json")]
    written = write_reports(with_timeline(), paths, choices=Choices(caption=True))
    assert written == [paths[0], paths[0] + ".caption.tex", paths[1], paths[1] + ".caption.txt", paths[2]]
    assert Path(written[3]).read_text() == caption(with_timeline(), "timeline") + "\n"
    tex = Path(written[1]).read_text()
    assert tex.endswith(".%\n")
    assert not re.search(r"(?<!\\)[_&#$]", tex)


def test_an_existing_caption_is_not_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "a.timeline.svg")
    Path(caption_path(path)).write_text("mine")
    with pytest.raises(TargetError, match=r"a\.timeline\.svg\.caption\.txt exists"):
        write_reports(with_timeline(), [path], choices=Choices(caption=True))
    assert not Path(path).exists()


def written_for_latex(folder: Path) -> str:
    """The document of docs/papers.md, with the files that its command writes beside it."""
    report = report_of(tower())
    report = replace(report, target="my_model.py", facts={"optimizer": "adam_w & co", "dtype policy": "float32"})
    write_reports(report, [str(folder / "peak.timeline.pdf"), str(folder / "peak.tex")], choices=Choices(caption=True))
    page = ROOT / "docs" / "papers.md"
    document = next(block.text for block in blocks(page) if block.language == "latex")
    (folder / "paper.tex").write_text(document)
    return document


def test_the_document_of_the_page_names_the_files_that_are_written(tmp_path: Path) -> None:
    document = written_for_latex(tmp_path)
    names = re.findall(r"\\(?:input|includegraphics(?:\[[^]]*\])?)\{([^}]+)\}", document)
    assert names == ["peak.timeline.pdf", "peak.timeline.pdf.caption", "peak.tex"]
    assert all((tmp_path / name).exists() or (tmp_path / f"{name}.tex").exists() for name in names)


def test_what_is_written_for_latex_is_balanced(tmp_path: Path) -> None:
    written_for_latex(tmp_path)
    for name in ("peak.tex", "peak.timeline.pdf.caption.tex"):
        text = re.sub(r"(?<!\\)%.*", "", (tmp_path / name).read_text())
        assert text.isascii()
        assert re.findall(r"\\begin\{(\w+)\}", text) == re.findall(r"\\end\{(\w+)\}", text)
        bare = re.sub(r"\\[{}\\]", "", text)
        assert bare.count("{") == bare.count("}")


needs_latex = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="no LaTeX: apt-get install texlive-latex-recommended"
)


def compiled(folder: Path) -> str:
    """What LaTeX says of paper.tex."""
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout[-3000:]
    return run.stdout


@needs_latex
def test_the_document_compiles_to_one_page(tmp_path: Path) -> None:
    written_for_latex(tmp_path)
    said = compiled(tmp_path)
    assert "Output written on paper.pdf (1 page," in said
    assert "Overfull" not in said


@needs_latex
def test_the_tables_of_compare_and_sweep_compile_in_the_same_document(tmp_path: Path) -> None:
    document = written_for_latex(tmp_path)
    comparison().render(str(tmp_path / "estimates.tex"))
    (tmp_path / "sweep.tex").write_text(as_latex(as_table(example())))
    more = "".join(f"\\begin{{table}}\n\\input{{{name}}}\n\\end{{table}}\n" for name in ("estimates.tex", "sweep.tex"))
    wide = document.replace("\\documentclass[twocolumn]", "\\documentclass")
    (tmp_path / "paper.tex").write_text(wide.replace("\\end{document}", f"{more}\\end{{document}}"))
    assert "Output written on paper.pdf (" in compiled(tmp_path)


def test_the_citation_file_names_this_version() -> None:
    from graphmem.version import __version__

    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    keys = dict(re.findall(r"^([\w-]+): *(.*)$", text, re.MULTILINE))
    assert {"cff-version", "message", "title", "authors"} <= set(keys)
    assert (keys["version"], keys["type"], keys["license"]) == (__version__, "software", "Apache-2.0")
