"""The pages make a site without a warning, all of them in its navigation, with links that lead to where things are."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.markdown import PAGES, ROOT

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("material") is None, reason="the site's tools are not installed: pip install '.[docs]'"
)


def build(project: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a project; warnings are errors."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    return subprocess.run(command, cwd=project, capture_output=True, text=True)


def test_site_is_built_and_complete(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path)
    assert done.returncode == 0, done.stderr
    home = (tmp_path / "index.html").read_text(encoding="utf-8")
    for page in PAGES:
        if page.parent.name == "docs" and page.name != "index.md":
            assert f'href="{page.stem}.html"' in home
    overview = (tmp_path / "overview.html").read_text(encoding="utf-8")
    assert 'href="report.html"' in overview
    assert 'src="images/resnet50.svg"' in overview
    assert 'href="overview.html#how-to-read-the-picture"' in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'href="files/gpus.toml"' in (tmp_path / "devices.html").read_text(encoding="utf-8")
    for path in tmp_path.glob("*.html"):
        for picture in re.findall(r'<img[^>]*src="([^"]+)"', path.read_text(encoding="utf-8")):
            assert (tmp_path / picture).is_file(), f"{path.name} shows {picture}"


@pytest.mark.parametrize("wrong", ["[a page](nowhere.md)", "[a file](../setup.cfg)", "[a heading](limits.md#nothing)"])
def test_links_that_lead_nowhere_are_errors(tmp_path: Path, wrong: str) -> None:
    project = tmp_path / "project"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "*.py", "tests", "benchmarks", "site", "*.egg-info")
    shutil.copytree(ROOT, project, ignore=ignored)
    shutil.copy(ROOT / "docs" / "site.py", project / "docs")
    with (project / "docs" / "speed.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{wrong}\n")
    done = build(project, tmp_path / "site")
    assert done.returncode == 1
    assert "'speed.md'" in done.stderr
