"""The page of ops is that of the table."""

from __future__ import annotations

import runpy
from pathlib import Path

from graphmem.ops.registry import all_rules

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_is_up_to_date() -> None:
    page = runpy.run_path(str(DOCS / "make_ops_page.py"))["page"]()
    assert (DOCS / "ops.md").read_text(encoding="utf-8") == page, "run python docs/make_ops_page.py"


def test_each_op_is_on_the_page_once() -> None:
    rows = [line for line in (DOCS / "ops.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in row.split(" | ")[0].removeprefix("| ").replace("`", "").split()]
    assert sorted(named) == sorted(all_rules())
