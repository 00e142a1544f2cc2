"""Compare what graphmem says of steps that XLA compiles for the CPU with what they ask TensorFlow's allocator for.

    python benchmarks/xla_cpu.py                          the eight models of benchmarks/xla_models.py
    python benchmarks/xla_cpu.py lstm unet --runs 3
    python benchmarks/xla_cpu.py --write docs/accuracy.md write the table below "XLA on the CPU"

Each step is run in a process of its own, as `graphmem verify --runtime xla` does. The exit status is 1 if a step peak,
or what the allocator has in use, is off by more than `--limit` per cent.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODELS, SECTION = HERE / "xla_models.py", "xla-cpu"

sys.path.insert(0, str(HERE.parent))

from benchmarks.case_list import find_cases
from benchmarks.compare import percent
from benchmarks.results import mb, signed, write_section
from graphmem.measure.result import Verification
from graphmem.runtime.replay import Allocation


@dataclass(frozen=True)
class Row:
    """One model; sizes in bytes.

    Attributes:
        predicted, measured: what the step asks the allocator for.
        blocks, matched: how many blocks were measured, and how many of them were predicted, to the byte.
        in_use, in_use_measured: what the allocator has in use at its peak. What it had in use before the step is taken
            from the measurement, so that it is the step that is compared.
    """

    name: str
    predicted: int
    measured: int
    blocks: int
    matched: int
    in_use: int
    in_use_measured: int

    @property
    def error(self) -> float:
        """Of the step peak, in per cent."""
        return percent(self.predicted, self.measured)

    @property
    def in_use_error(self) -> float:
        """Of what the allocator has in use, in per cent."""
        return percent(self.in_use, self.in_use_measured)


def row_of(name: str, found: Verification, allocation: Allocation) -> Row:
    """The row of a verified step, and of what the allocator is predicted to make of it."""
    run = found.runs[found.tensors.run]
    return Row(
        name,
        found.step_peak.predicted_bytes,
        found.step_peak.measured_bytes,
        found.tensors.measured,
        found.tensors.matched,
        run.in_use_before_bytes + allocation.peak.bytes_in_use - allocation.base_bytes,
        run.in_use_peak_bytes,
    )


def main() -> int:
    """Print the table; returns the exit status."""
    given = _parser().parse_args()
    cases = find_cases(MODELS)
    unknown = set(given.models) - set(cases)
    if unknown:
        sys.exit(f"There is no {', '.join(sorted(unknown))}: the models are {', '.join(cases)}.")
    rows = [row_of(name, *_verified(cases[name].target, given)) for name in given.models or cases]
    text = markdown(rows, given.batch)
    print(text)
    if given.write:
        write_section(given.write, SECTION, text)
    return 0 if all(max(abs(row.error), abs(row.in_use_error)) <= given.limit for row in rows) else 1


def markdown(rows: Sequence[Row], batch: int) -> str:
    """The table."""
    lines = [
        f"Training steps of batch {batch}, Adam, in MB (millions of bytes).",
        "",
        "| model | predicted | measured | error | blocks, of which predicted to the byte | allocator's error |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.name} | {mb(row.predicted)} | {mb(row.measured)} | {signed(row.error)} | {row.blocks}, {row.matched} |"
        f" {signed(row.in_use_error)} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _verified(target: str, given: argparse.Namespace) -> tuple[Verification, Allocation]:
    from graphmem.api import analyze_target
    from graphmem.measure.machine import free_bytes
    from graphmem.measure.verify import Effort, verify
    from graphmem.runtime.bfc import Bfc
    from graphmem.runtime.replay_compiled import replay_compiled
    from graphmem.settings import Settings
    from graphmem.target.step import Options

    options = Options(batch=given.batch)
    settings = Settings(device="cpu", runtime="xla", threads=given.threads)
    print(f"{target.rpartition(':')[2]} …", file=sys.stderr, flush=True)
    report = analyze_target(target, options, settings)
    found = verify(report, target, options, settings, Effort(runs=given.runs), free_bytes())
    assert report.simulation is not None  # as it was just made
    return found, replay_compiled(report.simulation, Bfc())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--runs", type=int, default=1, help="processes per model")
    parser.add_argument("--threads", type=int, default=2, help="intra-op threads")
    parser.add_argument("--limit", type=float, default=1.0, metavar="PERCENT")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    return parser


if __name__ == "__main__":
    sys.exit(main())
