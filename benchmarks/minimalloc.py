"""The most bytes alive at one time in instances of minimalloc, beside the capacity that each is known to fit.

    python benchmarks/minimalloc.py FOLDER

FOLDER has instances whose names end in their capacity, such as `benchmarks/challenging` of
https://github.com/google/minimalloc. The exit status is 1 if one needs more than its capacity: no placement could fit.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from graphmem.graph.lifetimes_csv import peak_of, read_lifetimes


def main() -> int:
    """Print a row for each instance; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    worst = 0.0
    print("| instance | buffers | most alive (B) | capacity (B) | of it |\n|---|---|---|---|---|")
    for path in sorted(given.folder.glob("*.csv")):
        name, capacity = path.stem.rsplit(".", 1)
        rows = read_lifetimes(path.read_text())
        peak = peak_of(rows)
        worst = max(worst, peak / int(capacity))
        print(f"| {name} | {len(rows)} | {peak:,} | {int(capacity):,} | {peak / int(capacity):.1%} |")
    return int(worst > 1)


if __name__ == "__main__":
    sys.exit(main())
