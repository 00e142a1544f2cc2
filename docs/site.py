"""Hooks of mkdocs: index.md is the site's navigation, and pages outside of docs/ are part of the site."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]

OUTSIDE = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/README.md": "examples.md",
    "examples/notebook.ipynb": "files/notebook.ipynb",
    "graphmem/data/gpus.toml": "files/gpus.toml",
    "LICENSE": "files/LICENSE.txt",
    "graphmem/render/html/vendor/uPlot.LICENSE": "files/uPlot.LICENSE.txt",
}
"""Files outside of docs/ that pages link to -> where they are in the site."""

_SECTION = re.compile(r"^## (.*)$|^\* \[([^\]]+)\]\(([^)#]+)\)", re.MULTILINE)
_LINK = re.compile(r'(\]\(|<img src=")(?!https?://|#|mailto:)([^)\s"#]+)')


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the sections and links of index.md the navigation."""
    nav: list[Any] = [{"graphmem": "index.md"}]
    index = Path(config.docs_dir) / "index.md"
    for section, title, link in _SECTION.findall(index.read_text(encoding="utf-8")):
        if section:
            nav.append({section: []})
        else:
            next(iter(nav[-1].values())).append({title: placed(link, index)})
    config.nav = nav
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files outside of docs/."""
    for path, uri in OUTSIDE.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead the links of a page to where things are in the site, which has all pages in one folder."""
    assert page.file.abs_src_path is not None
    source = Path(page.file.abs_src_path)
    return _LINK.sub(lambda link: link[1] + placed(link[2], source), markdown)


def placed(link: str, source: Path) -> str:
    """Where the file that a page links to is in the site; the link itself if it is not part of it."""
    path = Path(os.path.relpath(source.parent / link, ROOT)).as_posix()
    if path in OUTSIDE:
        return OUTSIDE[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else link
