"""How long graphmem takes, beside what cannot be avoided: importing TensorFlow, building the model, tracing it.

    python benchmarks/speed.py                  everything
    python benchmarks/speed.py --runs 5 resnet50 --only whole
    python benchmarks/speed.py --max-ratio 1.6 --min-ops 50000 --max-saved 1.0      exit status 1 if exceeded

    python benchmarks/speed.py --only picture --trace gpt3.graphmem --max-picture 10

Four measurements: `whole` analyses against the floor (a script that only imports, builds and traces), in turns, as
other work on the machine comes and goes; a `saved` trace analysed anew; the part `after` the trace, and a `picture` of
the frontier after the analysis, on graphs that need no TensorFlow. Times are wall clock, with the processor time that
the process used in brackets.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CASES = ("resnet50", "transformer")
PARTS = ("whole", "saved", "after", "picture")

#: The user's own script: variables are made as always, nothing is hidden from TensorFlow but its GPUs.
FLOOR = """\
import time; start = time.perf_counter()
import speed_cases; imported = time.perf_counter()
step, args = speed_cases.{name}(); built = time.perf_counter()
step.get_concrete_function(*args); traced = time.perf_counter()
print(f"import {{imported - start:.1f}} s, build {{built - imported:.1f}} s, trace {{traced - built:.1f}} s")
"""


@dataclass(frozen=True)
class Run:
    """One process: wall clock and processor time (seconds), peak resident memory (bytes), and what it printed."""

    wall: float
    cpu: float
    rss: int
    stdout: str
    stderr: str


def run(*command: str) -> Run:
    """Run Python with these arguments, threads and oneDNN as in every other measurement here."""
    environ = dict(os.environ, TF_ENABLE_ONEDNN_OPTS="0", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        process = subprocess.Popen([sys.executable, *command], stdout=out, stderr=err, env=environ, cwd=HERE)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{err.read()}")
        return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, out.read(), err.read())


def whole(names: list[str], runs: int) -> list[float]:
    """Floor and analysis in turns; returns the ratio of the medians of their processor times for each case."""
    print(f"{'case':14}{'floor':>18}{'graphmem peak':>20}{'ratio (cpu)':>18}")
    ratios = []
    for name in names:
        floors, peaks = [], []
        for _ in range(runs):
            floors.append(run("-c", FLOOR.format(name=name)))
            peaks.append(run("-m", "graphmem", "peak", f"speed_cases.py:{name}", "-v"))
        floor, peak = _median(floors), _median(peaks)
        ratios.append(peak[1] / floor[1])
        print(f"{name:14}{_times(floor):>18}{_times(peak):>20}{peak[0] / floor[0]:>10.2f} ({ratios[-1]:.2f})")
        print(f"{'':14}floor: {floors[-1].stdout.strip()}; {floors[-1].rss / 2**20:.0f} MiB resident")
        print(f"{'':14}graphmem: {_phases(peaks[-1].stderr)}; {peaks[-1].rss / 2**20:.0f} MiB resident")
    return ratios


def _median(runs: list[Run]) -> tuple[float, float]:
    return statistics.median(r.wall for r in runs), statistics.median(r.cpu for r in runs)


def _times(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.2f} s ({pair[1]:.2f})"


def _phases(stderr: str) -> str:
    """What `-v` says of each phase, on one line."""
    lines = [line for line in stderr.splitlines() if line.startswith("graphmem: ") and line.endswith(" s")]
    return ", ".join(line.removeprefix("graphmem: ").replace(": ", " ") for line in lines)


def after(sizes: tuple[int, ...] = (25_000, 50_000, 100_000)) -> float:
    """The part after the trace on graphs of several sizes; returns the ops per second of the largest."""
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    from synthetic import decoder_graph

    from graphmem.render.text import as_text
    from graphmem.report.build import build_report
    from graphmem.runtime.simulate import simulate

    print(f"{'ops':>10}{'orders':>8}{'simulate':>12}{'report':>10}{'text':>10}{'ops/s':>12}   (processor time)")
    speed = 0.0
    for size in sizes:
        graph = decoder_graph(size)
        gc.disable()  # as `graphmem peak` does after the trace
        moments = [time.process_time()]
        simulation = simulate(graph)
        moments.append(time.process_time())
        report = build_report(simulation)
        moments.append(time.process_time())
        as_text(report)
        moments.append(time.process_time())
        simulating, reporting, printing = (b - a for a, b in itertools.pairwise(moments))
        speed = len(graph.ops) / (moments[-1] - moments[0])
        print(
            f"{len(graph.ops):>10,}{len(simulation.peaks):>8}{simulating:>10.2f} s{reporting:>8.2f} s"
            f"{printing:>8.2f} s{speed:>12,.0f}"
        )
    return speed


def saved(name: str, runs: int) -> tuple[float, bool]:
    """A saved trace analysed and printed: seconds of processor time, and whether TensorFlow was imported for it."""
    with tempfile.TemporaryDirectory() as folder:
        trace = str(Path(folder, f"{name}.graphmem"))
        run("-m", "graphmem", "peak", f"speed_cases.py:{name}", "-o", trace)
        size = Path(trace).stat().st_size
        done = [run("-m", "graphmem", "peak", trace) for _ in range(runs)]
        imports = run("-X", "importtime", "-m", "graphmem", "peak", trace).stderr
    imported = any(line.split("|")[-1].strip() == "tensorflow" for line in imports.splitlines())
    median = _median(done)
    print(f"saved trace of {name} ({size / 2**20:.2f} MiB): {_times(median)}, ", end="")
    print(f"{'with' if imported else 'without'} TensorFlow, {done[-1].rss / 2**20:.0f} MiB resident")
    return median[1], imported


def picture(traces: list[str]) -> float:
    """The largest frontier of a synthetic step and of saved traces; returns the most seconds that one takes."""
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    from synthetic import decoder_graph

    from graphmem.graph.store import load_trace
    from graphmem.render.engines import render_dot
    from graphmem.render.frontier import MOST, frontier_dot
    from graphmem.report.build import build_report
    from graphmem.runtime.simulate import simulate

    most = 0.0
    print(f"{'frontier of':30}{'ops':>10}{'alive':>10}{'direction':>12}{'nodes':>8}{'to SVG':>10}   (wall clock)")
    for name in ("synthetic", *traces):
        graph = decoder_graph(100_000) if name == "synthetic" else load_trace(name)
        report = build_report(simulate(graph))
        for direction in ("lr", "tb"):
            start = time.perf_counter()
            dot = frontier_dot(report, top=MOST, direction=direction)
            render_dot(dot, "svg")
            seconds = time.perf_counter() - start
            most = max(most, seconds)
            nodes = len(re.findall(r"^  (?!graph|node|edge)\w+ \[", dot, re.MULTILINE))
            counts = f"{len(graph.ops):>10,}{len(report.frontier):>10,}{direction:>12}{nodes:>8}"
            print(f"{Path(name).name:30}{counts}{seconds:>8.2f} s")
    return most


def main() -> int:
    """Measure what is asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; default: both")
    parser.add_argument("--only", choices=PARTS, action="append", help="one measurement; repeatable")
    parser.add_argument("--runs", type=int, default=3, help="processes of each kind; the median counts")
    parser.add_argument("--max-ratio", type=float, help="largest ratio of analysis to floor (processor time)")
    parser.add_argument("--min-ops", type=float, help="fewest ops per second after the trace")
    parser.add_argument("--max-saved", type=float, help="most seconds for a saved trace (processor time)")
    parser.add_argument("--trace", action="append", default=[], help="a saved trace to draw as well; repeatable")
    parser.add_argument("--max-picture", type=float, help="most seconds for a picture after the analysis")
    given = parser.parse_args()
    names, parts = given.names or list(CASES), given.only or list(PARTS)
    if unknown := set(names) - set(CASES):
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    failures = []
    if "whole" in parts:
        for name, ratio in zip(names, whole(names, given.runs), strict=True):
            if given.max_ratio and ratio > given.max_ratio:
                failures.append(f"{name} takes {ratio:.2f} times the floor, more than {given.max_ratio:g}.")
    if "saved" in parts:
        for name in names:
            seconds, imported = saved(name, given.runs)
            if given.max_saved and seconds > given.max_saved:
                failures.append(f"The saved trace of {name} took {seconds:.2f} s, more than {given.max_saved:g} s.")
            if imported:
                failures.append(f"TensorFlow was imported for the saved trace of {name}.")
    if "after" in parts:
        speed = after()
        if given.min_ops and speed < given.min_ops:
            failures.append(f"{speed:,.0f} ops/s after the trace are fewer than {given.min_ops:,.0f}.")
    if "picture" in parts:
        seconds = picture(given.trace)
        if given.max_picture and seconds > given.max_picture:
            failures.append(f"A picture took {seconds:.2f} s, more than {given.max_picture:g} s.")
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
