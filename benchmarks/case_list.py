"""The cases of the accuracy benchmark: functions in files, each in the variants that its decorator names."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from pathlib import Path

#: Variant -> what follows the name of the case, and the arguments of the call that makes it.
VARIANTS = {
    "train": ("", ""),
    "predict": ("/predict", "(step='predict')"),
    "train+mixed": ("/mixed", "(policy='mixed_float16')"),
    "predict+mixed": ("/predict+mixed", "(step='predict', policy='mixed_float16')"),
}


@dataclass(frozen=True)
class Case:
    """One step to predict and to measure.

    Attributes:
        name: the function, and the variant unless it is the first: "audio/predict+mixed".
        target: what graphmem is told: "FILE:audio(step='predict', policy='mixed_float16')".
    """

    name: str
    target: str

    @property
    def variant(self) -> str:
        """What follows the slash of the name; "" for a training step in float32 or a step of its own kind."""
        return self.name.partition("/")[2]


def find_cases(where: Path) -> dict[str, Case]:
    """The cases by name: the functions of a file, or of a folder's files, whose name has no leading `_`."""
    files = sorted(where.glob("[!_]*.py")) if where.is_dir() else [where]
    found: dict[str, Case] = {}
    for file in files:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                if node.name in found:
                    other = found[node.name].target.rpartition(":")[0]
                    sys.exit(f"{node.name} is in {other} and in {file}: give it another name.")
                for variant in _variants(node):
                    ending, call = VARIANTS[variant]
                    found[node.name + ending] = Case(node.name + ending, f"{file}:{node.name}{call}")
    return found


def _variants(function: ast.FunctionDef) -> list[str]:
    """What the decorator `variants` names, all if it names none; one without it is a case of one variant."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "variants":
            return [ast.literal_eval(name) for name in decorator.args] or list(VARIANTS)
    return ["train"]
