"""What a program holds in an allocator when its step begins: variables, a batch, and the holes left by what is gone."""

from __future__ import annotations

from collections.abc import Callable

from graphmem.graph.model import Made, StepGraph, Variable
from graphmem.runtime.making import FREED, HANDLE_BYTES, requests


class Program:
    """Asks an allocator for what a program does before its step.

    Args:
        graph: the step.
        alloc: given bytes, gives the number of a new buffer.
        free: given that number, frees it.
        handles: whether handles of variables are in the same memory.

    Attributes:
        variables: variable -> its buffer.
        roles: buffers that no variable has -> why they are there.
    """

    def __init__(
        self, graph: StepGraph, alloc: Callable[[int | None], int], free: Callable[[int], None], handles: bool
    ) -> None:
        self.graph, self._alloc, self._free, self._handles = graph, alloc, free, handles
        self.variables: dict[int, int] = {}
        self.roles: dict[int, str] = {}

    def run(self) -> None:
        """Variables and a batch in the order in which they were made.

        Those of which that is not known: weights first, then all others last, in the order in which the step has them.
        """
        variables = self.graph.variables
        known = {one.variable for one in self.graph.made}
        unknown = [number for number in range(len(variables)) if number not in known]
        for number in unknown:
            if variables[number].role == "weight":
                self._variable(number, _guess(variables[number]))
        self._make_known(self.graph.made)
        for number in unknown:
            if variables[number].role != "weight":
                self._variable(number, _guess(variables[number]))

    def _make_known(self, made: list[Made]) -> None:
        dropped: dict[int, list[int]] = {}  # number of variables made -> the buffers that go then
        batch = self._batch_before(made)
        for count in range(len(made) + 1):
            for buffer in dropped.pop(count, ()):
                self._free(buffer)
            if count == batch:
                self._batch()
            if count == len(made) or made[count].how == "batch":
                continue
            one = made[count]
            if one.variable >= 0:
                self._variable(one.variable, one.how)
            else:
                dropped.setdefault(one.until, []).extend(self._value(one.how, one.nbytes, None))

    def _batch_before(self, made: list[Made]) -> int:
        """When the batch is made, if not told: before the first variable of the optimizer, else last."""
        roles = ["batch" if one.how == "batch" else self._role(one.variable) for one in made]
        places = (roles.index(role) for role in ("batch", "optimizer state") if role in roles)
        return next(places, len(made))

    def _role(self, variable: int) -> str:
        return self.graph.variables[variable].role if variable >= 0 else ""

    def _batch(self) -> None:
        for argument in self.graph.arguments:
            self.roles[self._alloc(argument.nbytes)] = "input"

    def _variable(self, number: int, how: str) -> None:
        variable = self.graph.variables[number]
        self.variables[number], *handle = self._value(how, variable.nbytes or 0, variable.shape, variable.role)
        self.roles.update(dict.fromkeys(handle, "other state"))

    def _value(
        self, how: str, nbytes: int, shape: tuple[int | None, ...] | None, role: str = "weight"
    ) -> tuple[int, ...]:
        """A variable adopts the last tensor that its initial value takes; those before it are freed (measured)."""
        held: dict[str, int] = {}
        for name, size in requests(how, nbytes, shape):
            if size == FREED:
                self._free(held.pop(name))
            else:
                held[name] = self._alloc(size)
        if role == "constant" or not self._handles:
            return (held["value"],)
        return held["value"], self._alloc(HANDLE_BYTES)


def _guess(variable: Variable) -> str:
    """How a variable was made, by its shape and name: a matrix that is trained is drawn, the others are filled."""
    if variable.role == "weight" and variable.trainable and len(variable.shape or ()) > 1:
        return "drawn"
    return "scaled" if variable.role == "optimizer state" and variable.name.endswith("accumulator") else "filled"
