"""Ops that call a function which TensorFlow does not inline.

The trace puts the function in the place of its call: `_Call` hands the arguments in, `_Return` the results out, and
holds the arguments until then. Where XLA compiles the function the call becomes an `XlaLaunch`, which asks for what XLA
has planned. `PartitionedCall` and `StatefulPartitionedCall` have no row, on purpose: they are left where that could not
be had. What the others hold meanwhile is not looked into.
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
BLOCKS = "_blocks"
"""Attribute of an `XlaLaunch`: the blocks that it asks for besides its outputs (bytes)."""


def planned_by_xla(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The blocks that XLA planned for the compiled function; not known of one that TensorFlow clustered by itself."""
    return list(op.attrs.get(BLOCKS, [None]))


register(
    "XlaLaunch",
    Rule(cpu_scratch=planned_by_xla, gpu_scratch=held_by_function, source="xla_ops.cc, xla_launch_util.cc"),
)
register("_Call _Return", Rule(view=EACH, source="function_ops.cc: the caller holds the arguments"))
