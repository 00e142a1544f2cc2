"""The pytest plugin, in test runs of its own: what passes, what fails, what is said; that nothing is imported early."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points

import pytest

from tests.answers.test_diff import grown, small
from tests.markdown import ROOT, blocks

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytest_plugins = ["pytester"]

INSTALLED = [entry.value for entry in entry_points(group="pytest11") if entry.name == "graphmem"]
LOADED = () if INSTALLED else ("-p", "graphmem.pytest_plugin")
"""The plugin is there by itself where graphmem is installed, not in a mere checkout."""

MODEL = """
import keras, pytest

def build(width=8):
    model = keras.Sequential(
        [keras.Input((64,)), keras.layers.Dense(width, name="wide"), keras.layers.Dense(2, name="head")]
    )
    model.compile("adam", "mse")
    return model
"""
FROM_FILE = """
import graphmem, pytest

def report(name):
    return graphmem.load(name + ".json")
"""


def run(pytester: pytest.Pytester, tests: str, *options: str, apart: bool = False) -> pytest.RunResult:
    """Run these tests beside two saved reports: 12.0 MiB, and 17.0 MiB of which `net/dense` holds most.

    Args:
        apart: in a process of their own, as TensorFlow cannot be imported twice in one.
    """
    pytester.makepyfile(test_it=tests)
    pytester.path.joinpath("small.json").write_text(small().to_json())
    pytester.path.joinpath("grown.json").write_text(grown().to_json())
    warnings = "-W", "error::pytest.PytestWarning"
    start = pytester.runpytest_subprocess if apart else pytester.runpytest_inprocess
    return start(*LOADED, "-p", "no:cacheprovider", *warnings, *options)


def test_the_plugin_is_an_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"graphmem": "graphmem.pytest_plugin"}


def test_a_returned_report_is_checked(pytester: pytest.Pytester) -> None:
    result = run(pytester, FROM_FILE + """
@pytest.mark.peak_memory("16 MiB")
def test_small():
    return report("small")

@pytest.mark.peak_memory("16 MiB")
def test_grown():
    return report("grown")

def test_unmarked():
    pass
""")  # fmt: skip
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines([
        "FAIL  new.py: train step, batch 16: 17.0 MiB needed, budget 16.0 MiB",
        "*1.03 MiB over the budget of 16.0 MiB.",
        "*net/dense * 16.0 MiB * 16.0 MiB * 8.79 KiB",
        "*1 failed, 2 passed*",
    ])  # fmt: skip
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_a_baseline_names_what_grew(pytester: pytest.Pytester) -> None:
    result = run(pytester, FROM_FILE + """
@pytest.mark.peak_memory(baseline="small.json", tolerance="5%")
def test_grown():
    return report("grown")

@pytest.mark.peak_memory(baseline="small.json", tolerance="50%")
def test_tolerated():
    return report("grown")
""")  # fmt: skip
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*5.01 MiB more (+41.6 %) than the baseline of 12.0 MiB; 5 % more is",
                                 "*net/dense*+4.01 MiB"])  # fmt: skip


def test_strict(pytester: pytest.Pytester) -> None:
    result = run(pytester, FROM_FILE + """
import dataclasses

def unknown():
    return dataclasses.replace(report("small"), at_least=True, unknown_ops={"Odd": 1})

@pytest.mark.peak_memory("1 GiB")
def test_at_least():
    return unknown()

@pytest.mark.peak_memory("1 GiB", strict=True)
def test_at_least_strict():
    return unknown()
""")  # fmt: skip
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*something is unknown (Odd)*"])


def test_a_limit_of_the_configuration(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\npeak_memory_limit = 16MiB\n")
    result = run(pytester, FROM_FILE + """
@pytest.mark.peak_memory
def test_small():
    return report("small")

@pytest.mark.peak_memory
def test_grown():
    return report("grown")

@pytest.mark.peak_memory("1GiB")
def test_own_limit():
    return report("grown")
