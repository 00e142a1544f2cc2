"""The text of a report: a golden file per case and width, and the laws that every text obeys."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from graphmem.render.text import as_text, to_ascii
from graphmem.render.words import headline, short_target
from tests.example_reports import CASES, MIB, buffer, mlp, report_of, resnet50, transformer

WIDTHS = (80, 120)
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def section(text: str, title: str) -> list[str]:
    """The lines of one section of the text, without its title."""
    lines = text.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith(title)) + 1
    end = next((index for index in range(start, len(lines)) if not lines[index]), len(lines))
    return lines[start:end]


def size_of(line: str) -> int:
    """The first size that a line names, in bytes."""
    number, unit = re.search(r"([\d.]+) (B|KiB|MiB|GiB)\b", line).groups()
    return round(float(number) * UNITS[unit])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("case", CASES)
def test_text_is_the_golden_one(case: str, width: int, golden: Callable[[str, str], None]) -> None:
    golden(f"{case}_{width}.txt", as_text(CASES[case](), width=width))


@pytest.mark.parametrize("width", [60, 72, 80, 100, 120, 200])
@pytest.mark.parametrize("case", CASES)
def test_no_line_is_wider_than_asked_for(case: str, width: int) -> None:
    lines = as_text(CASES[case](), width=width).splitlines()
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("top", [1, 2, 5, 1000])
@pytest.mark.parametrize("case", [name for name in CASES if name != "nothing"])
def test_printed_rows_of_the_frontier_add_up(case: str, top: int) -> None:
    report = CASES[case]()
    *rows, total = section(as_text(report, width=120, top=top), "Alive at the peak")[1:]
    known = [row for row in rows if not row.strip().startswith("unknown")]
    assert total.endswith(" step peak")
    assert size_of(total) == pytest.approx(report.step_peak_bytes, rel=0.01)
    assert sum(map(size_of, known)) == pytest.approx(report.step_peak_bytes, rel=0.02)


@pytest.mark.parametrize("case", [name for name in CASES if name != "nothing"])
def test_printed_roles_add_up(case: str) -> None:
    report = CASES[case]()
    rows = section(as_text(report, width=120), "What the step peak is")
    start = next(index for index, row in enumerate(rows) if row.split()[0] == "role")
    last = [re.findall(r"[\d.]+ (?:B|[KMG]iB)", row)[-1] for row in rows[start + 1 :]]
    assert sum(map(size_of, last[:-1])) == pytest.approx(size_of(last[-1]), rel=0.02)
    assert size_of(last[-1]) == pytest.approx(report.step_peak_bytes, rel=0.01)


def test_five_layers_are_a_line_each() -> None:
    rows = section(as_text(mlp(), width=120), "Memory")
    assert [row.split("  ")[1] for row in rows] == ["resident", "inputs", "step peak", "needed", "allocator"]
    assert [size_of(row) for row in rows[:4]] == pytest.approx(
        [38_701_264, 1_607_680, 16_797_700, 57_106_644], rel=0.01
    )


def test_line_one_is_the_peak() -> None:
    assert as_text(mlp()).splitlines()[0] == "model.py train step, batch 512: peak 54.5 MiB (the same in 8 orders)"


def test_line_one_gives_the_range_in_the_unit_of_the_peak() -> None:
    report = replace(report_of([buffer(1000 * MIB, (1,), "activation", "forward", "", "Mul")]), target="app:ResNet50")
    report = replace(report, step_peak_range_bytes=(999 * MIB, 1031 * MIB))
    assert headline(report, 80) == ["ResNet50 train step, batch 8: peak 0.977 GiB (0.976 – 1.007 over 8 orders)"]


def test_one_order_has_no_range() -> None:
    assert headline(replace(mlp(), orders=1), 80) == ["model.py train step, batch 512: peak 54.5 MiB"]


def test_what_is_unknown_makes_the_peak_a_lower_bound() -> None:
    text = as_text(transformer())
    assert "peak at least 1.54 GiB" in text.splitlines()[0]
    assert "MyCustomAttention (12), StringSplitV2 (1)" in text
    assert "1 tensor in no figure: split:0" in text


def test_a_target_too_long_for_the_line_moves_the_range_below() -> None:
    report = replace(resnet50(), target="a_rather_long_name_of_a_training_script.py:build_model")
    first, second = headline(report, 80)
    assert first == "a_…name_of_a_training_script.py:build_model train step, batch 8: peak 889 MiB"
    assert second == "  (887 – 902 over 8 orders)"


@pytest.mark.parametrize(
    ("target", "short"),
    [
        ("model.py", "model.py"),
        ("some/where/model.py:net", "model.py:net"),
        ("app:ResNet50", "ResNet50"),
        ("saved/folder/", "folder"),
        ("package.module:build(depth=2)", "package.module:build(depth=2)"),
        ('m.py:load("a/b")', 'm.py:load("a/b")'),
    ],
)
def test_short_target(target: str, short: str) -> None:
    assert short_target(target) == short


def test_repeated_buffers_are_one_row() -> None:
    row = next(line for line in as_text(resnet50(), width=120).splitlines() if "conv4_block{1–6}_3_bn" in line)
    assert re.split(r"  +", row.strip())[:5] == [
        "36.8 MiB",
        "6 ×",
        "activation",
        "8×14×14×1024",
        "conv4_block{1–6}_3_bn",
    ]


def test_a_buffer_says_why_it_is_kept() -> None:
    scope = {"role": "activation", "phase": "forward", "scope": "a", "made_by": "Relu"}
    report = report_of(
        [
            buffer(4 * MIB, (1,), **scope, reader="ReluGrad"),
            buffer(3 * MIB, (1,), **scope, reader="Mul", reader_scope="b"),
            buffer(2 * MIB, (1,), **scope),
            buffer(1 * MIB, (1,), **scope, freed=51),
        ]
    )
    for width, elsewhere in ((80, "in b"), (120, "Mul in b")):
        rows = section(as_text(report, width=width), "Alive at the peak")[1:-1]
        kept_for = [re.split(r"  +", row.strip())[-1] for row in rows]
        assert kept_for == ["ReluGrad", elsewhere, "end of the step", "this op only"]


def test_without_colour_there_is_no_escape_and_with_it_the_same_text() -> None:
    plain, coloured = as_text(resnet50()), as_text(resnet50(), color=True)
    assert "\x1b" not in plain
    assert "\x1b[1m" in coloured
    unstyled = "\n".join(line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines())
    assert unstyled + "\n" == plain


def test_markup_in_a_name_is_text() -> None:
    report = report_of([buffer(8, (2,), "activation", "forward", "layer[bold]x[/bold]", "Mul", ":smile:")])
    assert "layer[bold]x[/bold]" in as_text(report)
    assert ":smile:" in as_text(report)


def test_ascii_keeps_every_column_in_place() -> None:
    text = as_text(resnet50())
    plain = to_ascii(text)
    assert plain.isascii()
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in text.splitlines()]


def test_printing_changes_nothing() -> None:
    report = resnet50()
    before = report.to_json()
    as_text(report)
    assert report.to_json() == before


def test_ascii_says_nothing_else() -> None:
    text = "… 3 others\n≥ 1.00 GiB  8×3→8×5\n972 MiB → 49.3 MiB\nfit(…, batch_size=64)\nconv…relu\n"
    assert to_ascii(text) == "+ 3 others\n>=1.00 GiB  8x3>8x5\n972 MiB ->49.3 MiB\nfit(..., batch_size=64)\nconv~relu\n"


def test_the_narrowest_page_has_whole_figures() -> None:
    sizes = {"forward": 17 * MIB, "backward": 29 * MIB, "update": 72 * 1024}
    frontier = [buffer(size, (size // 4,), "activation", phase, phase, "Mul") for phase, size in sizes.items()]
    text = as_text(report_of(frontier), width=60)
    (total,) = [line for line in text.splitlines() if line.startswith("  step peak   ")]
    assert total.split() == ["step", "peak", "17.0", "MiB", "29.0", "MiB", "72.0", "KiB", "46.1", "MiB"]
    assert "100.0 %" in as_text(report_of(frontier), width=80)
