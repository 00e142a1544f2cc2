"""The direction of the data is the direction of the imports, and TensorFlow stays where it belongs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from graphmem.graph.store import save_trace
from tests import graphs

PACKAGE = Path(__file__).parents[1] / "graphmem"
TENSORFLOW = ("tensorflow", "keras", "tf_keras")

MAY_IMPORT = {
    "errors": set(),
    "protos": set(),
    "units": {"errors"},
    "collector": set(),
    "devices": {"errors", "units", "xla"},
    "settings": {"errors", "devices"},
    "graph": {"errors", "collector", "units"},
    "ops": {"errors", "units", "graph"},
    "runtime": {"errors", "collector", "units", "settings", "graph", "ops"},
    "xla": {"protos", "errors", "collector", "units", "settings", "graph", "ops", "runtime"},
    "report": {"errors", "units", "settings", "graph", "ops", "runtime"},
    "render": {"errors", "units", "settings", "graph", "report"},
    "target": {"errors", "units", "settings", "graph"},
    "trace": {"errors", "units", "settings", "graph", "ops", "target", "xla"},
    "measure": {"errors", "units", "settings", "graph", "ops", "target", "trace", "runtime", "report"},
    "runtimes": {"errors", "settings", "graph", "target", "trace", "runtime", "xla"},
    "api": {"errors", "collector", "settings", "graph", "ops", "target", "trace", "runtime", "report", "runtimes"},
}
"""Part of the package -> what else it may import, itself apart; a part that is not listed may import everything."""

MAY_IMPORT_LATE = {"report": {"render"}, "render": {"answers"}}
"""Imports inside functions that may go the other way: a report's own methods show it, a page has what others say."""

MAY_IMPORT_TENSORFLOW = {"target", "trace", "measure"}


@dataclass(frozen=True)
class Import:
    """One import statement: in which part of graphmem, what it names, and whether importing the module runs it."""

    part: str
    name: str
    at_once: bool
    where: str


def part_of(name: str) -> str:
    """`graph` for `graphmem.graph.model`; "" for the package itself, its version, and others' modules."""
    pieces = name.split(".")
    return pieces[1] if pieces[0] == "graphmem" and pieces[1:2] not in ([], ["version"], ["__version__"]) else ""


def imports_of(source: str, module: str, where: str) -> Iterator[Import]:
    """Every import of a module's source that is more than a type checker's."""

    def visit(node: ast.AST, at_once: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            names = []
            if isinstance(child, ast.Import):
                names = [alias.name for alias in child.names]
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{where}:{child.lineno}: imports are absolute in graphmem"
                names = [f"{child.module}.{alias.name}" for alias in child.names]
            for name in names:
                yield Import(part_of(module), name, at_once, f"{where}:{child.lineno}")
            inside = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from visit(child, at_once and not inside)

    yield from visit(ast.parse(source), True)


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def all_imports() -> list[Import]:
    found = []
    for name, path in modules():
        found += imports_of(path.read_text(), name, str(path.relative_to(PACKAGE.parent)))
    return found


def wrong_way(imports: list[Import]) -> list[str]:
    """Imports that go against the flow of the data."""
    found = []
    for item in imports:
        allowed = MAY_IMPORT.get(item.part, {part_of(item.name)}) | {item.part, ""}
        if not item.at_once:
            allowed = allowed | MAY_IMPORT_LATE.get(item.part, set())
        if part_of(item.name) not in allowed:
            found.append(f"{item.where}: {item.part} imports {item.name}")
    return found


def stray_tensorflow(imports: list[Import]) -> list[str]:
    """Imports of TensorFlow, or at once of the modules that need it, outside the parts that may."""
    return [
        f"{item.where}: imports {item.name}"
        for item in imports
        if item.part not in MAY_IMPORT_TENSORFLOW
        and (item.name.split(".")[0] in TENSORFLOW or (item.at_once and part_of(item.name) in ("trace", "measure")))
    ]


def test_imports_go_one_way():
    assert wrong_way(all_imports()) == []


def test_only_target_trace_and_measure_import_tensorflow():
    assert stray_tensorflow(all_imports()) == []


def test_the_walk_sees_every_part():
    seen = {part_of(name) for name, _ in modules()}
    assert seen >= {"errors", "graph", "ops", "runtime", "report", "render", "target", "trace", "cli"}
    assert "tensorflow" in {item.name.split(".")[0] for item in all_imports() if item.part == "trace"}


def test_only_the_command_line_prints():
    calls = [
        f"{path}:{node.lineno}"
        for name, path in modules()
        if part_of(name) != "cli"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert calls == []


@pytest.mark.parametrize(
    ("part", "source", "complaints"),
    [
        ("graph", "import graphmem.runtime.plan", ["x.py:1: graph imports graphmem.runtime.plan"]),
        ("render", "def f():\n  from graphmem.runtime import plan", ["x.py:2: render imports graphmem.runtime.plan"]),
        ("render", "from graphmem import trace", ["x.py:1: render imports graphmem.trace"]),
        ("render", "from graphmem import analyze", ["x.py:1: render imports graphmem.analyze"]),
        ("render", "if TYPE_CHECKING:\n  from graphmem.runtime import plan", []),
        ("render", "import graphmem, rich\nfrom graphmem import __version__\nfrom graphmem.report import report", []),
        ("report", "from graphmem.render import text", ["x.py:1: report imports graphmem.render.text"]),
        ("report", "def f():\n  from graphmem.render import text", []),
        ("cli", "from graphmem.trace import tracer", []),
    ],
)
def test_a_wrong_import_would_be_found(part, source, complaints):
    assert wrong_way(list(imports_of(source, f"graphmem.{part}.x", "x.py"))) == complaints


@pytest.mark.parametrize(
    ("module", "source", "complaints"),
    [
        ("graphmem.graph.x", "def f():\n  import tensorflow.keras as k", ["x.py:2: imports tensorflow.keras"]),
        ("graphmem.cli.x", "from keras import Model", ["x.py:1: imports keras.Model"]),
        ("graphmem.api", "from graphmem.trace import tracer", ["x.py:1: imports graphmem.trace.tracer"]),
        ("graphmem.api", "def f():\n  from graphmem.trace import tracer", []),
        ("graphmem.trace.x", "import tensorflow as tf", []),
    ],
)
def test_a_stray_tensorflow_would_be_found(module, source, complaints):
    assert stray_tensorflow(list(imports_of(source, module, "x.py"))) == complaints


def tensorflow_after(code: str, *argv: str) -> list[str]:
    """Run code in a fresh process; which of TensorFlow's modules it has imported in the end."""
    code += f"\nimport sys\nprint('found', *[name for name in {TENSORFLOW!r} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()[-1].split()[1:]


def test_the_check_below_can_fail():
    assert tensorflow_after("import sys; sys.modules['keras'] = sys; print('noise')") == ["keras"]


def test_importing_graphmem_and_its_command_line_leaves_tensorflow_out():
    assert tensorflow_after("import graphmem, graphmem.cli.main") == []


def test_loading_a_trace_leaves_tensorflow_out(tmp_path):
    path = str(tmp_path / "step.graphmem")
    save_trace(graphs.two_weights(), path)
    code = "import sys; from graphmem.graph.store import load_trace; print(len(load_trace(sys.argv[1]).ops))"
    assert tensorflow_after(code, path) == []
