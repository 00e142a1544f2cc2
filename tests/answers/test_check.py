"""Verdicts on hand-made reports: which figure is judged, against what, and what is said."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import pytest

import graphmem
from graphmem.answers.budgets import OWN_KEYS, Entry, Tolerance, read_entries, read_tolerance
from graphmem.answers.check import Check, Figure, figure_of, judge
from graphmem.answers.check_text import FORMATS, Outcome, all_as_text, summary
from graphmem.cli.options import CONFIG_KEYS, configured
from graphmem.errors import CheckFailed, TargetError
from graphmem.report.report import Report
from tests.answers.test_diff import grown, small
from tests.example_reports import MIB, mlp, report_of
from tests.markdown import ROOT, blocks

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NEEDED = small().needed_bytes


def bfc(report: Report, charged: int, **more: Any) -> Report:
    return replace(report, allocator={"name": "bfc", "peak_in_use_bytes": charged, "limit_bytes": None, **more})


FAILS = {
    "when": "the first step", "op": "net/dense/MatMul", "op_type": "MatMul", "scope": "net/dense",
    "requested_bytes": 4 * MIB, "free_bytes": 5 * MIB, "largest_free_bytes": 3 * MIB,
}  # fmt: skip


def test_within_the_budget() -> None:
    check = judge(small(), budget=NEEDED)
    assert (check.passed, check.reasons, check.remarks, check.name) == (True, [], [], "old.py")
    check.require()


def test_over_the_budget() -> None:
    check = judge(small(), budget=NEEDED - 1024, name="mine")
    assert (check.passed, check.reasons) == (False, ["1.00 KiB over the budget of 12.0 MiB."])
    with pytest.raises(CheckFailed, match=r"FAIL  mine \(old.py\): train step, batch 8: 12.0 MiB needed"):
        check.require()


@pytest.mark.parametrize(
    ("tolerance", "passed"),
    [("2%", False), ("41.6%", False), ("41.7%", True), ("5MiB", False), ("6MiB", True), (0.5, True)],
)
def test_more_than_the_baseline(tolerance: str | float, passed: bool) -> None:
    check = judge(grown(), baseline=small(), tolerance=read_tolerance(tolerance))
    assert check.passed is passed
    if not passed:
        assert check.reasons[0].startswith("5.01 MiB more (+41.6 %) than the baseline of 12.0 MiB; ")


def test_equal_to_the_baseline_passes_without_tolerance() -> None:
    assert judge(small(), baseline=small(), tolerance=Tolerance()).passed
    assert not judge(replace(small(), argument_bytes=65), baseline=small(), tolerance=Tolerance()).passed


def test_less_than_the_baseline_is_told() -> None:
    check = judge(small(), baseline=grown())
    assert check.passed
    assert check.remarks == ["it needs 5.01 MiB less (-29.4 %) than the baseline: hold on to that with --update."]


def test_the_layers_that_grew_are_named_largest_first() -> None:
    text = str(judge(grown(), baseline=small()))
    dense, extra, inputs = (text.index(name) for name in ("net/dense", "net/extra", "(inputs)"))
    assert text.index("What grew since the baseline") < dense < extra < inputs
    assert "net/out" not in text
    line = next(line for line in text.splitlines() if "net/dense" in line)
    assert line.split() == ["net/dense", "12.0", "MiB", "16.0", "MiB", "+4.01", "MiB"]
    settings = [" ".join(line.split()) for line in text[text.index("What else differs") :].splitlines()]
    assert "batch 8 16" in settings


def test_without_a_baseline_the_largest_layers_are_named() -> None:
    text = str(judge(grown(), budget=MIB))
    line = next(line for line in text.splitlines() if "net/dense" in line)
    assert line.split() == ["net/dense", "16.0", "MiB", "16.0", "MiB", "8.79", "KiB"]


def test_what_is_not_shown_is_in_the_row_of_the_others() -> None:
    report = replace(small(), variables_by_scope={f"l{n}": {"weight": MIB} for n in range(9)})
    rows = [" ".join(line.split()) for line in str(replace(judge(report, budget=1))).splitlines()]
    assert "… 6 others 5.02 MiB 20.0 KiB 5.00 MiB" in rows


def test_the_allocators_count_is_judged_where_there_is_one() -> None:
    assert figure_of(small()) == Figure("needed", NEEDED, False)
    assert figure_of(bfc(small(), 99)) == Figure("bfc", 99, False)
    assert figure_of(bfc(small(), 99), "needed") == Figure("needed", NEEDED, False)
    assert figure_of(small(), "bfc") is None
    assert figure_of(replace(small(), allocator={"name": "exact", "peak_in_use_bytes": None}, at_least=True)) == Figure(
        "needed", NEEDED, True
    )
    assert "99 B in use, as bfc counts" in str(judge(bfc(small(), 99), budget=99))


def test_an_allocator_that_fails_fails_the_check() -> None:
    report = bfc(small(), 10 * MIB, limit_bytes=16 * MIB, fails=FAILS)
    check = judge(report, budget=16 * MIB)
    assert check.figure == Figure("bfc", 15 * MIB, True)
    assert check.reasons == [
        "bfc cannot serve a request of 4.00 MiB by MatMul in net/dense within 16.0 MiB: its largest free piece is "
        "3.00 MiB, when it comes to the first step."
    ]


def test_figures_of_different_kinds_are_not_compared() -> None:
    with pytest.raises(TargetError, match=r"does not say how much is in use, as bfc counts; write it with --update"):
        judge(bfc(small(), 99), baseline=small())
    assert judge(small(), baseline=bfc(small(), 1)).baseline == Figure("needed", NEEDED, False)


def test_a_pass_because_of_unknowns_is_told_and_strict_fails_it() -> None:
    report = replace(small(), at_least=True, unknown_ops={"Odd": 2}, unknown_sizes=["a:0", "b:0", "c:0"])
    said = "the figure is a lower bound, as something is unknown (Odd, a:0, b:0 and 1 more)."
    assert (judge(report, budget=NEEDED).passed, judge(report, budget=NEEDED).remarks) == (True, [said])
    assert (judge(report, budget=NEEDED, strict=True).passed, judge(report, budget=NEEDED, strict=True).reasons) == (
        False, [said],
    )  # fmt: skip
    assert judge(report, budget=NEEDED - MIB).remarks == []
    assert "≥" in FORMATS["markdown"]([Outcome("a", "a", judge(report, budget=NEEDED))])


def test_the_worst_order_is_told_and_strict_fails_it() -> None:
    peak = small().step_peak_bytes
    report = replace(small(), step_peak_range_bytes=(peak, peak + MIB))
    said = "in the worst of 8 legal orders it is 13.0 MiB, over the 12.0 MiB that are allowed."
    assert judge(report, budget=NEEDED).remarks == [said]
    assert judge(report, budget=NEEDED, strict=True).reasons == [said]
    assert judge(report, budget=NEEDED + MIB).remarks == []
    charged = bfc(small(), 5, peak_in_use_range_bytes=[4, 2 * MIB])
    assert judge(charged, budget=MIB).remarks[0].startswith("in the worst of 8 legal orders it is 2.00 MiB")


def outcomes() -> list[Outcome]:
    return [
        Outcome("first", "old.py", judge(small(), name="first", budget=NEEDED)),
        Outcome("second", "new.py", judge(grown(), name="second", budget=MIB, baseline=small())),
        Outcome("third", "gone.py", None, TargetError("There is no file 'gone.py'.")),
    ]


def test_text_of_several() -> None:
    text = all_as_text(outcomes(), width=70)
    verdicts = [line[:11] for line in text.splitlines() if line[:1] in "pFE"]
    assert verdicts == ["pass  first", "FAIL  secon", "ERROR third"]
    assert text.splitlines()[-1] == "1 of 3 checks failed, 1 of 3 checks could not be made"
    assert max(map(len, text.splitlines())) <= 70
    assert "\x1b[1;31mFAIL" in all_as_text(outcomes(), color=True)
    assert summary(outcomes()[:1] * 2) == "all 2 checks passed"


def test_markdown() -> None:
    lines = FORMATS["markdown"](outcomes()).splitlines()
    assert "| second | ❌ fail   | 17.0 MiB | 1.00 MiB | 12.0 MiB | +5.01 MiB |" in lines
    assert "#### second" in lines
    assert "* 16.0 MiB over the budget of 1.00 MiB." in lines
    assert any(line.startswith("| net/dense ") for line in lines)
    assert "* There is no file 'gone.py'." in lines
    assert "#### first" not in lines


def test_github_benchmark() -> None:
    rows = json.loads(FORMATS["github-benchmark"](outcomes()))
    assert [(row["name"], row["unit"], row["value"]) for row in rows] == [
        ("first", "bytes", NEEDED), ("second", "bytes", grown().needed_bytes),
    ]  # fmt: skip
    assert set(rows[0]) == {"name", "unit", "value", "extra"}
    wide = replace(small(), step_peak_range_bytes=(1, 11))
    assert json.loads(FORMATS["github-benchmark"]([Outcome("a", "a", judge(wide, budget=1))]))[0]["range"] == "10"


def test_json() -> None:
    data = json.loads(FORMATS["json"](outcomes()))
    assert (data["schema"], data["passed"]) == (1, False)
    first, second, third = data["checks"]
    assert (first["passed"], first["bytes"], first["baseline_bytes"], first["layers"]) == (True, NEEDED, None, [])
    assert (second["allowed_bytes"], second["layers"][0]["scope"]) == (NEEDED + NEEDED // 50, "net/dense")
    assert third == {"name": "third", "passed": False, "target": "gone.py", "error": "There is no file 'gone.py'."}


@pytest.mark.parametrize(
    ("text", "tolerance"),
    [("2%", Tolerance(share=0.02)), (" 2.5 % ", Tolerance(share=0.025)), ("0", Tolerance()), (0, Tolerance()),
     (0.02, Tolerance(share=0.02)), ("100MiB", Tolerance(bytes=100 * MIB)), ("1 kB", Tolerance(bytes=1000))],
)  # fmt: skip
def test_tolerances(text: str | float, tolerance: Tolerance) -> None:
    assert read_tolerance(text) == tolerance


@pytest.mark.parametrize("text", ["2", "", "%", "-2%", "two", 2, -0.1, True, "1 mib more"])
def test_no_tolerances(text: str | float) -> None:
    with pytest.raises(TargetError, match="is no tolerance; write it like 2% or 100MiB"):
        read_tolerance(text)


def test_what_is_allowed() -> None:
    assert read_tolerance("2%").allowed(1000) == 1020
    assert Tolerance().allowed(7) == 7
    assert (str(read_tolerance("2.5%")), str(read_tolerance("1GiB")), str(Tolerance())) == ("2.5 %", "1.00 GiB", "0 %")


ALLOWED: dict[str, tuple[type, tuple[str, ...]]] = {
    "batch": (int, ()), "step": (str, ("train", "test")), "rewrite": (bool, ()), "memory": (str, ())
}  # fmt: skip


def entries(text: str) -> list[Entry]:
    return read_entries(tomllib.loads(text)["check"], "p.toml", ALLOWED)


def test_entries() -> None:
    found = entries("""
        [[check]]
        target = "train.py"
        budget = "6GiB"
        args = ["--epochs", "3"]
        [[check]]
        name = "small"
        target = "model.py:build(width=2)"
        baseline = "peak.json"
        tolerance = "5%"
        strict = true
        batch = 8
        input = ["x:float32:8x3"]
        set = { sequence = 128 }
    """)
    assert found == [
        Entry("train.py", "train.py", budget=6 << 30, args=("--epochs", "3")),
        Entry("small", "model.py:build(width=2)", baseline="peak.json", tolerance=Tolerance(share=0.05), strict=True,
              inputs=("x:float32:8x3",), dims=(("sequence", 128),), options={"batch": 8}),
    ]  # fmt: skip


BUDGET = 'target = "a"\nbudget = "1GiB"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("check = 3", "must be an array of tables: write [[tool.graphmem.check]]"),
        ('[check]\ntarget = "a"', "must be an array of tables"),
        ('[[check]]\nbudget = "1GiB"', "check 1 of [[tool.graphmem.check]]: it has no target: write target ="),
        (f"[[check]]\n{BUDGET}[[check]]\n{BUDGET}", "check 2 is called 'a', as one before it: give it another name."),
        ('[[check]]\ntarget = "a"', "it has nothing to check against"),
        (f"[[check]]\n{BUDGET}bugdet = 3", f"there is no key 'bugdet'; it may have {', '.join(OWN_KEYS)}, batch"),
        ('[[check]]\ntarget = "a"\nbudget = "much"', "'much' is not a size"),
        ('[[check]]\ntarget = "a"\nbudget = 6', "budget must be a text such as \"6GiB\", not 6."),
        (f"[[check]]\n{BUDGET}tolerance = 2", "2 is no tolerance"),
        (f"[[check]]\n{BUDGET}batch = 0", "batch must be a whole number of 1 or more, not 0."),
        (f"[[check]]\n{BUDGET}batch = true", "batch must be a whole number of 1 or more, not True."),
        (f"[[check]]\n{BUDGET}step = 'fit'", "step must be 'train' or 'test', not 'fit'."),
        (f"[[check]]\n{BUDGET}rewrite = 1", "rewrite must be true or false, not 1."),
        (f"[[check]]\n{BUDGET}strict = 'yes'", "strict must be true or false, not 'yes'."),
        (f"[[check]]\n{BUDGET}args = '--x'", "args must be a list of texts, not '--x'."),
        (f"[[check]]\n{BUDGET}set = {{ a = 'b' }}", "set must be a table of whole numbers"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_entry_is_named(text: str, says: str) -> None:
    with pytest.raises(TargetError) as caught:
        entries(text)
    assert says in str(caught.value)
    assert str(caught.value).startswith("p.toml: ")


def test_the_example_of_the_page(tmp_path) -> None:
    block = next(block.text for block in blocks(ROOT / "docs" / "check.md") if block.language == "toml")
    (tmp_path / "pyproject.toml").write_text(block)
    table = configured(tmp_path)
    train, large = read_entries(table.pop("check"), "p.toml", CONFIG_KEYS)
    assert table == {"device": "gpu", "threads": 8}
    assert (train.budget, train.baseline, large.name, large.strict) == (8 << 30, "peaks/train.json", "large", True)
    assert (large.options, large.dims) == ({"batch": 64, "allocator": "bfc"}, (("sequence", 128),))


def test_python(tmp_path) -> None:
    path = tmp_path / "peak.json"
    path.write_text(small().to_json())
    check = graphmem.check(grown(), budget="1 GiB", baseline=path)
    assert isinstance(check, Check)
    assert not check.passed
    assert graphmem.check(grown(), budget=1 << 30).passed
    assert graphmem.check(grown(), baseline=small(), tolerance=0.5, name="x").name == "x"
    with pytest.raises(TargetError, match="there is nothing to check against"):
        graphmem.check(grown())


@pytest.mark.parametrize("report", [mlp(), report_of([])])
def test_a_check_says_what_it_checked(report: Report) -> None:
    data = judge(report, budget=1 << 40).to_dict()
    assert (data["figure"], data["bytes"], data["batch"]) == ("needed", report.needed_bytes, report.batch)
