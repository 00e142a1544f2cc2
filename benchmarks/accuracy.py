"""Compare what graphmem says of a step with what TensorFlow's allocator does when the step runs.

    python benchmarks/accuracy.py                        all cases here against benchmarks/measured.json
    python benchmarks/accuracy.py lstm --explain         one of them, and which tensors differ at the peak
    python benchmarks/accuracy.py --record 3 lstm        measure it anew first, in three processes
    python benchmarks/accuracy.py --write docs/accuracy.md
    python benchmarks/accuracy.py --cases FILE --measured JSON

A case is a function without arguments in a Python file (or in the files of a folder) that returns `(step, args)`; the
cases here come in variants: NAME, NAME/predict, NAME/mixed, NAME/predict+mixed. A name stands for all its variants. The
exit status is 1 if a limit is exceeded.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TOGETHER = 12
"""Cases that are measured before the measurements are saved."""

sys.path.insert(0, str(HERE.parent))

from benchmarks.case_list import Case, find_cases
from benchmarks.compare import Limits, Row, compare, explanation, judge
from benchmarks.results import HEAD, markdown, row_text, verdict_text, write_section


def main() -> int:
    """Print the table; returns the exit status."""
    given = _parser().parse_args()
    cases = find_cases(given.cases)
    measured = json.loads(given.measured.read_text()) if given.measured.exists() else {}
    chosen = _chosen(given, cases, measured)
    for start in range(0, len(chosen) if given.record else 0, TOGETHER):
        record(chosen[start : start + TOGETHER], given.record, given.measured, measured)
    limits = Limits(**{field.name: getattr(given, field.name) for field in fields(Limits)})
    rows = list(_rows([case for case in chosen if case.name in measured], measured, limits, given))
    verdicts = judge(rows, limits) if rows else []
    if given.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "limits": [asdict(each) for each in verdicts]}))
    else:
        print(f"\n{len(rows)} cases (MB)", verdict_text(verdicts), sep="\n")
    if given.write:
        write_section(given.write, given.section, markdown(rows, verdicts))
    return 0 if len(rows) == len(chosen) and all(verdict.passed for verdict in verdicts) else 1


def _rows(cases: Sequence[Case], measured: dict[str, Any], limits: Limits, given: argparse.Namespace) -> Iterator[Row]:
    """Predict each case and compare it, printing a line of the table; what cannot be analysed has a line on stderr."""
    settled = any("deterministic" in measured[case.name] for case in cases)
    options = ["--threads", str(given.threads), *(["--deterministic"] if settled else [])]
    if not given.json:
        print(HEAD, flush=True)
    for case, reports in zip(cases, _lines("predict.py", options, cases), strict=True):
        if "error" in reports:
            print(f"{case.name} could not be analysed: {reports['error']}", file=sys.stderr, flush=True)
            continue
        row = compare(case.name, reports, measured[case.name], limits.widen)
        if not given.json:
            print(row_text(row), flush=True)
            if given.explain:
                print(explanation(reports["default"], measured[case.name]["default"]), flush=True)
        yield row


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
    parser.add_argument("--new", action="store_true", help="only cases that were never measured")
    parser.add_argument(
        "--variant", action="append", metavar="NAME", help="only train, predict, mixed or predict+mixed; repeatable"
    )
    parser.add_argument("--threads", type=int, default=2, help="intra-op threads of the measurements")
    for field in fields(Limits):
        option = f"--{field.name.replace('_', '-')}"
        parser.add_argument(option, type=float, default=field.default, metavar="PERCENT", help="default: %(default)s")
    parser.add_argument("--explain", action="store_true", help="list the tensors that differ at the peak")
    parser.add_argument("--write", type=path, metavar="PAGE", help="write the results into a section of a page")
    parser.add_argument("--section", default="results", help="the section's name")
    parser.add_argument("--json", action="store_true")
    return parser


def _chosen(given: argparse.Namespace, cases: dict[str, Case], measured: dict[str, Any]) -> list[Case]:
    """The cases that the command line asks for: by name, by name before the slash, or all that can be compared."""
    names = set(given.names)
    if unknown := names - set(cases) - {name.partition("/")[0] for name in cases}:
        sys.exit(f"no such case: {', '.join(sorted(unknown))}")
    found = [case for name, case in cases.items() if not names or {name, name.partition("/")[0]} & names]
    if given.variant:
        found = [case for case in found if (case.variant or "train") in given.variant]
    if given.new:
        found = [case for case in found if case.name not in measured]
    if not given.record:
        if names and (missing := [case.name for case in found if case.name not in measured]):
            sys.exit(f"not measured: {', '.join(missing)}; pass --record 3")
        found = [case for case in found if case.name in measured]
    return found or sys.exit("no cases")


def _lines(script: str, options: Sequence[str], cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    """The line of JSON that a script of this folder prints per case."""
    if not cases:
        return
    command = [sys.executable, str(HERE / script), *options, *(case.target for case in cases)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        yield from map(json.loads, running.stdout)
    if running.returncode:
        sys.exit(f"{script} ended with status {running.returncode}")


def record(cases: Sequence[Case], count: int, kept: Path, measured: dict[str, Any]) -> None:
    """Measure cases in several processes, as the order of ops may differ between them, and once in settled order."""
    runs: dict[str, list[dict[str, Any]]] = {case.name: [] for case in cases}
    for number in range(count):
        cases = [case for case in cases if case.name in runs]
        for case, run in zip(cases, _lines("record.py", [], cases), strict=True):
            if "error" in run:
                print(f"{case.name} could not be measured: {run['error']}", file=sys.stderr, flush=True)
                del runs[case.name]
                continue
            runs[case.name].append(run)
            print(f"{case.name}: {number + 1} of {count}, {run['step_peak_bytes']:,} B", file=sys.stderr, flush=True)
    cases = [case for case in cases if case.name in runs]
    for case, run in zip(cases, _lines("record.py", ["--order", "deterministic"], cases), strict=True):
        measured[case.name] = merged(runs[case.name], run)
    save(measured, kept)


def merged(runs: list[dict[str, Any]], settled: dict[str, Any]) -> dict[str, Any]:
    """The measurements of one case as they are kept: what was alive at the peak only of the middle one."""
    versions = {run.pop("tensorflow") for run in (*runs, settled)}
    runs.sort(key=lambda run: run["step_peak_bytes"])
    for index, run in enumerate(runs):
        if index != (len(runs) - 1) // 2:
            del run["top"]
    del settled["top"]
    return {"tensorflow": ", ".join(sorted(versions)), "default": runs, "deterministic": settled}


def save(measured: dict[str, Any], kept: Path) -> None:
    """Write the measurements, one line per run."""
    cases = []
    for name, one in sorted(measured.items()):
        runs = ",\n  ".join(json.dumps(run) for run in one["default"])
        settled = f',\n "deterministic": {json.dumps(one["deterministic"])}' if "deterministic" in one else ""
        cases.append(
            f'{json.dumps(name)}: {{"tensorflow": {json.dumps(one["tensorflow"])}, "default": [\n  {runs}]{settled}}}'
        )
    written = kept.with_name(kept.name + ".new")
    written.write_text("{\n" + ",\n".join(cases) + "\n}\n")
    os.replace(written, kept)


if __name__ == "__main__":
    sys.exit(main())
