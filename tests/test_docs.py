"""The pages say what is true: commands, flags, paths, links and names in them exist, and their examples run."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

import graphmem
from graphmem import errors
from graphmem.cli.main import STOPPED, VERBS, cli
from graphmem.cli.options import configured
from graphmem.graph.model import PHASES, ROLES
from graphmem.graph.store import save_trace
from graphmem.render.output import FORMATS
from graphmem.report.report import FrontierBuffer, Report
from tests.graphs import two_weights
from tests.markdown import PAGES, ROOT, blocks, prose, table

README = ROOT / "README.md"

MADE_UP = frozenset(
    "train.py model.py net.keras net.h5 folder/ step.graphmem peak.json peak.svg report.json curve.svg".split()
)
"""Names of files in the pages that are the reader's own."""

WRITTEN = ("", "peak", "step", "a")
"""Beginnings of the names of files that graphmem writes in the pages' commands; "": an ending alone."""

OTHERS = {"--overwrite"}
"""Flags of other programs, such as the tests' own."""

_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"")
_PATH = re.compile(r"[\w./-]*[\w-](?:\.(?:py|md|json|toml|svg|cc)|/)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def commands(page: Path) -> Iterator[list[str]]:
    """Every command line that begins with `graphmem`, as words: those of shell blocks, and those in the text."""
    for block in blocks(page):
        lines = block.text.splitlines() if block.language == "bash" else []
        lines += [line[2:] for line in block.text.splitlines() if block.language == "console" and line[:2] == "$ "]
        for part in (part for line in lines for part in re.split(r"&&|[|>]", line) if "graphmem " in part):
            words = shlex.split(part, comments=True)
            if words[0].rpartition("/")[2] == "graphmem":
                yield words[1:]
    for code in _CODE.findall(prose(page)):
        if code.startswith("graphmem "):
            yield shlex.split(code)[1:]


@cache
def command(verb: str) -> click.Command:
    found = cli.get_command(click.Context(cli), verb)
    assert found is not None
    return found


@cache
def flags() -> frozenset[str]:
    """All flags of all verbs and of the command itself."""
    every = [cli, *map(command, VERBS)]
    params = [parameter for one in every for parameter in one.params if isinstance(parameter, click.Option)]
    return frozenset(flag for option in params for flag in (*option.opts, *option.secondary_opts)) | {"--help", "-h"}


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in _HEADING.findall(prose(page))}


def test_there_are_pages_and_commands() -> None:
    names = {str(page.relative_to(ROOT)) for page in PAGES}
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/index.md", "docs/json.md"} <= names
    assert sum(1 for page in PAGES for _ in commands(page)) > 8


@pages
def test_commands_are_ones_that_exist(page: Path) -> None:
    for words in commands(page):
        if words[0].startswith("-"):
            assert words[0] in flags()
            continue
        assert words[0] in VERBS, words
        params = command(words[0]).params
        known = {flag for parameter in params for flag in (*parameter.opts, *parameter.secondary_opts)}
        own = words[1 : words.index("--")] if "--" in words else words[1:]
        for word in own:
            assert " " in word or not word.startswith("-") or word in known | {"--help"}, f"{words[0]} has no {word}"
            if word.startswith("examples/"):
                assert (ROOT / word.partition(":")[0]).is_file()


@pages
def test_flags_in_the_text_exist(page: Path) -> None:
    for code in _CODE.findall(prose(page)):
        for flag in re.findall(r"(?<!\S)--?[a-z][a-z0-9-]*", code if code.startswith("-") else ""):
            assert flag in flags() | OTHERS, f"{page.name}: {code}"


@pages
def test_paths_in_the_text_exist(page: Path) -> None:
    everywhere = {path.name for path in (ROOT / "graphmem").rglob("*.py")} | {path.name for path in ROOT.iterdir()}
    for code in _CODE.findall(prose(page)):
        if not _PATH.fullmatch(code) or code in MADE_UP or code.endswith(".cc") or code.partition(".")[0] in WRITTEN:
            continue
        found = (ROOT / code).exists() or (ROOT / "graphmem" / code).is_dir() or code in everywhere
        assert found, f"{page.name} names {code}"


@pages
def test_links_lead_somewhere(page: Path) -> None:
    for link in (first or second for first, second in _LINK.findall(prose(page))):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), f"{page.name} links to {link}"
        assert not anchor or anchor in anchors(target), f"{page.name} links to {link}"


def test_every_page_of_docs_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.parent.name == "docs" and f"({page.name})" not in index] == ["index.md"]


@pages
def test_names_of_the_package_exist(page: Path) -> None:
    for code in _CODE.findall(prose(page)):
        name = re.match(r"(graphmem|report)((?:\.\w+)+)(?=$|\()", code)
        if not name or _PATH.fullmatch(code):
            continue
        parts = name[2][1:].split(".")
        if name[1] == "report":
            assert parts[0] in Report.__dataclass_fields__ or hasattr(Report, parts[0]), code
            continue
        found: Any = graphmem
        for part in parts:
            found = getattr(found, part, None) or importlib.import_module(f"{found.__name__}.{part}")


