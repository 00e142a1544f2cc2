"""Give graphmem the addresses that a process had: is its order of a step TensorFlow's, op by op, and its peak the same?

    python benchmarks/orders.py                          all cases of benchmarks/accuracy.py
    python benchmarks/orders.py stateful/mixed lstm --order deterministic
    python benchmarks/orders.py --jobs 4 --write docs/accuracy.md

Which order TensorFlow runs a step in depends on where in memory the edges of its graph lie, which differs from process
to process. Each case is measured in one process, in which a small library (benchmarks/edges.cc, compiled with g++)
stands in front of the function that makes edges and writes their addresses down. It knows the edges of TensorFlow 2.21.
The exit status is 1 if an order or a peak differs.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SECTION = "orders"

sys.path.insert(0, str(HERE.parent))

from benchmarks.case_list import Case, find_cases
from benchmarks.compare import percent
from benchmarks.record import INTRA_OP_THREADS, Replay, load, memory_events, op_events, prepare, profiled
from benchmarks.results import VARIANTS, mb, signed, write_section
from graphmem.runtime.edges import Arena


@dataclass(frozen=True)
class Row:
    """One case; sizes in bytes.

    Attributes:
        ops: how many ops the profiler saw.
        same: how many of them, from the first on, graphmem has in the same order; all if the orders are the same.
        others: ops of the step's graph that only the process ran: those of a branch that graphmem does not take.
        predicted, measured: the peak of the step.
    """

    name: str
    ops: int
    same: int
    others: int
    predicted: int
    measured: int

    @property
    def error(self) -> float:
        """Of the peak, in per cent."""
        return percent(self.predicted, self.measured)

    @property
    def exact(self) -> bool:
        """Whether order and peak are the same."""
        return self.same == self.ops and self.predicted == self.measured


class Recorded(Arena):
    """Addresses that edges had, by their ids."""

    def __init__(self, addresses: Sequence[int]) -> None:
        self._first, *self._others = addresses

    def addresses(self, numbers: list[int]) -> list[int]:
        """See `Arena`."""
        return [self._others[number] for number in numbers]


def main() -> int:
    """Print a line per case; returns the exit status."""
    given = _parser().parse_args()
    if given.measure:
        _measure(given.measure, given.order)
        return 0
    if given.compare:
        print(json.dumps(asdict(_compare(given.compare, find_cases(given.cases)[given.compare].target, given))))
        return 0
    cases = find_cases(given.cases)
    if unknown := set(given.names) - set(cases):
        sys.exit(f"no such case: {', '.join(sorted(unknown))}")
    chosen = [cases[name] for name in given.names] or list(cases.values())
    rows = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        library = _compiled(Path(folder))
        for row in pool.map(lambda case: _started(case, library, given), chosen):
            if row is None:
                continue
            rows.append(row)
            print(row_text(row), flush=True)
    if given.write:
        write_section(given.write, SECTION, markdown(rows))
    return 0 if len(rows) == len(chosen) and all(row.exact for row in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases; default: all")
    parser.add_argument("--cases", type=Path, default=HERE / "cases", help="file or folder of cases")
    parser.add_argument("--order", choices=["default", "deterministic"], default="default")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the results into a section of a page")
    parser.add_argument("--compare", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--library", help=argparse.SUPPRESS)
    parser.add_argument("--measure", metavar="TARGET", help=argparse.SUPPRESS)
    return parser


def _compiled(folder: Path) -> Path:
    made = folder / "edges.so"
    command = ["g++", "-O1", "-shared", "-fPIC", "-o", str(made), str(HERE / "edges.cc"), "-ldl"]
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError):
        sys.exit("benchmarks/edges.cc could not be compiled: a g++ is needed.")
    return made


def _started(case: Case, library: Path, given: argparse.Namespace) -> Row | None:
    """Compare one case in a process of its own."""
    command = [sys.executable, __file__, "--compare", case.name, "--library", str(library), "--order", given.order]
    done = subprocess.run([*command, "--cases", str(given.cases)], capture_output=True, text=True)
    if done.returncode:
        print(f"{case.name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr, flush=True)
        return None
    return Row(**json.loads(done.stdout.splitlines()[-1]))


def _measure(target: str, order: str) -> None:
    """Run the step and print which ops ran and what its peak was."""
    prepare(order)
    step, args = load(target)()
    step(*args)
    space = profiled(lambda: step(*args))
    replay = Replay()
    replay.run(memory_events(space))
    print(json.dumps({"ops": op_events(space), "peak": replay.peak}))


def _compare(name: str, target: str, given: argparse.Namespace) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "edges")
        command = [sys.executable, __file__, "--measure", target, "--order", given.order]
        environ = {**os.environ, "LD_PRELOAD": given.library, "EDGES": str(kept)}
        done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, check=True)
        measured = json.loads(done.stdout.splitlines()[-1])
        edges = kept.read_bytes()
    return _row(name, target, measured, edges, given.order)


def _row(name: str, target: str, measured: dict[str, Any], edges: bytes, order: str) -> Row:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import graphmem
    from graphmem.runtime.branches import Branches
    from graphmem.runtime.effects import effects
    from graphmem.runtime.executor import schedule
    from graphmem.runtime.liveness import lifetimes
    from graphmem.runtime.plan import make_plan
    from graphmem.runtime.simulate import timeline

    report = graphmem.analyze(target, device="cpu", threads=INTRA_OP_THREADS, orders=1)
    simulation = report.simulation
    assert simulation is not None
    graph, plan = simulation.graph, make_plan(simulation.graph)
    arena = Recorded(_addresses(edges, plan.edge_count + 1))
    made = schedule(plan, Branches(plan), policy=order, arena=arena)
    lives = lifetimes(graph, made, effects(graph, simulation.env))
    known = {f"{op.name}:{op.type}": index for index, op in enumerate(graph.ops)}
    theirs = [known[op] for op in measured["ops"] if op in known]
    seen, ran = set(theirs), set(made.ops)
    ours = [index for index in made.ops if index in seen]
    pairs = zip(theirs, ours, strict=False)
    same = next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(theirs), len(ours)))
    others = len(seen - ran)
    return Row(name, len(theirs), same, others, int(timeline(lives, len(made.ops)).max()), measured["peak"])


def _addresses(edges: bytes, count: int) -> list[int]:
    """The addresses of the last graph of so many edges: that of the step's executor."""
    graphs: dict[int, list[int]] = {}
    found: list[int] = []
    for graph, number, address in struct.iter_unpack("QQQ", edges):
        if number == 0:
            graphs[graph] = []
        graphs[graph].append(address)
        if len(graphs[graph]) == count:
            found = graphs[graph]
    if not found:
        sizes = sorted({len(each) for each in graphs.values()})[-4:]
        sys.exit(f"TensorFlow made no graph of {count} edges; the largest have {', '.join(map(str, sizes))}")
    return found


