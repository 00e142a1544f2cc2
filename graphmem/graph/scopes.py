"""From op names to the model's own path to a layer.

TensorFlow makes name scopes unique ("dense" becomes "dense_1_2"), so names alone do not say which layer an op belongs
to; the name scopes that layers opened while a step was traced do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

#: What TensorFlow and Grappler put in front of a name: gradients, rewrites, inlined calls, lowered loop bodies.
_PREFIX = re.compile(
    r"^(?:gradient_tape|gradients|ConstantFolding|ArithmeticOptimizer|LayoutOptimizer|LoopOptimizer|RemapperOptimizer"
    r"|(?:Stateful)?PartitionedCall(?:_\d+)?|Func)/"
)
_LOWERED = re.compile(r"/(?:body|cond|then|else)/_\d+/")
_NUMBER = re.compile(r"_\d+$")


@dataclass
class ScopePaths:
    """Which layer an op belongs to, by its name.

    Attributes:
        paths: name scope -> path of the layer that opened it ("encoder/block_3/conv2d").
        ops: names of the ops that were traced.
        names: names of layers whose scopes were not watched, so that made-unique names can be read.
    """

    paths: dict[str, str] = field(default_factory=dict)
    ops: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    _known: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def of_op(self, name: str) -> str:
        """The layer path of an op; what no layer opened keeps its own name scope, without the op's name."""
        parent = name.rpartition("/")[0]
        known = self._known.get(parent)
        if known is None:
            known = self._known[parent] = self._resolve(parent)
        return known

    def _resolve(self, parent: str) -> str:
        parent += "/"
        gradient = "gradient" in parent
        while True:
            shorter = _PREFIX.sub("", parent)
            bodies = _LOWERED.split(shorter)
            shorter = bodies[-1] if len(bodies) > 1 and bodies[-1] else shorter
            if shorter == parent:
                break
            parent = shorter
        scope = parent.rstrip("/")
        if gradient and scope in self.ops:  # the gradient of an op is named after it
            scope = scope.rpartition("/")[0]
        return self.recorded(scope) or "/".join(self._plain(part) for part in scope.split("/") if part)

    def recorded(self, scope: str) -> str:
        """The path of the innermost layer that opened a scope or one above it; "" if none did."""
        while scope:
            if scope in self.paths:
                return self.paths[scope]
            scope = scope.rpartition("/")[0]
        return ""

    def _plain(self, part: str) -> str:
        """A made-unique part of a name: the layer's own name if there is such a layer."""
        if part in self.names:
            return part
        shorter = _NUMBER.sub("", part)
        return shorter if shorter in self.names else part