def test_set_up_takes_two_commands() -> None:
    text = README.read_text(encoding="utf-8").partition("## Set-up")[2].partition("\n## ")[0]
    lines = [line for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert len(lines) == 2
    assert all("pip install" in line for line in lines)
    assert not re.search(r"\bapt|\bsudo|\bconda|\bbrew", text)


def test_ci_runs_the_tests_as_the_readme_does() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    assert (
        "\npython3 -m venv .venv && .venv/bin/pip install '.[test]' && .venv/bin/pytest -n 2 --dist loadfile\n" in text
    )
    for part in (
        "-m venv",
        '/pip" install',
        "'.[test,docs]'",
        '/mkdocs" build --strict',
        '/pytest" -n 2 --dist loadfile',
    ):
        assert part in script
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert subprocess.run(["bash", "-n", ROOT / ".ci" / "run"]).returncode == 0


def test_readme_shows_the_figure_of_its_picture() -> None:
    shown = next(block.text for block in blocks(README) if block.language == "console")
    headline = re.search(r": peak (\S+ \S+) \(", shown)
    picture = (ROOT / "docs" / "images" / "resnet50.svg").read_text(encoding="utf-8")
    assert headline
    assert f"needed in all: {headline[1]}" in picture.replace("&#160;", " ").replace("\u00a0", " ")


def test_exit_codes() -> None:
    codes = [int(row["exit code"]) for row in table(README, "exit code")]
    kinds = (errors.CheckFailed, errors.TargetError, errors.UserCodeError, errors.InternalError)
    assert codes == [0, *(kind.exit_code for kind in kinds), STOPPED]


def test_verbs_and_endings() -> None:
    assert [row["verb"].split()[1] for row in table(README, "verb")] == list(VERBS)
    endings = [ending for row in table(ROOT / "docs" / "report.md", "ending") for ending in row["ending"].split(", ")]
    assert sorted(endings) == sorted(FORMATS)
    assert all(f"`{ending}`" in README.read_text(encoding="utf-8") for ending in FORMATS)


def test_roles_and_phases() -> None:
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    assert [role for role in ROLES if f"`{role}`" not in text and f"| {role} |" not in text] == []
    listed = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    assert [word for word in (*ROLES, *PHASES) if f"`{word}`" not in listed] == []


def test_defaults_in_pyproject(tmp_path: Path) -> None:
    block = next(block.text for block in blocks(ROOT / "docs" / "targets.md") if block.language == "toml")
    (tmp_path / "pyproject.toml").write_text(block)
    assert configured(tmp_path) == {"batch": 32, "device": "gpu", "threads": 8}


def test_changes_begin_with_this_version() -> None:
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert versions[0] == graphmem.__version__


def test_licence_is_the_one_named() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'license = "Apache-2.0 AND MIT"' in project


def test_the_licence_of_each_library_that_is_part_of_graphmem_is_shipped() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^license-files = (\[.*\])$", project, re.MULTILINE)
    assert listed is not None
    shipped = json.loads(listed[1])
    assert all((ROOT / name).is_file() for name in shipped)
    folders = {path.parent for path in (ROOT / "graphmem").rglob("vendor/*")}
    found = {path.relative_to(ROOT).as_posix() for folder in folders for path in folder.glob("*.LICENSE")}
    assert found == set(shipped) - {"LICENSE"}
    assert all("MIT" in (ROOT / name).read_text(encoding="utf-8") for name in found)


@pytest.mark.tf
@pytest.mark.parametrize("page", ["README.md", "docs/report.md"])
def test_python_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    code = [block.text for block in blocks(ROOT / page) if block.language == "python"]
    assert code
    for text in code:
        exec(compile(text, page, "exec"), names)
    report = names["report"]
    assert report.peak_bytes == report.resident_bytes + report.argument_bytes + report.step_peak_bytes
    assert isinstance(report.frontier[0], FrontierBuffer)


def test_trace_example_runs(tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    save_trace(two_weights(), "step.graphmem")
    block = next(block for block in blocks(ROOT / "docs" / "trace-format.md") if block.language == "python")
    exec(block.text, {})
    assert "graphmem-trace 1" in capsys.readouterr().out


def test_ci_example_passes_and_fails(tmp_path: Path) -> None:
    """The two lines of "In continuous integration", with a report that is there already."""
    text = next(block.text for block in blocks(README) if block.language == "bash" and "needed_bytes" in block.text)
    check = text.splitlines()[-1].replace("python ", f"{shlex.quote(sys.executable)} ", 1)
    for needed, code in ((8 << 30) - 1, 0), (8 << 30, 1):
        (tmp_path / "peak.json").write_text(json.dumps({"needed_bytes": needed}))
        assert subprocess.run(["bash", "-c", check], cwd=tmp_path, stderr=subprocess.DEVNULL).returncode == code


def test_a_wrong_flag_would_be_found() -> None:
    assert "--no-such-flag" not in flags()
    assert {"--batch", "-o", "--no-rewrite", "--version"} <= flags()