def row_text(row: Row) -> str:
    """One line."""
    order = "same order" if row.same == row.ops else f"differs at op {row.same}"
    if row.others:
        order += f", {row.others} ops of another branch"
    return (
        f"{row.name:32}{row.ops:>8} ops  {order:24}  predicted {mb(row.predicted):>8}  measured {mb(row.measured):>8}"
        f"{signed(row.error):>9}"
    )


def markdown(rows: Sequence[Row]) -> str:
    """A summary per variant, and a table of what differs."""
    lines = [
        "| steps | cases | ops | same order | same peak, to the byte | worst error |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for variant, title in [*VARIANTS.items(), (None, "all")]:
        chosen = [row for row in rows if variant in (None, row.name.partition("/")[2])]
        if not chosen:
            continue
        worst = max((row.error for row in chosen), key=abs)
        lines.append(
            f"| {title} | {len(chosen)} | {sum(row.ops for row in chosen):,} "
            f"| {sum(row.same == row.ops for row in chosen)} | {sum(row.predicted == row.measured for row in chosen)} "
            f"| {signed(worst)} |"
        )
    if differing := [row for row in rows if not row.exact]:
        lines += ["", "| differs | ops | in the same order | of another branch | predicted | measured | error |"]
        lines += ["|---|---:|---:|---:|---:|---:|---:|"]
        lines += [
            f"| {row.name} | {row.ops} | {row.same} | {row.others} | {mb(row.predicted)} | {mb(row.measured)} "
            f"| {signed(row.error)} |"
            for row in differing
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
