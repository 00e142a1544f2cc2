"""Reads the tables and the code of the project's own pages, so that tests can hold them to what is true."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md")))
"""Every page of the project."""

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of code: its language, "" for none, and its text."""

    language: str
    text: str


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [Block(language, text) for language, text in _FENCE.findall(path.read_text(encoding="utf-8"))]


def prose(path: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def table(path: Path, first_header: str) -> list[dict[str, str]]:
    """The rows of the one table of a page whose first column has this header, as header -> cell without backticks."""
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [number for number, line in enumerate(lines) if _cells(line)[:1] == [first_header]]
    assert len(starts) == 1, f"{path.name} has {len(starts)} tables that begin with {first_header!r}"
    headers = _cells(lines[starts[0]])
    rows = []
    for line in lines[starts[0] + 2 :]:
        cells = _cells(line)
        if not cells:
            break
        assert len(cells) == len(headers), f"{path.name}: {line}"
        rows.append(dict(zip(headers, cells, strict=True)))
    return rows


def _cells(line: str) -> list[str]:
    if not line.startswith("|"):
        return []
    return [cell.strip().replace("`", "") for cell in line.strip().strip("|").split("|")]
