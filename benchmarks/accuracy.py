"""Compare what graphmem says of a step with what TensorFlow's allocator does when the step runs.

    python benchmarks/accuracy.py                        all cases here against benchmarks/measured.json
    python benchmarks/accuracy.py lstm --explain         one of them, and which tensors differ at the peak
    python benchmarks/accuracy.py --record 3 lstm        measure it anew first, in three processes
    python benchmarks/accuracy.py --cases FILE --measured JSON

A case is a function without arguments in a Python file (or in the files of a folder) that returns `(step, args)`. Each
is analysed as a user would, by `graphmem peak FILE:NAME --json` in a process of its own. The exit status is 1 if a
threshold is exceeded.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Print the table; returns the exit status."""
    given = _parser().parse_args()
    cases = find_cases(given.cases)
    measured = json.loads(given.measured.read_text()) if given.measured.exists() else {}
    names = given.names or [name for name in cases if given.record or name in measured]
    if missing := [name for name in names if name not in cases or not (given.record or name in measured)]:
        sys.exit(f"no such case, or no measurement of it: {', '.join(missing)}")
    rows = []
    for name in names:
        if given.record:
            measured[name] = record(cases[name], name, given.record)
            given.measured.write_text(json.dumps(measured, indent=1) + "\n")
        report = predict(cases[name], name, given.threads)
        row = compare(name, report, measured[name]["default"], given.widen)
        rows.append(row)
        if not given.json:
            print(HEAD if len(rows) == 1 else "", row_text(row), sep="\n" if len(rows) == 1 else "", flush=True)
            if given.explain:
                print(explanation(report, measured[name]["default"]))
    failures = judge(rows, given)
    print(json.dumps({"rows": [asdict(row) for row in rows], "failures": failures}) if given.json else summary(rows))
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    path, environ = Path, os.environ
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases; default: all that were measured")
    parser.add_argument(
        "--cases", type=path, default=environ.get("GRAPHMEM_CASES", HERE / "cases"), help="file or folder of cases"
    )
    parser.add_argument(
        "--measured", type=path, default=environ.get("GRAPHMEM_MEASURED", HERE / "measured.json"), help="measurements"
    )
    parser.add_argument("--record", type=int, metavar="N", help="first measure each case in N processes")
    parser.add_argument("--threads", type=int, default=2, help="intra-op threads of the measurements")
    parser.add_argument("--widen", type=float, default=3.0, help="percent by which the predicted range is widened")
    parser.add_argument("--max-median", type=float, default=2.0, help="largest median |error| allowed, in percent")
    parser.add_argument("--max-worst", type=float, default=8.0, help="largest |error| allowed, in percent")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="NAME=PERCENT", help="another largest |error|, for one case"
    )
    parser.add_argument("--explain", action="store_true", help="list the tensors that differ at the peak")
    parser.add_argument("--json", action="store_true")
    return parser


def find_cases(where: Path) -> dict[str, Path]:
    """Name of a case -> its file: the functions of a file, or of a folder's files, whose name has no leading `_`."""
    files = sorted(where.glob("[!_]*.py")) if where.is_dir() else [where]
    found: dict[str, Path] = {}
    for file in files:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                if node.name in found:
                    sys.exit(f"{node.name} is in {found[node.name]} and in {file}: give it another name.")
                found[node.name] = file
    return found