""")  # fmt: skip
    result.assert_outcomes(passed=2, failed=1)


@pytest.mark.parametrize(
    ("test", "says"),
    [
        ("@peak('1GiB')\ndef test_it():\n    pass", "*test_it is marked peak_memory, but returned no model*"),
        ("@peak\ndef test_it():\n    return report('small')", "*there is no limit: peak_memory('8 GiB')*"),
        ("@peak('1', '2')\ndef test_it():\n    pass", "*takes one limit, not 2: peak_memory('8 GiB')."),
        ("def test_it(peak_memory):\n    peak_memory.assert_below('1GiB')", "*assert_below() comes after an analysis*"),
        ("@peak('much')\ndef test_it():\n    return report('small')", "'much' is not a size; write it*"),
        ("@peak('1GiB')\ndef test_it():\n    return 'gone.graphmem'", "There is no file 'gone.graphmem'."),
        ("@peak('1GiB', bach=3)\ndef test_it():\n    return 'a.py'", "*unexpected keyword argument 'bach'*"),
        ("@peak('1B')\ndef test_it():\n    assert 1 == 2", "*assert 1 == 2"),
    ],
)
def test_what_is_wrong_is_told(pytester: pytest.Pytester, test: str, says: str) -> None:
    result = run(pytester, FROM_FILE + "peak = pytest.mark.peak_memory\n" + test)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([says])
    result.stdout.no_fnmatch_line("*During handling of*")


def test_the_marker_is_known_and_described(pytester: pytest.Pytester) -> None:
    result = run(pytester, FROM_FILE + '@pytest.mark.peak_memory("1GiB")\ndef test_it():\n    return report("small")',
                 "--strict-markers")  # fmt: skip
    result.assert_outcomes(passed=1)
    run(pytester, "", "--markers").stdout.fnmatch_lines(["@pytest.mark.peak_memory(limit, *"])
    run(pytester, "", "--fixtures").stdout.fnmatch_lines(["*peak_memory*"])


def test_fixtures_and_parameters_reach_a_marked_test(pytester: pytest.Pytester) -> None:
    result = run(pytester, FROM_FILE + """
@pytest.mark.peak_memory("16 MiB")
@pytest.mark.parametrize("name", ["small", "grown"])
def test_each(name, tmp_path):
    assert tmp_path.is_dir()
    return report(name)

class TestAll:
    @pytest.mark.peak_memory("16 MiB")
    def test_method(self):
        return report("small")
""")  # fmt: skip
    result.assert_outcomes(passed=2, failed=1)


def test_nothing_is_imported_before_a_test_asks(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it="""
import sys, pytest

@pytest.mark.peak_memory("1GiB")
def test_marked():
    pytest.skip()

def test_fixture(peak_memory):
    assert not {"tensorflow", "keras", "tf_keras", "networkx", "matplotlib"} & set(sys.modules)
""")  # fmt: skip
    result = pytester.runpytest_subprocess(*LOADED, "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, skipped=1)


@pytest.mark.tf
def test_the_example_of_the_page(pytester: pytest.Pytester) -> None:
    example = next(block.text for block in blocks(ROOT / "docs" / "check.md") if block.language == "python")
    run(pytester, example, apart=True).assert_outcomes(passed=2)


@pytest.mark.tf
def test_models_are_analysed(pytester: pytest.Pytester) -> None:
    result = run(pytester, MODEL + """
OPTIONS = dict(batch=4, device="cpu")

@pytest.mark.peak_memory("100 kB", **OPTIONS)
def test_small():
    return build()

@pytest.mark.peak_memory("100 kB", **OPTIONS)
def test_wide():
    return build(width=512)

@pytest.mark.peak_memory("100 kB", **OPTIONS)
def test_all_that_is_analysed_counts(peak_memory):
    small, wide = peak_memory(build()), peak_memory(build(512))
    assert small.batch == 4 and peak_memory.reports == [small, wide]

def test_fixture(peak_memory):
    report = peak_memory(build(), batch=8, device="cpu")
    assert (report.batch, report.weight_bytes) == (8, 4 * (65 * 8 + 9 * 2))
    peak_memory.assert_below("100 kB")
    peak_memory(build(512), **OPTIONS)
    peak_memory.assert_below("100 kB")
""", "--junitxml=out.xml", apart=True)  # fmt: skip
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["*/wide *", "*FAILED test_it.py::test_wide*", "*FAILED*test_all_that*",
                                 "*FAILED*test_fixture*"])  # fmt: skip
    assert "peak_memory_bytes" in pytester.path.joinpath("out.xml").read_text()
