"""Functions that XLA compiles inside a step that TensorFlow's executor runs: what each asks for when it runs.

To the executor such a call (`_XlaMustCompile`: a grouped convolution on the CPU, a `tf.function` with
`jit_compile=True`) is one op. It asks for what XLA assigned when it compiled the function.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from graphmem.errors import UserCodeError
from graphmem.xla.child import DUMPS, scheduled_program, users_flags
from graphmem.xla.compiler import TIMEOUT_SECONDS

PROGRAM, RESULT = "clusters", "clusters.json"


@dataclass(frozen=True)
class Cluster:
    """One call.

    Attributes:
        function: the name of the function, as the library has it.
        inputs: for each input, in order, dtype, shape, and whether it is the handle of a variable of that kind.
    """

    function: str
    inputs: tuple[tuple[str, tuple[int, ...], bool], ...]


@dataclass(frozen=True)
class Allocations:
    """What a call asks the allocator for, block by block (bytes): temporary memory, and results.

    A result that takes over the memory of an input is none of them; the table of the results, where there are several,
    is one.
    """

    temp: tuple[int, ...]
    outputs: tuple[int, ...]


def allocations_of_clusters(
    clusters: Sequence[Cluster],
    library: Any,
    *,
    timeout: float = TIMEOUT_SECONDS,
    progress: Callable[[str], None] = lambda text: None,
) -> list[Allocations | None]:
    """What each call asks for on the CPU; `None` where XLA cannot compile it as it stands.

    All are compiled in one process; a call that occurs more than once is compiled once.

    Args:
        clusters: the calls.
        library: the `FunctionDefLibrary` that has their functions and those that these call.
        timeout, progress: as for `graphmem.xla.compiler.compile_cpu`.

    Raises:
        CompilerError: the compiler crashed, or was not done in time.
    """
    once = list(dict.fromkeys(clusters))
    if not once:
        return []
    program = json.dumps([asdict(cluster) for cluster in once]).encode() + b"\n" + library.SerializeToString()
    flags = (*users_flags(), "--xla_backend_optimization_level=0")  # of the machine code, which nobody runs
    found, _ = scheduled_program(
        __name__, {PROGRAM: program}, flags, RESULT, timeout=timeout, progress=progress, complete=Path.is_file
    )
    made = [sizes and Allocations(*map(tuple, sizes)) for sizes in json.loads(found)]
    known = dict(zip(once, made, strict=True))
    return [known[cluster] for cluster in clusters]


def main(folder: str) -> None:
    """Compile what lies in the folder, and leave the sizes among the dumps."""
    from tensorflow.core.framework import function_pb2
    from tensorflow.python.eager import context

    head, _, library = (Path(folder) / PROGRAM).read_bytes().partition(b"\n")
    context.ensure_initialized()
    for definition in function_pb2.FunctionDefLibrary.FromString(library).function:
        context.context().add_function_def(definition)
    sizes = [_sizes(described) for described in json.loads(head)]
    written = Path(folder) / f"{RESULT}.part"
    written.write_text(json.dumps(sizes))
    os.replace(written, Path(folder) / DUMPS / RESULT)


def _sizes(described: dict[str, Any]) -> list[list[int]] | None:
    from graphmem.trace.xla_export import export, stand_in, stand_in_variable
    from graphmem.xla.allocations import OUTPUT, TEMP, read_assignment
    from graphmem.xla.proto import parse

    given = [(stand_in_variable if handle else stand_in)(shape, dtype) for dtype, shape, handle in described["inputs"]]
    try:  # tensors, not specs: with these, handles would have to come last
        compiled = parse(export(described["function"], given, [], "optimized_hlo_proto_serialized", ()))
    except UserCodeError:
        return None
    module = compiled.hlo_module
    entry = next(c for c in module.computations if c.id == module.entry_computation_id)
    if sum(instruction.opcode == "parameter" for instruction in entry.instructions) < len(given):
        return None  # the value of an input decides a shape, and it is not known here
    assignment = read_assignment(compiled.buffer_assignment)
    return [[size for size in assignment.sizes(kind) if size] for kind in (TEMP, OUTPUT)]
