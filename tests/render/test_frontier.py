"""The frontier picture: what it says, that it adds up, and that its text fits where it stands."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks.synthetic import decoder_graph
from graphmem.errors import TargetError
from graphmem.render.boxes import Sheet
from graphmem.render.engines import render_dot
from graphmem.render.fold import fold_to
from graphmem.render.frontier import MOST, TOP, frontier_dot
from graphmem.render.markup import SIZE, bytes_text, quote, shape_text
from graphmem.render.textfit import elide, elide_path, text_width, wrap_op_type
from graphmem.render.themes import THEMES
from graphmem.report.build import build_report
from graphmem.report.report import Report
from graphmem.runtime.simulate import simulate
from tests.example_reports import CASES as EXAMPLES
from tests.example_reports import MIB, buffer, report_of
from tests.render.frontier_cases import CASES

COLUMN = 84 / 25.4 * 72
"""Points of one column of a paper."""

REPORTS = CASES | {f"example {name}": case for name, case in EXAMPLES.items()}

SVG = "{http://www.w3.org/2000/svg}"
Box = tuple[float, float, float, float]


def texts(dot: str) -> list[str]:
    """Every text of the DOT source, in order."""
    found = re.findall(r">([^<>]+)<", "".join(re.findall(r"label=<(.*?)>[,\]]", dot)))
    return [html.unescape(text).replace("\\\\", "\\") for text in found if text.strip()]


def drawn(report: Report, **options: object) -> ElementTree.Element:
    return ElementTree.fromstring(render_dot(frontier_dot(report, **options), "svg"))  # type: ignore[arg-type]


def shapes(root: ElementTree.Element, kind: str) -> Iterator[tuple[str, ElementTree.Element]]:
    """(title of the node or cluster, element) for each element of a kind."""
    for group in root.iter(f"{SVG}g"):
        if group.get("class") in ("node", "cluster"):
            title = group.findtext(f"{SVG}title") or ""
            yield from ((title, element) for element in group.iter(f"{SVG}{kind}"))


def extent(polygon: ElementTree.Element) -> Box:
    numbers = [float(n) for n in re.findall(r"-?[\d.]+", polygon.attrib["points"])]
    return min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])


def text_extent(element: ElementTree.Element) -> Box:
    size, x, y = (float(element.attrib[name]) for name in ("font-size", "x", "y"))
    width = text_width(element.text or "", size, bold=element.get("font-weight") == "bold")
    left = x - {"start": 0, "middle": 0.5, "end": 1}[element.attrib["text-anchor"]] * width
    return left, y - 0.73 * size, left + width, y + 0.21 * size


def test_the_whole_picture_of_a_tiny_step() -> None:
    """Every text, from top to bottom, of two tensors alive in the backward pass of a dense layer."""
    frontier = [
        buffer(8 * MIB, (512, 4096), "activation", "forward", "dense", "Relu", "ReluGrad", op="relu"),
        buffer(4 * MIB, (256, 4096), "gradient", "backward", "dense_1", "MatMul", "Sum", op="grad/Sum"),
        buffer(None, (None,), "activation", "forward", "lookup", "Where", "", dtype="int64"),
    ]
    frontier[1] = replace(frontier[1], born=50)
    report = report_of(frontier, at_least=True, weight_bytes=3 * MIB, argument_bytes=MIB)
    dot = frontier_dot(report)
    assert texts(dot) == [
        "peak op: Sum", "dense", "backward, position 50 of 100",
        "made by", "alive at the peak", "last read by",
        "made in the forward pass", "≥ 8.00 MiB",
        "Where", "lookup", "size unknown", "? int64", "held to end",
        "Relu", "dense", "8.00 MiB", "512×4096 float32", "ReluGrad",
        "made in the backward pass", "4.00 MiB",
        "peak op", "dense_1", "4.00 MiB", "256×4096 float32", "Sum",
        "held all along: weights, inputs", "4.00 MiB",
        "alive at the peak", "≥ 12.0 MiB", "held all along", "4.00 MiB",
        "activation", "8.00 MiB", "weight", "3.00 MiB", "gradient", "4.00 MiB", "input", "1.00 MiB",
        "needed in all: ≥ 16.0 MiB",
    ]  # fmt: skip
    edges = re.findall(r"same; (\w+ -> \w+ -> \w+); }", dot)
    assert edges == ["maker0 -> box0 -> reader0", "maker1 -> box1 -> reader1", "maker2 -> box2 -> reader2"]
    assert "peak -> phase0 -> box0 -> box1 -> phase1 -> box2 -> resident -> foot [style=invis" in dot
    assert re.search(r'box1 \[.*fillcolor="#e3f3fc"', dot)
    assert re.search(r'box2 \[.*penwidth=1.3, fillcolor="#f2d9d1"', dot)


def test_bars_are_as_long_as_bytes() -> None:
    sizes = {"a": 400, "b": 300, "c": 100, "d": 4}
    report = report_of(
        [buffer(size, (size,), "activation", "forward", name, name.upper()) for name, size in sizes.items()]
    )
    root = drawn(report)
    fill = "#74c3ee"
    bars = [extent(p) for title, p in shapes(root, "polygon") if p.get("fill") == fill and title.startswith("box")]
    lengths = [right - left for left, _, right, _ in bars]
    assert lengths == pytest.approx([max(lengths) * size / 400 for size in sizes.values()], abs=1)


@pytest.mark.parametrize("case", REPORTS)
def test_the_bytes_add_up_to_the_peak(case: str) -> None:
    report = REPORTS[case]()
    kept, rest = fold_to(report.frontier, TOP, report.peak.position)
    assert sum(group.bytes for group in kept) + sum(item.bytes or 0 for item in rest) == report.step_peak_bytes
    dot = frontier_dot(report)
    shown = texts(dot)
    assert all(bytes_text(group.buffers) in shown for group in kept)
    for phase, words in (("forward", "forward pass"), ("backward", "backward pass"), ("update", "weight update")):
        boxed = [buffer for group in kept for buffer in group.buffers if buffer.phase == phase]
        left = [buffer for buffer in rest if buffer.phase == phase]
        heading = f"made in the {words}"
        if boxed:
            at = shown.index(heading)
            assert shown[at + 1] == bytes_text([*boxed, *left])
            if left:
                others = shown.index("and 1 other" if len(left) == 1 else f"and {len(left):,} others", at)
                assert shown[others + 1] == bytes_text(left)
        elif left:
            at = shown.index(f"{heading}: {len(left):,} tensor{'s' if len(left) > 1 else ''}")
            assert shown[at + 1] == bytes_text(left)
        else:
            assert not any(text.startswith(heading) for text in shown)


@pytest.mark.parametrize("case", REPORTS)
def test_no_hairball_and_one_column_wide(case: str) -> None:
    report = REPORTS[case]()
    for top in (1, TOP, MOST):
        dot = frontier_dot(report, top=top)
        assert len(re.findall(r"^  (box\d+) \[", dot, re.MULTILINE)) <= top
        assert len(re.findall(r"^  (?!graph|node|edge)\w+ \[", dot, re.MULTILINE)) <= 60
        root = ElementTree.fromstring(render_dot(dot, "svg"))
        width, height = (float(root.attrib[name].removesuffix("pt")) for name in ("width", "height"))
        assert width == pytest.approx(COLUMN, abs=0.6)
        assert height <= 630 or top == MOST


DOWN = [{"direction": "tb", "width_mm": width, "theme": theme} for width, theme in ((120, "print"), (174, "light"))]
LOOKS = [(case, {}) for case in REPORTS] + [(case, {"theme": "print", "width_mm": 174}) for case in CASES]
LOOKS += [(case, options) for case in REPORTS for options in DOWN]


@pytest.mark.parametrize(("case", "options"), LOOKS)
def test_text_is_neither_small_nor_clipped_nor_overlapping(case: str, options: dict[str, object]) -> None:
    root = drawn(REPORTS[case](), **options)
    _, _, width, _ = (float(n) for n in root.attrib["viewBox"].split())
    shift = float(re.search(r"translate\((\S+)", root.find(f"{SVG}g").attrib["transform"])[1])  # type: ignore[index, union-attr]
    outlines: dict[str, Box] = {}
    for title, polygon in shapes(root, "polygon"):
        if title.startswith(("box", "others", "resident")) and polygon.get("stroke") != "none":
            outlines.setdefault(title, extent(polygon))  # the first; the outline of a bar comes later
    boxes: list[tuple[str, Box]] = []
    for title, element in shapes(root, "text"):
        assert float(element.attrib["font-size"]) == SIZE
        box = text_extent(element)
        assert box[0] + shift >= 0
        assert box[2] + shift <= width + 0.5
        if title in outlines:
            left, top, right, bottom = outlines[title]
            assert left < box[0]
            assert box[2] < right + 0.5
            assert top < box[1]
            assert box[3] < bottom
        boxes.append((element.text or "", box))
    for index, (text, (left, top, right, bottom)) in enumerate(boxes):
        for other, (left2, top2, right2, bottom2) in boxes[index + 1 :]:
            apart = right - 0.5 <= left2 or right2 - 0.5 <= left or bottom <= top2 + 0.5 or bottom2 <= top + 0.5
            assert apart, f"{text!r} on {other!r}"


def test_frames_hold_their_boxes_and_no_others() -> None:
    root = drawn(CASES["resnet50"]())
    frames = [extent(p) for title, p in shapes(root, "polygon") if title.startswith("cluster")]
    boxes = [extent(p) for title, p in shapes(root, "polygon") if title.startswith("box") and p.get("stroke") != "none"]
    inside = [sum(f[1] < box[1] and box[3] < f[3] and f[0] < box[0] and box[2] < f[2] for box in boxes) for f in frames]
    assert inside == [3, 2, 2, 2]
    outside = [box for box in boxes if not any(f[1] < box[3] and box[1] < f[3] for f in frames)]
    assert len(outside) == 1


@pytest.mark.parametrize("case", REPORTS)
def test_a_report_from_json_gives_the_same_bytes(case: str) -> None:
    report = REPORTS[case]()
    again = Report.from_dict(report.to_dict())
    assert frontier_dot(again) == frontier_dot(report) == frontier_dot(REPORTS[case]())
    assert render_dot(frontier_dot(again), "svg") == render_dot(frontier_dot(report), "svg")


def test_names_are_shown_as_they_are() -> None:
    """Markup, quotes and backslashes reach the picture unchanged; what no picture can show is marked."""
    shown = [element.text for _, element in shapes(drawn(CASES["hostile"]()), "text")]
    for name in (
        "<b>&amp;</b>",
        'say "hi" \\N \\l',
        "层/卷积_1",
        "}; evil [label=x]; {",
        "%s{}[]|<>",
        "tab\ufffdhere\ufffdline",
    ):
        assert name in shown
    assert render_dot(frontier_dot(CASES["hostile"]()), "pdf").startswith(b"%PDF")


def colours(dot: str) -> set[str]:
    return set(re.findall(r"#[0-9a-f]{6}", dot))


def test_themes_change_colours_and_nothing_else() -> None:
    light, dark, grey = (frontier_dot(CASES["resnet50"](), theme=theme) for theme in ("light", "dark", "print"))
    assert texts(light) == texts(dark) == texts(grey)
    assert all(name[1:3] == name[3:5] == name[5:7] for name in colours(grey))
    assert {THEMES["print"].fill(role) for role in ("activation", "gradient", "scratch", "output")} <= colours(grey)
    assert 'bgcolor="#14161a"' in dark
    assert "#ffffff" not in colours(dark)
    grounds = [p.get("fill") for p in drawn(CASES["tiny"](), theme="dark").iter(f"{SVG}polygon")]  # type: ignore[arg-type]
    assert grounds[0] == THEMES["dark"].paper


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("fmt", ["svg", "pdf", "png"])
def test_each_theme_is_drawn_the_same_each_time(theme: str, fmt: str) -> None:
    first, second = (render_dot(frontier_dot(CASES["unet"](), theme=theme), fmt) for _ in range(2))
    assert first == second


def test_full_names_are_tooltips() -> None:
    dot = frontier_dot(CASES["resnet50"]())
    assert 'tooltip="conv1_conv/Conv2D:0, last read by grad/conv1_bn/FusedBatchNormGradV3"' in dot
    assert r"conv2_block1_out/Relu:0, last read by grad/conv2_block1_out/ReluGrad\n" in dot
    assert quote(['a"b', "c\\d"]) == '"a&quot;b\\nc/d"'


def test_what_no_one_reads_later_than_the_peak_is_read_by_the_op_at_the_peak() -> None:
    """An input of the op at the peak has no later reader: it is freed when that op has finished."""
    one = buffer(MIB, (4,), "gradient", "backward", "dense", "Mul", "", freed=51)
    kept = buffer(MIB, (5,), "output", "forward", "loss", "Mean", "", freed=100)
    assert [text for text in texts(frontier_dot(report_of([one, kept]))) if text in ("peak op", "held to end")] == [
        "held to end",
        "peak op",
    ]


def test_depth_and_width() -> None:
    report = CASES["transformer"]()
    assert frontier_dot(report, depth=0).count("subgraph") == 0
    assert [frontier_dot(report, depth=depth).count("subgraph") for depth in (1, 2)] == [1, 2]
    for width_mm in (83, 83.82, 100, 174, 300):
        width = float(drawn(report, width_mm=width_mm).attrib["width"].removesuffix("pt"))
        assert width == pytest.approx(width_mm / 25.4 * 72, abs=0.6)
    assert 'size="6.8504,200"' in frontier_dot(report, width_mm=174)
    giant = CASES["giant"]()
    assert "dense_with_a_very_long_name_that_no_column_can_hold_in_full" in texts(frontier_dot(giant, width_mm=174))
    assert "dense_with_a_ver…an_hold_in_full" in texts(frontier_dot(giant))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"top": 0}, "1 to 14 boxes, not 0"),
        ({"top": 15}, "1 to 14 boxes, not 15"),
        ({"depth": -1}, "cannot be -1"),
        ({"theme": "neon"}, "no theme 'neon'; choose one of light, dark, print"),
        ({"width_mm": 20.0}, "83 to 300 mm wide, not 20"),
        ({"width_mm": float("nan")}, "83 to 300 mm wide, not nan"),
        ({"direction": "up"}, "no direction 'up'; choose one of tb, lr"),
        ({"direction": "tb", "width_mm": 84}, "with arrows down is 120 to 300 mm wide, not 84"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(TargetError, match=said):
        frontier_dot(CASES["tiny"](), **options)  # type: ignore[arg-type]


def test_text_widths_and_cuts() -> None:
    assert text_width("iW", 10) == pytest.approx(2.22 + 9.44)
    assert elide("abcdef", 100, 7) == "abcdef"
    assert elide("abcdefghij", 20, 7) == "ab…ij"
    assert elide("WWW", 1, 7) == "…"
    assert elide_path("a_long_first/second/third", 55, 7) == "…/second/third"
    assert elide_path("first/a_very_long_second", 45, 7) == "a_ver…econd"
    assert wrap_op_type("Conv2DBackpropFilter", 46, 7) == ["Conv2D", "BackpropFilter"]
    assert wrap_op_type("X" * 40, 46, 7) == [elide("X" * 40, 46, 7)]
    assert wrap_op_type("_FusedConv2D", 46, 7) == ["_Fused", "Conv2D"]
    assert wrap_op_type("", 46, 7) == []


def test_shapes_and_bytes() -> None:
    assert shape_text([(8, 4), (8, 4)]) == "8×4"
    assert shape_text([(8, 4), (8, None)]) == "8×?"
    assert shape_text([None, (3,)]) == "various shapes"
    unknown, known = (
        buffer(None, None, "activation", "forward", "", "Op"),
        buffer(MIB, None, "activation", "forward", "", "Op"),
    )
    assert [bytes_text(group) for group in ([unknown], [known], [known, unknown], [])] == [
        "size unknown", "1.00 MiB", "≥ 1.00 MiB", "0 B",
    ]  # fmt: skip


def test_columns_share_the_width() -> None:
    columns = Sheet.of_width(84)
    assert text_width("BackpropFilter", SIZE) <= columns.op - 2
    assert text_width("32×112×112×64 float32", SIZE) <= columns.box - 5
    assert columns.total <= COLUMN


NODE = re.compile(r"^  (?!graph|node|edge)(\w+) \[(.*)\];$", re.MULTILINE)


@pytest.mark.parametrize("width_mm", [120, 174, 300])
@pytest.mark.parametrize("case", REPORTS)
def test_arrows_down_have_the_width_the_same_bytes_and_few_nodes(case: str, width_mm: float) -> None:
    report = REPORTS[case]()
    dot = frontier_dot(report, top=MOST, direction="tb", width_mm=width_mm)
    again = Report.from_dict(report.to_dict())
    assert frontier_dot(again, top=MOST, direction="tb", width_mm=width_mm) == dot
    assert len(NODE.findall(dot)) <= 60
    root = ElementTree.fromstring(render_dot(dot, "svg"))
    width, height = (float(root.attrib[name].removesuffix("pt")) for name in ("width", "height"))
    assert width == pytest.approx(width_mm / 25.4 * 72, abs=1.1)
    assert height < 330


def test_the_whole_picture_with_arrows_down() -> None:
    """Its texts from top to bottom, box by box; the bytes of a band are those of its boxes and the rest."""
    frontier = [
        buffer(8 * MIB, (512, 4096), "activation", "forward", "dense", "Relu", "ReluGrad", op="relu"),
        buffer(4 * MIB, (256, 4096), "gradient", "backward", "dense_1", "MatMul", "Sum", op="grad/Sum"),
        *(buffer(512, (128,), "update", "update", f"slot_{number}", "Mul") for number in range(3)),
    ]
    frontier[1] = replace(frontier[1], born=50)
    dot = frontier_dot(report_of(frontier, weight_bytes=3 * MIB, argument_bytes=MIB), top=2, direction="tb")
    shown = [text for text in texts(dot) if text != "\xa0"]
    assert shown == [
        "peak op: Sum", "dense", "backward, position 50 of 100",
        "forward", "8.00 MiB", "backward", "4.00 MiB", "update", "1.50 KiB",
        "made by", "alive at", "the peak", "last read", "by",
        "Relu", "dense", "8.00 MiB", "512×4096", "float32", "ReluGrad",
        "peak op", "dense_1", "4.00 MiB", "256×4096", "float32", "Sum",
        "3 tensors", "held all along: weights, inputs", "4.00 MiB",
        "alive at the peak", "12.0 MiB", "held all along", "4.00 MiB",
        "activation", "8.00 MiB", "weight", "3.00 MiB", "gradient", "4.00 MiB", "input", "1.00 MiB",
        "update", "1.50 KiB", "needed in all: 16.0 MiB",
    ]  # fmt: skip
    assert re.findall(r"^  (\w+ -> \w+ -> \w+);$", dot, re.MULTILINE) == [
        "maker_box0 -> box0 -> reader_box0", "maker_box1 -> box1 -> reader_box1",
    ]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_arrows_down_stand_in_straight_columns_under_their_band(case: str) -> None:
    root = drawn(CASES[case](), direction="tb")
    middles: dict[str, float] = {}
    bands: list[Box] = []
    for title, element in shapes(root, "polygon"):
        left, _, right, _ = extent(element)
        middles.setdefault(title, (left + right) / 2)
        if title.startswith("phase"):
            bands.append(extent(element))
    for title, element in shapes(root, "text"):
        if re.match("maker|reader", title):
            left, _, right, _ = text_extent(element)
            middles.setdefault(title, (left + right) / 2)
    for name in [name for name in middles if name.startswith("box")]:
        assert middles[f"maker_{name}"] == pytest.approx(middles[name], abs=2)
        assert middles[f"reader_{name}"] == pytest.approx(middles[name], abs=2)
        assert any(left < middles[name] < right for left, _, right, _ in bands)
    assert all(one[2] < other[0] for one, other in pairwise(bands))


def test_a_wider_picture_with_arrows_down_has_more_boxes_and_they_add_up() -> None:
    report = CASES["unet"]()
    counts = []
    for width_mm in (120, 174, 300):
        dot = frontier_dot(report, top=MOST, direction="tb", width_mm=width_mm)
        counts.append(len(re.findall(r"^  box\d+ \[", dot, re.MULTILINE)))
        phases = [texts(f"{label}]")[1] for name, label in NODE.findall(dot) if name.startswith("phase")]
        assert phases == [bytes_text([b for b in report.frontier if b.phase == phase]) for phase in report.by_phase]
    assert counts == sorted(counts)
    assert 3 <= counts[0] < counts[-1] <= MOST


def test_a_hundred_thousand_ops_are_few_nodes() -> None:
    """A decoder of 6,667 layers, each of which keeps two tensors for the backward pass."""
    report = build_report(simulate(decoder_graph(100_000), order="graph"))
    assert report.peak.positions > 100_000
    assert len(report.frontier) > 13_000
    for direction in ("lr", "tb"):
        dot = frontier_dot(report, top=MOST, direction=direction)
        assert 8 <= len(NODE.findall(dot)) <= 60
        assert render_dot(dot, "svg").startswith(b"<?xml")
    assert "layer_{0–6666}" in frontier_dot(report)


def test_what_a_list_holds_has_no_shape() -> None:
    held = [buffer(MIB, None, "activation", "forward", f"lstm_{at}", "Split", dtype="list element") for at in range(3)]
    for direction in ("lr", "tb"):
        shown = " ".join(texts(frontier_dot(report_of(held), direction=direction)))
        assert "list element" in shown
        assert "shape" not in shown
