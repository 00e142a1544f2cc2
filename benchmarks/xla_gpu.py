"""Compare what graphmem says of modules that XLA compiles for a GPU with what JAX does on a machine that has one.

    python benchmarks/xla_gpu.py run                      all modules, on a machine with a GPU and JAX; no TensorFlow
    python benchmarks/xla_gpu.py run --write docs/accuracy.md mlp lstm
    python benchmarks/xla_gpu.py export                   make the modules anew; needs TensorFlow, no GPU

The modules are training steps of the models in benchmarks/xla_models.py, batch 16. JAX compiles and runs each twice,
with autotuning, its default, and without, as graphmem has it compiled. The exit status of `run` is 1 if temporary
memory or results without autotuning are not predicted to the byte.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MODULES, ENDING, SECTION = HERE / "xla_modules", ".hlo.pb.gz", "xla-gpu"
BATCH, MOST_BYTES = 16, 200_000
OFF = "--xla_gpu_autotune_level=0"

sys.path.insert(0, str(HERE.parent))

from benchmarks.results import mb, signed, write_section
from graphmem.errors import GraphmemError


@dataclass(frozen=True)
class Row:
    """One module with autotuning on or off; sizes in bytes, a `None`: not known.

    Attributes:
        temp, output, peak: temporary memory, results, and all in use while it runs: predicted.
        temp_measured, output_measured, peak_measured: of JAX.
    """

    name: str
    autotuned: bool
    temp: int
    output: int
    peak: int
    temp_measured: int
    output_measured: int
    peak_measured: int | None

    @property
    def exact(self) -> bool:
        """Whether temporary memory and results are predicted to the byte."""
        return (self.temp, self.output) == (self.temp_measured, self.output_measured)


def row_of(name: str, autotuned: bool, predicted: Mapping[str, int], measured: Mapping[str, Any]) -> Row:
    """A prediction beside a measurement."""
    peak = predicted["arguments"] + predicted["output"] + predicted["temp"]
    return Row(
        name, autotuned, predicted["temp"], predicted["output"], peak,
        measured["temp"], measured["output"], measured["peak"],
    )  # fmt: skip


def markdown(rows: Sequence[Row], device: str, jax: str) -> str:
    """The table."""
    lines = [
        f"{device}, JAX {jax}, training steps of batch {BATCH}, in MB (millions of bytes). The peak is all that is in"
        " use while the module runs, parameters included; a dash: compiling took more.",
        "",
        "| module | autotuning | temporary: predicted | measured | error | results | peak: predicted | measured"
        " | error |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        results = "exact"
        if row.output != row.output_measured:
            results = f"{row.output:,} B instead of {row.output_measured:,} B"
        peak = "–" if row.peak_measured is None else mb(row.peak_measured)
        lines.append(
            f"| {row.name} | {'on' if row.autotuned else 'off'} | {mb(row.temp)} | {mb(row.temp_measured)} |"
            f" {signed(_error(row.temp, row.temp_measured))} | {results} | {mb(row.peak)} | {peak} |"
            f" {signed(_error(row.peak, row.peak_measured))} |"
        )
    return "\n".join(lines) + "\n"


def _error(predicted: int, measured: int | None) -> float | None:
    """In per cent; `None` where there is nothing to compare with."""
    return 100 * (predicted / measured - 1) if measured else None


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit status."""
    given = _parser().parse_args(argv)
    if given.verb == "export":
        return _export(given.models)
    found = {path.name.removesuffix(ENDING): path for path in sorted(MODULES.glob(f"*{ENDING}"))}
    _known(given.models, found)
    rows, device, jax = [], "", ""
    for name in given.models or found:
        measured = {autotuned: measure(found[name], autotuned) for autotuned in (False, True)}
        device, jax = measured[False]["device"], measured[False]["jax"]
        predicted = predict(found[name], given.card or device)
        rows += [row_of(name, autotuned, predicted, measured[autotuned]) for autotuned in (False, True)]
    text = markdown(rows, device, jax)
    print(text)
    if given.write:
        write_section(given.write, SECTION, text)
    return 0 if all(row.exact for row in rows if not row.autotuned) else 1


def measure(module: Path, autotuned: bool) -> dict[str, Any]:
    """What JAX does with a module, in a process of its own: see `benchmarks/xla_jax.py`."""
    said = os.environ.get("XLA_FLAGS", "")
    environment = {**os.environ, "XLA_FLAGS": said if autotuned else f"{said} {OFF}".strip()}
    environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    command = [sys.executable, str(HERE / "xla_jax.py"), str(module)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"JAX could not run {module.name}: {done.stderr.strip().splitlines()[-1]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def predict(module: Path, card: str) -> dict[str, int]:
    """What graphmem says of a module on a card: bytes of temporary memory, results and parameters."""
    from graphmem.xla.allocations import OUTPUT, PARAMETER, TEMP, read_assignment
    from graphmem.xla.cards import find_gpu
    from graphmem.xla.compiler import compile_gpu
    from graphmem.xla.proto import parse

    try:
        compiled = compile_gpu(gzip.decompress(module.read_bytes()), find_gpu(card))
    except GraphmemError as error:
        sys.exit(f"{module.name}: {error}")
    assignment = read_assignment(parse(compiled.proto).buffer_assignment)
    kinds = {"temp": TEMP, "output": OUTPUT, "arguments": PARAMETER}
    return {name: assignment.total(kind) for name, kind in kinds.items()}


def _export(names: Sequence[str]) -> int:
    from benchmarks.case_list import find_cases

    cases = find_cases(HERE / "xla_models.py")
    _known(names, cases)
    MODULES.mkdir(exist_ok=True)
    for name in names or cases:
        content = gzip.compress(hlo_of_target(cases[name].target), mtime=0)
        if len(content) > MOST_BYTES:
            sys.exit(f"{name} has {len(content):,} bytes, more than {MOST_BYTES:,}: make the model smaller.")
        (MODULES / f"{name}{ENDING}").write_bytes(content)
        print(f"{name}: {len(content):,} bytes")
    return 0


def hlo_of_target(target: str) -> bytes:
    """The module of a target's step, without the names of source files."""
    from graphmem.api import tracing
    from graphmem.target.step import Options
    from graphmem.xla.proto import parse_module

    with tracing():
        from graphmem.target.resolve import resolve
        from graphmem.trace.hlo import hlo_of

        module = parse_module(hlo_of(resolve(target, Options(batch=BATCH)).for_xla()).hlo)
    for computation in module.computations:
        for instruction in computation.instructions:
            instruction.metadata.source_file, instruction.metadata.source_line = "", 0
    return bytes(module.SerializeToString(deterministic=True))


def _known(names: Sequence[str], known: Mapping[str, Any]) -> None:
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"There is no {', '.join(unknown)}; there are {', '.join(known)}.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", help="compare on this machine's GPU")
    run.add_argument("models", nargs="*", metavar="MODULE")
    run.add_argument("--card", help="the card that graphmem compiles for; default: the name that JAX tells")
    run.add_argument("--write", type=Path, metavar="PAGE")
    export = verbs.add_parser("export", help="make the modules anew")
    export.add_argument("models", nargs="*", metavar="MODEL")
    return parser


if __name__ == "__main__":
    sys.exit(main())
