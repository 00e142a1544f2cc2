"""The table of op knowledge: one row per op type, filled by the modules beside this file.

Three states, never mixed:

* *known*: a row says what the op does to memory;
* *known to need nothing more*: a row with no rule in it (its outputs are new buffers, no scratch);
* *unknown*: no row. The op's outputs are counted as new buffers, its scratch is not counted, and the report names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from graphmem.errors import InternalError
from graphmem.graph.model import Op, Tensor
from graphmem.ops.machine import l3_cache_bytes, workspace_limit


@dataclass(frozen=True, slots=True)
class Env:
    """What a formula may depend on besides the op.

    Attributes:
        threads: intra-op threads of the CPU device.
        device: "cpu" or "gpu": the kernel that runs.
        l3_bytes: the CPU's L3 cache as Eigen sees it: 3D convolution gradients size their scratch by it.
        architecture: the GPU's compute capability, which decides the layout that it computes in.
        conv_workspace: what is counted of cuDNN's workspace for convolutions: "none", "typical" or "limit".
        workspace_limit: the most of it that TensorFlow allows for one convolution (bytes).
    """

    threads: int = 1
    device: str = "cpu"
    l3_bytes: int = field(default_factory=l3_cache_bytes)
    architecture: str = "8.0"
    conv_workspace: str = "none"
    workspace_limit: int = field(default_factory=workspace_limit)


Scratch = Callable[[Op, tuple[Tensor, ...], Env], "list[int | None]"]
"""(op, its input tensors, env) -> bytes of each temporary that the kernel holds while it runs; `None`: unknown size."""

Outputs = Callable[[Op, tuple[Tensor, ...], Env], "dict[int, int | None]"]
"""(op, its input tensors, env) -> output slot -> bytes, where the kernel decides and shape inference does not know."""

Workspace = Callable[[Op, tuple[Tensor, ...], Env], int]
"""(op, its input tensors, env) -> bytes that a library asks for, and can do without."""

View = Callable[[Op, tuple[Tensor, ...]], "int | None"]
"""(op, its input tensors) -> the input that every output is a view of, or `None` for a new buffer."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What one op type does to memory.

    Attributes:
        view: output slot -> input position it shares storage with, always.
        view_if: decides per op whether all outputs are views of one input (alignment, same shape).
        forward: output slot -> input positions whose buffer the output may take over when the op is its last holder,
            in the order tried; (-1,) means all inputs in order. Same dtype and element count are required as well.
        cpu_scratch, gpu_scratch: temporaries of the kernel; `None`: none.
        scratch_over: index in the CPU's scratch -> input position whose buffer that temporary takes over when the op is
            its last holder.
        scratch_first: whether the kernel asks for its temporaries before its outputs; most ask for outputs first.
        workspace: what cuDNN takes besides on a GPU, as far as `Env.conv_workspace` counts it.
        gpu_outputs: bytes of outputs on a GPU, where the kernel decides.
        output_bytes: output slot -> bytes on the CPU, where the kernel decides and shape inference does not know.
        inline: on the CPU, never expensive: runs inline as soon as it is ready.
        variable: "read", "assign" (adopts the value's buffer), "update" (in place; copies if another read is held),
            "sparse" (in place through the handle; switches the variable to copy-on-read) or "".
        handle: the input position of the variable's handle.
        list_op: what an op does to lists, optionals, stacks or arrays of tensors: a key of `words.LIST_WORDS`, or "".
        control: "switch", "merge", "enter", "exit", "next", "cond" or "".
        source: where the rule comes from: a kernel's file, or "measured".
    """

    view: tuple[tuple[int, int], ...] = ()
    view_if: View | None = None
    forward: tuple[tuple[int, tuple[int, ...]], ...] = ()
    cpu_scratch: Scratch | None = None
    gpu_scratch: Scratch | None = None
    workspace: Workspace | None = None
    gpu_outputs: Outputs | None = None
    scratch_over: tuple[tuple[int, int], ...] = ()
    scratch_first: bool = False
    output_bytes: tuple[tuple[int, int], ...] = ()
    inline: bool = False
    variable: str = ""
    handle: int = 0
    list_op: str = ""
    control: str = ""
    source: str = ""


_TABLE: dict[str, Rule] = {}


def register(types: str | Iterable[str], rule: Rule) -> None:
    """Add one rule for one or several op types (a space-separated string or an iterable).

    Raises:
        InternalError: an op type has a row already.
    """
    for name in types.split() if isinstance(types, str) else types:
        if name in _TABLE:
            raise InternalError(f"op {name} is registered twice")
        _TABLE[name] = rule


def amend(types: str | Iterable[str], **changes: object) -> None:
    """Change fields of existing rows: for a property that cuts across families, such as being inline."""
    for name in types.split() if isinstance(types, str) else types:
        _TABLE[name] = replace(_TABLE[name], **changes)  # type: ignore[arg-type]


def lookup(op_type: str) -> Rule | None:
    """The row of an op type, or `None`: unknown."""
    _load()
    return _TABLE.get(op_type)


def all_rules() -> dict[str, Rule]:
    """A copy of the whole table, sorted by op type."""
    _load()
    return dict(sorted(_TABLE.items()))


def _load() -> None:
    """Import the modules that fill the table, once."""
    from graphmem.ops import tables  # noqa: F401
