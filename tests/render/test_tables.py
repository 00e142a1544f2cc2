"""Tables: every format says the same, exactly for programs, readably for people."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess

import pytest

from graphmem.render import tables
from graphmem.render.tables import AtLeast, Column, Table

COLUMNS = (
    Column("layer"),
    Column("peak_bytes", "bytes"),
    Column("of_peak", "ratio"),
    Column("share", "percent"),
    Column("says", "sentence", "what it says"),
    Column("at_least", for_people=False),
)
ROWS = (
    ("encoder/block_1/attention & more/conv2d_with_a_long_name", 1536, 12.345, 0.5, "Leaves out 10 % | of it_all, "
     "and counts the rest of what there is to be counted twice.", False),
    ("decoder", AtLeast(2**30), None, None, "Knows #1 only.", True),
    ("total", 2**30 + 1536, 1.0, 1.0, "", True),
)  # fmt: skip
TABLE = Table(COLUMNS, ROWS, title="What holds it", notes=("A note.",), bold=(2,))


def test_csv_has_exact_numbers_and_every_column() -> None:
    rows = list(csv.reader(io.StringIO(tables.as_csv(TABLE))))
    assert rows[0] == ["layer", "peak_bytes", "of_peak", "share", "says", "at_least"]
    assert rows[1] == [ROWS[0][0], "1536", "12.345", "0.5", ROWS[0][4], "false"]
    assert rows[2] == ["decoder", "1073741824", "", "", "Knows #1 only.", "true"]
    assert len(rows) == 4


def test_json_has_exact_numbers_and_null_for_the_unknown() -> None:
    data = json.loads(tables.as_json(TABLE))
    assert (data["schema"], data["title"], data["notes"]) == (1, "What holds it", ["A note."])
    assert data["rows"][1] == {
        "layer": "decoder", "peak_bytes": 2**30, "of_peak": None, "share": None, "says": "Knows #1 only.",
        "at_least": True,
    }  # fmt: skip
    assert data["rows"] == tables.as_records(TABLE)


def test_markdown_is_a_table_of_as_many_cells_in_each_line() -> None:
    lines = tables.as_markdown(TABLE).splitlines()
    assert lines[:2] == ["What holds it", ""]
    assert lines[-2:] == ["", "A note."]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:7]]
    assert rows[0] == ["layer", "peak", "of peak", "share", "what it says"]
    assert [cell[-1] for cell in rows[1]] == ["-", ":", ":", ":", "-"]
    assert rows[2][1:4] == ["1.50 KiB", "12.3×", "50.0 %"]
    assert rows[2][4].startswith("Leaves out 10 % \\| of")
    assert rows[3][1:4] == ["≥ 1.00 GiB", "–", "–"]
    assert rows[4] == ["**total**", "**1.00 GiB**", "**1.00×**", "**100.0 %**", ""]
    assert len({len(line) for line in lines[2:7]}) == 1


def test_latex_has_booktabs_rules_and_no_bare_special_character() -> None:
    text = tables.as_latex(TABLE)
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert body[0] == "\\begin{tabular}{lrrrp{0.45\\linewidth}}"
    assert [body[1], body[3], body[7], body[8]] == ["\\toprule", "\\midrule", "\\bottomrule", "\\end{tabular}"]
    rows = [body[2], *body[4:7]]
    assert [len(re.split(r"(?<!\\)&", row)) for row in rows] == [5, 5, 5, 5]
    assert "attention \\& more/conv2d\\_with" in rows[1]
    assert "12.3$\\times$ & 50.0 \\%" in rows[1]
    assert "$\\geq$ 1.00 GiB & -- & --" in rows[2]
    assert "\\textbf{total}" in rows[3]
    assert all(ord(letter) < 128 for letter in text)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX: apt-get install texlive-latex-recommended")
def test_latex_compiles(tmp_path) -> None:
    head = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
    (tmp_path / "t.tex").write_text(head + tables.as_latex(TABLE) + "\\end{document}\n")
    run = subprocess.run(["pdflatex", "-halt-on-error", "t.tex"], cwd=tmp_path, capture_output=True, timeout=60)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("width", [60, 80, 120])
def test_text_fits_and_keeps_every_figure(width: int) -> None:
    text = tables.as_text(TABLE, width)
    assert max(map(len, text.splitlines())) <= width
    assert all(line == line.rstrip() for line in text.splitlines())
    for figure in ("1.50 KiB", "≥ 1.00 GiB", "12.3×", "50.0 %", "100.0 %", "twice.", "A note.", "What holds it"):
        assert figure in text
    assert ("…" in text) == (width < 120)
    assert "at least" not in text  # only programs need the column


def test_text_on_one_line_each_where_there_is_room() -> None:
    table = Table(
        (Column("batch", "count"), Column("step"), Column("time_s", "seconds", "time")), ((1024, "train", 0.5),)
    )
    assert tables.as_text(table) == "batch  step     time\n1,024  train  0.50 s\n"


def test_colour_adds_nothing_but_styles() -> None:
    coloured = tables.as_text(TABLE, 100, color=True)
    assert "\x1b[1m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).split() == tables.as_text(TABLE, 100).split()


def test_brackets_are_no_markup() -> None:
    table = Table((Column("name"),), (("[bold]x[/bold]",),), title="[red]t")
    assert tables.as_text(table) == "[red]t\nname\n[bold]x[/bold]\n"


def test_a_table_without_rows_is_its_head() -> None:
    empty = Table(COLUMNS, ())
    assert tables.as_csv(empty) == "layer,peak_bytes,of_peak,share,says,at_least\n"
    assert tables.as_text(empty).split() == ["layer", "peak", "of", "peak", "share", "what", "it", "says"]
    assert len(tables.as_markdown(empty).splitlines()) == 2


def test_mistakes_are_refused() -> None:
    with pytest.raises(ValueError, match="a row of 1 cells in a table of 6"):
        Table(COLUMNS, (("x",),))
    with pytest.raises(ValueError, match="kind 'byte'"):
        Column("x", "byte")


@pytest.mark.parametrize("ending", list(tables.FORMATS))
def test_every_format_is_the_same_each_time(ending: str) -> None:
    write = tables.FORMATS[ending]
    assert write(TABLE) == write(TABLE)
    assert write(TABLE).endswith("\n")
    assert "decoder" in write(TABLE)
