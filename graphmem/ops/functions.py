"""Ops that call a function which TensorFlow does not inline.

The trace puts the function in the place of its call: `_Call` hands the arguments in, `_Return` the results out, and
holds the arguments until then. `PartitionedCall` and `StatefulPartitionedCall` have no row, on purpose: where they are
left, XLA compiles what they call, and plans its memory itself. What the others hold meanwhile is not looked into.
"""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Env, Rule, register
from graphmem.ops.views import EACH


def held_by_function(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """What the function called holds while it runs: not known."""
    return [None]


register(
    "While StatelessWhile If StatelessIf Case StatelessCase For MapDefun SymbolicGradient RemoteCall BatchFunction"
    " EagerPyFunc PyFunc PyFuncStateless ReduceDataset OneShotIterator",
    Rule(
        cpu_scratch=held_by_function,
        gpu_scratch=held_by_function,
        source="functional_ops.cc, map_defun_op.cc, py_func.cc",
    ),
)
register("_Call _Return", Rule(view=EACH, source="function_ops.cc: the caller holds the arguments"))