def predict(file: Path, name: str, threads: int) -> dict[str, Any]:
    """The report of `graphmem peak`, in a process of its own."""
    command = [sys.executable, "-m", "graphmem", "peak", f"{file}:{name}", "--device", "cpu", "--json"]
    environ = dict(os.environ, TF_ENABLE_ONEDNN_OPTS="0")
    done = subprocess.run(
        [*command, "--threads", str(threads)], env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"graphmem could not analyse {name} (exit status {done.returncode}):\n{done.stderr}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def record(file: Path, name: str, count: int) -> dict[str, Any]:
    """Measure a case in several processes, as the order of ops may differ between them."""
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run.json")
        for _ in range(count):
            command = [sys.executable, str(HERE / "record.py"), f"{file}:{name}", "-o", str(out)]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            runs.append(json.loads(out.read_text()))
    return merged(runs)


def merged(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The measurements of one case as they are kept: what was alive at the peak only of the middle one."""
    versions = {run.pop("tensorflow") for run in runs}
    runs.sort(key=lambda run: run["step_peak_bytes"])
    for index, run in enumerate(runs):
        if index != (len(runs) - 1) // 2:
            del run["top"]
    return {"tensorflow": ", ".join(sorted(versions)), "default": runs}


@dataclass(frozen=True)
class Row:
    """One case; sizes in bytes, `error` in percent of the median measurement.

    Attributes:
        inside: whether every measurement lies in the predicted range, widened.
        exact: whether the bytes of variables and of arguments are predicted to the byte.
    """

    name: str
    predicted: int
    median: int
    lowest: int
    highest: int
    error: float
    low: int
    high: int
    inside: bool
    exact: bool
    at_least: bool


def compare(name: str, report: dict[str, Any], runs: list[dict[str, Any]], widen: float) -> Row:
    """A report beside the measurements; `widen` in percent."""
    peaks = sorted(run["step_peak_bytes"] for run in runs)
    median, predicted = int(statistics.median(peaks)), report["step_peak_bytes"]
    low, high = report["step_peak_range_bytes"]
    return Row(
        name=name,
        predicted=predicted,
        median=median,
        lowest=peaks[0],
        highest=peaks[-1],
        error=100 * (predicted / median - 1),
        low=low,
        high=high,
        inside=low * (1 - widen / 100) <= peaks[0] and peaks[-1] <= high * (1 + widen / 100),
        exact=all(report[key] == run[key] for run in runs for key in ("variables_bytes", "argument_bytes")),
        at_least=report["at_least"],
    )


HEAD = f"{'case':24}{'predicted':>10}{'measured':>10}{'(lowest – highest)':>20}{'error':>9}{'range':>20}  inside exact"


def row_text(row: Row) -> str:
    """One line of the table; MB are millions of bytes."""
    measured = f"({_mb(row.lowest)} – {_mb(row.highest)})"
    predicted = f"{_mb(row.low)} – {_mb(row.high)}"
    marks = f"{_yes(row.inside):>8}{_yes(row.exact):>6}{'  at least' if row.at_least else ''}"
    return (
        f"{row.name:24}{_mb(row.predicted):>10}{_mb(row.median):>10}{measured:>20}{row.error:>+8.2f}%"
        f"{predicted:>20}{marks}"
    )


def _mb(nbytes: int) -> str:
    return f"{nbytes / 1e6:.1f}" if nbytes >= 10_000_000 else f"{nbytes / 1e6:.3f}"


def _yes(value: bool) -> str:
    return "yes" if value else "NO"


def summary(rows: list[Row]) -> str:
    """Median and worst error."""
    if not rows:
        return "no cases"
    errors = [abs(row.error) for row in rows]
    worst = max(rows, key=lambda row: abs(row.error))
    inside = sum(row.inside for row in rows)
    return (
        f"\n{len(rows)} cases (MB): median |error| {statistics.median(errors):.2f} %, worst {worst.error:+.2f} % "
        f"({worst.name}); {inside} with all measurements inside the range"
    )


def judge(rows: list[Row], given: argparse.Namespace) -> list[str]:
    """What exceeds the thresholds, one sentence each."""
    allowed = {name: float(percent) for name, _, percent in (item.partition("=") for item in given.allow)}
    strict = [row for row in rows if row.name not in allowed]
    failures = []
    if strict and (median := statistics.median(abs(row.error) for row in strict)) > given.max_median:
        failures.append(f"The median |error| is {median:.2f} %, more than {given.max_median:g} %.")
    for row in rows:
        most = allowed.get(row.name, given.max_worst)
        if abs(row.error) > most:
            failures.append(f"{row.name} is off by {row.error:+.2f} %, more than {most:g} %.")
        if not row.inside and row.name not in allowed:
            failures.append(f"{row.name} was measured outside of the predicted range.")
        if not row.exact:
            failures.append(f"{row.name}: the bytes of its variables or arguments are wrong.")
    return failures


def explanation(report: dict[str, Any], runs: list[dict[str, Any]], least: float = 0.005) -> str:
    """The tensors of at least `least` of the peak that only the measurement or only graphmem has alive there."""
    run = next(run for run in runs if "top" in run)
    floor = least * run["step_peak_bytes"]
    if sum(size for size, *_ in run["top"]) < run["step_peak_bytes"]:  # the list ends somewhere: look above that
        floor = max(floor, run["top"][-1][0] + 1)
    measured = [(size, f"{op} {kind}") for size, op, kind, _ in run["top"] if size >= floor]
    predicted = [(row["bytes"], f"{row['tensor']} ({row['made_by']})") for row in report["frontier"]]
    predicted = [pair for pair in predicted if pair[0] >= floor]
    lines = [f"    at the peak: measured {run['peak_op']}, predicted {report['peak']['op']}"]
    for sign, these, others in (("measured only", measured, predicted), ("predicted only", predicted, measured)):
        spare = Counter(size for size, _ in others)
        named = Counter((size, _bare(text)) for size, text in others)
        left = []
        for size, text in these:
            if named[size, _bare(text)]:
                named[size, _bare(text)] -= 1
                spare[size] -= 1
            else:
                left.append((size, text))
        for size, text in left:
            if spare[size] > 0:
                spare[size] -= 1
            else:
                lines.append(f"    {sign:15}{_mb(size):>9}  {text}")
    return "\n".join(lines)


def _bare(text: str) -> str:
    """The op's name without the output's number or its kind."""
    return text.split(" ")[0].split(":")[0]


if __name__ == "__main__":
    sys.exit(main())
