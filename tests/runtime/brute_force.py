"""What a step has alive at each position, worked out the slow and obvious way: at every position, look at everything.

It knows a handful of op types by heart and shares nothing with graphmem's runtime: no reference counts, no table of
ops, no lifetimes. A buffer is alive while somebody will still read a tensor in it, or holds it for good.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graphmem.graph.model import StepGraph

Source = tuple[int, int]

VIEWS = {"Identity", "Reshape"}
MAY_TAKE = {"Relu": (0,), "BiasAdd": (0,), "Mul": (0, 1), "AddV2": (0, 1), "AddN": (0, 1, 2, 3, 4, 5, 6, 7)}
FRESH = {"MatMul", "TopKV2", "Where", "NobodyKnowsThisOp"}
KNOWN = VIEWS | set(MAY_TAKE) | FRESH | {"_Arg", "Const", "ReadVariableOp", "AssignSubVariableOp", "AssignVariableOp"}
KNOWN |= {"_Retval", "NoOp"}


@dataclass
class Moments:
    """Per position: the bytes alive; plus which buffer each tensor ended up in."""

    totals: list[int] = field(default_factory=list)
    stored: dict[Source, int] = field(default_factory=dict)


def moments(graph: StepGraph, order: list[int]) -> Moments:
    """Bytes at each position of an order, beyond those of arguments, constants, and the variables before the step."""
    out, stored = Moments(), {}
    sizes: list[int | None] = []
    owned: set[int] = set()  # buffers of arguments and constants
    variable: dict[int, int] = {}
    before = 0

    def new(nbytes: int | None) -> int:
        sizes.append(nbytes)
        return len(sizes) - 1

    def reads_left(now: int) -> list[Source]:
        """Each read of this position or later, and what `_Retval` holds."""
        return [
            source
            for position, reader in enumerate(order)
            if position >= now or graph.ops[reader].type == "_Retval"
            for source in graph.ops[reader].inputs
        ]

    def only_mine(buffer: int, now: int) -> bool:
        holders = sum(stored.get(source) == buffer for source in reads_left(now))
        return holders == 1 and buffer not in owned and buffer not in variable.values()

    for now, index in enumerate(order):
        op = graph.ops[index]
        assert op.type in KNOWN, op.type
        held_before = set(variable.values())
        taken: set[int] = set()
        handle = variable_of(graph, index)
        if op.type in ("_Arg", "Const"):
            if handle is None:
                stored[index, 0] = new(op.outputs[0].nbytes)
                owned.add(stored[index, 0])
            else:
                variable[handle] = new(graph.variables[handle].nbytes)
                before += graph.variables[handle].nbytes or 0
        elif op.type == "ReadVariableOp":
            stored[index, 0] = variable[handle]
        elif op.type == "AssignVariableOp":
            source = op.inputs[1]
            variable[handle] = stored[source] if source in stored else new(graph.variables[handle].nbytes)
        elif op.type == "AssignSubVariableOp":
            old = variable[handle]
            shared = (
                old in owned
                or list(variable.values()).count(old) > 1
                or any(stored.get(s) == old for s in reads_left(now))
            )
            if shared:
                variable[handle] = new(graph.variables[handle].nbytes)
        else:
            for slot, tensor in enumerate(op.outputs):
                view = op.type in VIEWS or (op.type == "AddN" and len(op.inputs) == 1)
                found = stored.get(op.inputs[0]) if view else None
                for place in MAY_TAKE.get(op.type, ()) if not view else ():
                    if found is not None or place >= len(op.inputs) or op.inputs[place] not in stored:
                        continue
                    given = graph.ops[op.inputs[place][0]].outputs[op.inputs[place][1]]
                    mine = only_mine(stored[op.inputs[place]], now) and stored[op.inputs[place]] not in taken
                    if mine and given.dtype == tensor.dtype and given.nbytes == tensor.nbytes is not None:
                        found = stored[op.inputs[place]]
                        taken.add(found)
                if found is None and tensor.nbytes != 0 and not view:
                    found = new(tensor.nbytes)
                if found is not None:
                    stored[index, slot] = found
        alive = {stored[source] for source in reads_left(now) if source in stored}
        alive |= {stored[index, slot] for slot in range(len(op.outputs)) if (index, slot) in stored}
        alive |= held_before | set(variable.values())
        out.totals.append(sum(sizes[buffer] or 0 for buffer in alive - owned) - before)
    out.stored = stored
    return out


def variable_of(graph: StepGraph, index: int) -> int | None:
    """The variable that an op stands for or works on."""
    op = graph.ops[index]
    if op.type in ("ReadVariableOp", "AssignVariableOp", "AssignSubVariableOp"):
        op = graph.ops[op.inputs[0][0]]
    kind, number = op.attrs.get("_arg", ("", 0))
    return number if kind == "variable" else None
