"""Which op types Keras's catalogues make, and whether graphmem knows them.

    python benchmarks/catalogue.py [--json] [--only ops layers losses metrics optimizers applications]

Traces training, test and predict steps of everything public in `keras.layers`, `keras.ops`, `keras.losses`,
`keras.metrics`, `keras.optimizers` and `keras.applications`, without running anything, and collects the op types of the
graphs that TensorFlow would execute on a CPU. The exit status is 1 if one of them is not in the table of ops, or if
something public was not traced.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

@dataclass
class Findings:
    """What tracing showed.

    Attributes:
        met: op type -> the entries that made it.
        entries: catalogue -> how many entries were traced.
        failed: entry -> why it was not traced.
        skipped: public name -> why it has no entry.
        missing: public names without an entry or a reason.
    """

    met: dict[str, list[str]] = field(default_factory=dict)
    entries: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def unknown(self) -> dict[str, list[str]]:
        """Op types without a row in the table -> the entries that made them."""
        from graphmem.ops.registry import lookup

        return {name: made for name, made in self.met.items() if lookup(name) is None}


def collect(
    entries: Iterable[Any], progress: Callable[[str], None] = lambda text: None, steps: int | None = None
) -> Findings:
    """Trace entries and note the op types of their graphs: of all their steps, or of the first ones only."""
    from graphmem.errors import GraphmemError
    from graphmem.target.weightless import weightless
    from graphmem.trace import environment
    from graphmem.trace.tracer import trace

    environment.prepare()
    warnings.filterwarnings("ignore", category=UserWarning, module="keras")
    found = Findings()
    for entry in entries:
        name = f"{entry.catalogue}.{entry.name}"
        progress(name)
        types: set[str] = set()
        try:
            with weightless():
                for step in itertools.islice(entry.make(), steps):
                    types |= {op.type for op in trace(step).ops}
        except (GraphmemError, ImportError, TypeError, ValueError) as error:
            found.failed[name] = " ".join(str(error).split())[:200]
            continue
        found.entries[entry.catalogue] = found.entries.get(entry.catalogue, 0) + 1
        for op_type in types:
            found.met.setdefault(op_type, []).append(name)
    found.met = dict(sorted(found.met.items()))
    return found


@dataclass(frozen=True)
class Catalogue:
    """One of Keras's catalogues.

    Attributes:
        module: the public module.
        entries: what is traced, made when asked for.
        skipped: public name -> why it has no entry.
        same: public names that another entry stands for.
    """

    module: Any
    entries: Callable[[], Iterator[Any]]
    skipped: dict[str, str]
    same: frozenset[str] = frozenset()

    def missing(self) -> list[str]:
        """Public names that have neither an entry nor a reason."""
        covered = {entry.name for entry in self.entries()} | self.skipped.keys() | self.same
        return [name for name in sorted(dir(self.module)) if not name.startswith("_") and name not in covered]


def catalogues() -> dict[str, Catalogue]:
    """All of them, by the last part of their names."""
    import inspect

    import keras

    from benchmarks.keras_catalogue import applications, layers, ops, training

    modules = {name for name, value in vars(keras.applications).items() if inspect.ismodule(value)}
    relatives = [name for names in applications.SAME_FAMILY.values() for name in names]
    return {
        "layers": Catalogue(keras.layers, layers.entries, layers.SKIPPED, frozenset(layers.ALIASES)),
        "ops": Catalogue(keras.ops, ops.entries, ops.SKIPPED),
        "losses": Catalogue(keras.losses, training.loss_entries, training.SKIPPED["keras.losses"]),
        "metrics": Catalogue(keras.metrics, training.metric_entries, training.SKIPPED["keras.metrics"]),
        "optimizers": Catalogue(keras.optimizers, training.optimizer_entries, training.SKIPPED["keras.optimizers"]),
        "applications": Catalogue(
            keras.applications, applications.entries, {}, frozenset(modules) | frozenset(relatives)
        ),
    }


def survey(names: list[str], progress: Callable[[str], None]) -> Findings:
    """Trace catalogues by name."""
    chosen = {name: catalogue for name, catalogue in catalogues().items() if name in names}
    found = collect((entry for catalogue in chosen.values() for entry in catalogue.entries()), progress)
    for name, catalogue in chosen.items():
        found.skipped.update({f"keras.{name}.{what}": why for what, why in catalogue.skipped.items()})
        found.missing += [f"keras.{name}.{what}" for what in catalogue.missing()]
    return found


def as_text(found: Findings) -> str:
    """The counts, and whatever needs a look."""
    from graphmem.ops.registry import all_rules

    rules, unknown = all_rules(), found.unknown()
    known = sum(name in rules for name in found.met)
    lines = [
        f"{len(rules)} op types are known",
        f"{len(found.met)} op types are met in {sum(found.entries.values())} entries: "
        + ", ".join(f"{count} of {name}" for name, count in found.entries.items()),
        f"{known} of these are known, {len(unknown)} unknown",
    ]
    lines += [f"  unknown: {name} ({_some(made)})" for name, made in unknown.items()]
    lines += [f"not traced: {name}: {why}" for name, why in found.failed.items()]
    lines += [f"no entry: {name}" for name in found.missing]
    lines += ["left out:", *(f"  {name}: {why}" for name, why in found.skipped.items())]
    return "\n".join(lines)


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} others" if len(names) > 3 else "")


def main() -> int:
    """Print the findings; returns the exit status."""
    names = ("layers", "ops", "losses", "metrics", "optimizers", "applications")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print everything that was found as JSON")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    given = parser.parse_args()
    found = survey(list(given.only), lambda text: print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True))
    print("\r\033[K", end="", file=sys.stderr)
    unknown = found.unknown()
    if given.json:
        plain = {**vars(found), "unknown": unknown}
        print(json.dumps(plain, indent=1, sort_keys=True))
    else:
        print(as_text(found))
    return int(bool(unknown or found.failed or found.missing))


if __name__ == "__main__":
    sys.exit(main())
