"""Write the page of ops anew from the table: `python docs/make_ops_page.py`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from graphmem.ops.registry import Rule, all_rules
from graphmem.ops.words import describe, explain

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "ops.md"

HEAD = """# Ops

What graphmem knows of the memory of {count} op types of TensorFlow, from its table. `python docs/make_ops_page.py`
writes this page; `graphmem ops NAME` prints the same for a few ops, and [Adding an op](adding-an-op.md) says how a row
comes to be.

Rows were read in TensorFlow's source or measured: `tests/ops/test_allocator.py` runs ops on TensorFlow's own allocator
and compares what it is asked for with what the rows say. `python benchmarks/catalogue.py` traces everything public in
`keras.layers`, `keras.ops`, `keras.losses`, `keras.metrics`, `keras.optimizers` and `keras.applications`, and lists the
op types met that have no row. With Keras 3.15 and TensorFlow 2.21 it met 296 op types in 701 entries; all have rows.

`PartitionedCall` and `StatefulPartitionedCall` have none on purpose. Where XLA compiles what they call (convolutions in
groups on a CPU are an example) they become an `XlaLaunch`, whose memory XLA plans; they are left, and named as unknown,
where XLA cannot be asked.

Also without rows: `TensorArray` ops of TensorFlow 1, variables by reference, collective, TPU and other XLA ops, and
what oneDNN puts in the place of others.

* *View*: the output shares the input's buffer. *Takes over*: it may, if no one else holds that buffer and it has the
  same size and type.
* *Scratch* lasts as long as the op runs. Without a note of scratch, the op needs none.
"""


def page() -> str:
    """The page's text."""
    rules = all_rules()
    sections = [HEAD.format(count=len(rules))]
    for title, rows in grouped(rules):
        sections.append(f"## {title}\n\n| ops | how | from |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(sections)


def grouped(rules: dict[str, Rule]) -> Iterable[tuple[str, list[str]]]:
    """(what the ops have in common, a row of the page for each group of ops with one rule), sorted."""
    groups: dict[str, dict[tuple[str, str], list[str]]] = {}
    for name, rule in rules.items():
        title = "; ".join(describe(rule))
        key = ("; ".join(explain(rule)) or "–", rule.source)
        groups.setdefault(title, {}).setdefault(key, []).append(name)
    for title, found in sorted(groups.items()):
        rows = [
            f"| {' '.join(f'`{name}`' for name in names)} | {how} | {source} |"
            for (how, source), names in sorted(found.items(), key=lambda item: item[1])
        ]
        yield title[0].upper() + title[1:], rows


def main() -> None:
    """Write the page if it changes."""
    new = page()
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != new:
        PAGE.write_text(new, encoding="utf-8")
        print(f"Wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
