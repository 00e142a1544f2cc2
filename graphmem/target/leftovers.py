"""What TensorFlow keeps for good of each model that is built and traced, so that a process which analyses many does not
grow.

* The gradient function of each use of `tf.custom_gradient` is registered under a name of its own. It refers to tensors,
  and so to the whole graph that is traced: Keras' optimizers alone leave one graph for each training step ever traced.
* The eager context keeps a kernel for each eager op that was called with new attributes. A variable's name and shape
  are attributes of the op that makes its handle: some 35 KiB for each variable ever made.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Variables after which the kernels are dropped: often enough for memory not to grow by much more than 35 MiB, rarely
#: enough for the user, whose own functions are prepared anew when they are called next.
MANY_VARIABLES = 1000
#: What an analysis counts as at least: a live model's variables were made before it.
FEWEST_VARIABLES = 50

_PREFIX, _OWNED = "CustomGradient-", "_custom_gradients"


@contextmanager
def collectable_gradients() -> Iterator[None]:
    """Within the block, a graph owns the gradient functions that are registered while it is traced.

    The registry finds them through the graph as long as anyone holds it, then forgets them.
    """
    from tensorflow.python.framework import ops
    from tensorflow.python.framework.func_graph import FuncGraph

    entries = ops.gradient_registry._registry
    register = ops.RegisterGradient.__call__

    @functools.wraps(register)
    def register_weakly(self: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        graph, name = ops.get_default_graph(), self._op_type
        if not (name.startswith(_PREFIX) and isinstance(graph, FuncGraph)):
            return register(self, function)
        if not hasattr(graph, _OWNED):
            setattr(graph, _OWNED, {})
        getattr(graph, _OWNED)[name] = function
        register(self, _found_through(weakref.ref(graph), name))
        weakref.finalize(graph, entries.pop, name, None).atexit = False
        return function

    ops.RegisterGradient.__call__ = register_weakly
    try:
        yield
    finally:
        ops.RegisterGradient.__call__ = register


def _found_through(graph: Callable[[], Any], name: str) -> Callable[..., Any]:
    def gradient(op: Any, *gradients: Any) -> Any:
        return getattr(graph(), _OWNED)[name](op, *gradients)

    return gradient


class Kernels:
    """Counts the variables of the models analysed in this process, and drops the eager context's kernels by it."""

    def __init__(self) -> None:
        self._variables = 0

    def count(self, variables: int) -> None:
        """A model was analysed, for which so many variables were made."""
        from tensorflow.python.eager import context

        self._variables += max(variables, FEWEST_VARIABLES)
        if self._variables >= MANY_VARIABLES:
            context.context().clear_kernel_cache()
            self._variables = 0


kernels = Kernels()
