"""Tiny step graphs with names: each function returns a new `StepGraph`, so that no test can disturb another.

Sizes are chosen so that different answers give different sums: powers of two in units of 4 bytes (float32). The op
types have rows in the table: `MatMul` writes a new buffer, `Relu` may take over its input, `Identity` is a view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphmem.graph.model import Argument, Made, Op, StepGraph, Tensor, Variable, tensor_bytes


def floats(nbytes: int | None) -> Tensor:
    """A float32 vector of that many bytes; `None`: of unknown length."""
    return Tensor("float32", (None,), None) if nbytes is None else Tensor("float32", (nbytes // 4,), nbytes)


class Builder:
    """Makes a graph op by op; inputs are named "op" or ("op", slot)."""

    def __init__(self) -> None:
        self.graph = StepGraph(ops=[], info={"kind": "train"})
        self._index: dict[str, int] = {}

    def op(
        self,
        name: str,
        kind: str,
        inputs: Sequence[Any] = (),
        writes: int | Sequence[int | None] | None = (),
        *,
        after: Sequence[str] = (),
        **fields: Any,
    ) -> str:
        """Add an op that writes float32 vectors of the given bytes; returns its name."""
        sizes = writes if isinstance(writes, (list, tuple)) else [writes]
        sources = [(source, 0) if isinstance(source, str) else source for source in inputs]
        fields.setdefault("outputs", tuple(floats(size) for size in sizes))  # type: ignore[arg-type]
        self._index[name] = len(self.graph.ops)
        self.graph.ops.append(
            Op(
                name=name,
                type=kind,
                inputs=tuple((self._index[producer], slot) for producer, slot in sources),
                controls=tuple(self._index[other] for other in after),
                **fields,
            )
        )
        return name

    def argument(self, name: str, nbytes: int | None) -> str:
        """An input of the step and the `_Arg` op that stands for it."""
        tensor = floats(nbytes)
        self.graph.arguments.append(Argument(name, tensor.dtype, tensor.shape, tensor.nbytes))
        index = len(self.graph.arguments) - 1
        return self.op(name, "_Arg", writes=nbytes, role="input", attrs={"_arg": ("argument", index)})

    def variable(self, name: str, nbytes: int, **fields: Any) -> str:
        """A variable and the `_Arg` op of its handle."""
        tensor = floats(nbytes)
        self.graph.variables.append(Variable(name, tensor.dtype, tensor.shape, tensor.nbytes, **fields))
        index = len(self.graph.variables) - 1
        handle = (Tensor("resource", (), 0, host=True),)
        return self.op(name, "_Arg", outputs=handle, role="weight", attrs={"_arg": ("variable", index)})

    def read(self, name: str, variable: str, nbytes: int, **fields: Any) -> str:
        """Read a variable."""
        return self.op(name, "ReadVariableOp", [variable], nbytes, role="weight", **fields)

    def returns(self, *names: Any) -> StepGraph:
        """End the step with these results."""
        for number, name in enumerate(names):
            source = name if isinstance(name, tuple) else (name, 0)
            tensor = self.graph.ops[self._index[source[0]]].outputs[source[1]]
            assert tensor.nbytes == tensor_bytes(tensor.dtype, tensor.shape)
            self.op(f"return_{number}", "_Retval", [source], role="output")
        return self.graph


def empty() -> StepGraph:
    """No op at all."""
    return StepGraph(ops=[])


def chain() -> StepGraph:
    """x -> a -> b -> c, each a new buffer; only two neighbours are ever alive together."""
    b = Builder()
    b.argument("x", 4)
    b.op("a", "MatMul", ["x", "x"], 8)
    b.op("b", "MatMul", ["a", "a"], 16)
    b.op("c", "MatMul", ["b", "b"], 32)
    return b.returns("c")


def diamond() -> StepGraph:
    """One tensor read by two branches that meet again."""
    b = Builder()
    b.argument("x", 4)
    b.op("top", "MatMul", ["x", "x"], 8)
    b.op("left", "MatMul", ["top", "top"], 16)
    b.op("right", "MatMul", ["top", "top"], 32)
    b.op("join", "MatMul", ["left", "right"], 64)
    return b.returns("join")


def dead_output() -> StepGraph:
    """A large second output that nobody reads: it dies with the op that writes it."""
    b = Builder()
    b.argument("x", 4)
    b.op("split", "TopKV2", ["x"], [8, 1024])
    b.op("y", "MatMul", ["split", "split"], 16)
    return b.returns("y")


def view_chain() -> StepGraph:
    """Views of views keep the one buffer alive until the last of them is read."""
    b = Builder()
    b.argument("x", 4)
    b.op("base", "MatMul", ["x", "x"], 64)
    b.op("view", "Identity", ["base"], 64)
    b.op("view_of_view", "Identity", ["view"], 64)
    b.op("other", "MatMul", ["x", "x"], 32)
    b.op("last", "MatMul", ["view_of_view", "other"], 8)
    return b.returns("last")


def forwarded() -> StepGraph:
    """A chain of Relu: each takes over the buffer of the one before."""
    b = Builder()
    b.argument("x", 4)
    b.op("a", "MatMul", ["x", "x"], 64)
    b.op("b", "Relu", ["a"], 64)
    b.op("c", "Relu", ["b"], 64)
    return b.returns("c")


def inplace_update() -> StepGraph:
    """w -= d, when nobody holds the old value any more: no copy."""
    b = Builder()
    b.argument("x", 4)
    b.variable("w", 64)
    b.read("read", "w", 64)
    b.op("grad", "MatMul", ["x", "read"], 64, phase="backward", role="gradient")
    b.op("update", "AssignSubVariableOp", ["w", "grad"], phase="update", role="update")
    return b.graph


def update_with_pending_reader() -> StepGraph:
    """w -= d while a later op still holds the old value: TensorFlow copies the variable first."""
    b = Builder()
    b.argument("x", 4)
    b.variable("w", 64)
    b.read("read", "w", 64)
    b.op("grad", "MatMul", ["x", "x"], 64, phase="backward", role="gradient")
    b.op("update", "AssignSubVariableOp", ["w", "grad"], after=["read"], phase="update", role="update")
    b.op("late", "MatMul", ["read", "x"], 8, after=["update"])
    return b.returns("late")


def sparse_update(*, branch: bool) -> StepGraph:
    """A read of 64 bytes, 8 made of it, and an update of some rows, which may be in a branch that is taken."""
    b = Builder()
    b.argument("rows", 4)
    b.argument("x", 8)
    table = b.variable("w", 64)
    handle: Any = table
    if branch:
        b.op("when", "Greater", ["x", "x"], outputs=(Tensor("bool", (), 1),))
        b.op("switch", "Switch", [table, "when"], outputs=(Tensor("resource", (), 0, host=True),) * 2)
        handle = ("switch", 1)
    b.read("read", table, 64)
    b.op("made", "MatMul", ["read", "x"], 8)
    b.op("update", "ResourceScatterSub", [handle, "rows", "x"], after=["made"], phase="update", role="update")
    return b.returns("made")


def two_weights() -> StepGraph:
    """Two layers, their gradients and updates: the smallest step with all three phases."""
    b = Builder()
    b.argument("x", 16)
    b.variable("w1", 64, scope="first")
    b.variable("w2", 128, scope="second")
    b.read("r1", "w1", 64, scope="first")
    b.read("r2", "w2", 128, scope="second")
    b.op("h", "MatMul", ["x", "r1"], 32, scope="first")
    b.op("y", "MatMul", ["h", "r2"], 8, scope="second")
    b.op("dh", "MatMul", ["y", "r2"], 32, scope="second", phase="backward", role="gradient")
    b.op("dw2", "MatMul", ["h", "y"], 128, scope="second", phase="backward", role="gradient")
    b.op("dw1", "MatMul", ["x", "dh"], 64, scope="first", phase="backward", role="gradient")
    b.op("u2", "AssignSubVariableOp", ["w2", "dw2"], scope="second", phase="update", role="update")
    b.op("u1", "AssignSubVariableOp", ["w1", "dw1"], scope="first", phase="update", role="update")
    return b.returns("y")


def tied_weight() -> StepGraph:
    """One weight read twice, by two layers; its two gradients are added."""
    b = Builder()
    b.argument("x", 16)
    b.variable("w", 64, scope="shared")
    b.read("r1", "w", 64)
    b.read("r2", "w", 64)
    b.op("h", "MatMul", ["x", "r1"], 32)
    b.op("y", "MatMul", ["h", "r2"], 8)
    b.op("dw_2", "MatMul", ["h", "y"], 64, phase="backward", role="gradient")
    b.op("dh", "MatMul", ["y", "r2"], 32, phase="backward", role="gradient")
    b.op("dw_1", "MatMul", ["x", "dh"], 64, phase="backward", role="gradient")
    b.op("dw", "AddN", ["dw_1", "dw_2"], 64, phase="backward", role="gradient")
    b.op("u", "AssignSubVariableOp", ["w", "dw"], phase="update", role="update")
    b.graph.made = [Made(0, 64, "filled")]
    return b.returns("y")


def x_times_x() -> StepGraph:
    """One op that reads the same tensor twice: it may not take over the buffer once for each."""
    b = Builder()
    b.argument("x", 4)
    b.op("a", "MatMul", ["x", "x"], 64)
    b.op("square", "Mul", ["a", "a"], 64)
    return b.returns("square")


def control_edge() -> StepGraph:
    """Two independent branches; a control edge makes the small one wait for the large one, and holds no memory."""
    b = Builder()
    b.argument("x", 4)
    b.op("large", "MatMul", ["x", "x"], 1024)
    b.op("reduced", "MatMul", ["large", "large"], 4)
    b.op("small", "MatMul", ["x", "x"], 8, after=["reduced"])
    b.op("sum", "MatMul", ["reduced", "small"], 16)
    return b.returns("sum")


def unknown_size() -> StepGraph:
    """The middle tensor has an unknown length: counted nowhere, but named."""
    b = Builder()
    b.argument("x", 4)
    b.op("unknown", "Where", ["x"], None)
    b.op("y", "MatMul", ["unknown", "unknown"], 16)
    return b.returns("y")


def unknown_op() -> StepGraph:
    """An op type that no table can know."""
    b = Builder()
    b.argument("x", 4)
    b.op("mystery", "NobodyKnowsThisOp", ["x"], 8)
    return b.returns("mystery")


def constant() -> StepGraph:
    """A constant lives as long as the executor, not as long as its readers."""
    b = Builder()
    b.argument("x", 4)
    b.op("c", "Const", [], 32, role="constant")
    b.op("y", "MatMul", ["x", "c"], 8)
    return b.returns("y")


def loop() -> StepGraph:
    """A while loop as TensorFlow's executor sees it; the only legal cycle."""
    b = Builder()
    b.argument("x", 8)
    b.op("enter", "Enter", ["x"], 8, attrs={"frame_name": "while"})
    b.op("merge", "Merge", ["enter", "enter"], [8, 4])
    b.op("test", "LoopCond", ["merge"], outputs=(Tensor("bool", (), 1),))
    b.op("switch", "Switch", ["merge", "test"], [8, 8])
    b.op("exit", "Exit", ["switch"], 8)
    b.op("body", "MatMul", [("switch", 1), ("switch", 1)], 8)
    b.op("next", "NextIteration", ["body"], 8)
    merge, last = b._index["merge"], b._index["next"]
    b.graph.ops[merge].inputs = (b.graph.ops[merge].inputs[0], (last, 0))
    return b.returns("exit")


ALL: tuple[Callable[[], StepGraph], ...] = (
    empty,
    chain,
    diamond,
    dead_output,
    view_chain,
    forwarded,
    inplace_update,
    update_with_pending_reader,
    two_weights,
    tied_weight,
    x_times_x,
    control_edge,
    unknown_size,
    unknown_op,
    constant,
    loop,
)
"""Every graph of this file, for tests that hold of any graph."""
