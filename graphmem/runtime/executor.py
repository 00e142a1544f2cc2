"""The order in which TensorFlow's executor runs the ops of a step, loops and branches included.

The model of the CPU executor with one inter-op worker (executor.cc, `ExecutorState::ScheduleReady`):

* the source node makes all ops without inputs ready;
* ops that are never expensive join a first-in-first-out inline queue as soon as they are ready;
* of the expensive ops that one finished op makes ready, all but the last go to the front of the worker's stack; the
  last runs inline if the inline queue is empty, else it goes to the front of the stack as well;
* when the inline queue is empty the worker takes the front of its stack.

On a GPU no kernel is expensive: one first-in-first-out queue, breadth-first.

The order is not unique: the out edges of an op with more than eight of them are walked in an order that depends on
memory addresses (`graphmem.runtime.edges`), which changes from process to process. `draw` takes one of them. With the
addresses that a process really had, the order is its order (`benchmarks/orders.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graphmem.errors import InternalError
from graphmem.runtime.branches import Branches
from graphmem.runtime.edges import INLINE_EDGES, SINK_EDGES, Arena, walk
from graphmem.runtime.frames import DEAD, Frames, Iteration
from graphmem.runtime.plan import Plan, data_first
from graphmem.runtime.queues import QUEUES, Ready


@dataclass(slots=True)
class Schedule:
    """The ops of one step in the order in which they run.

    Attributes:
        ops: op index per position; an op in a loop body occurs once per iteration.
        inputs: per position, the values read, as indices of values; `DEAD` for one that never came.
        values: per position, the index of its first output; output slot s is value `values[position] + s`.
        count: number of values.
        loops: frame name -> iterations run.
        assumed: what was assumed where the graph alone does not tell (trip counts, branches), one sentence each.
        at_least: whether an assumption makes the step possibly larger than what was scheduled.
        readers: how many inputs read each value, where that is the same in every order; else empty.
        indices: position of an op on a list -> the index, indices or lengths that it reads, where they can be told.
    """

    ops: list[int]
    inputs: list[list[int]]
    values: list[int]
    count: int
    loops: dict[str, int] = field(default_factory=dict)
    assumed: list[str] = field(default_factory=list)
    at_least: bool = False
    readers: list[int] = field(default_factory=list)
    indices: dict[int, list[int]] = field(default_factory=dict)


def schedule(
    plan: Plan,
    branches: Branches | None = None,
    *,
    policy: str = "default",
    draw: int = 0,
    arena: Arena | None = None,
) -> Schedule:
    """Run the executor's model over a graph.

    Args:
        plan: the graph with its edges.
        branches: tells which way a `Switch` goes; made for this plan if not given.
        policy: a key of `graphmem.runtime.queues.QUEUES`.
        draw: which of the addresses where TensorFlow's graph may lie in memory: any number from 0 on.
        arena: those addresses, if they are known.

    Raises:
        InternalError: the graph has ops that never become ready.
    """
    arena = arena or Arena(len(plan.graph.ops), plan.edge_count, plan.root_numbers, draw)
    return _Run(plan, branches or Branches(plan), policy, arena).run()


class _Run:
    """One simulated step."""

    def __init__(self, plan: Plan, branches: Branches, policy: str, arena: Arena) -> None:
        self.plan = plan
        self.branches = branches
        branches.start()
        self.frames = Frames(plan, straight=not any(plan.kinds))
        self.edges = [
            row if len(row) <= INLINE_EDGES else data_first([row[place] for place in walk(arena.addresses(numbers))])
            for row, numbers in zip(plan.edges, plan.numbers, strict=True)
        ]
        from_source = walk(arena.from_source(plan.root_numbers), grown=True)
        self.roots = [plan.roots[place - SINK_EDGES] for place in from_source if place >= SINK_EDGES]
        self.queue = QUEUES[policy](plan)
        self.out = Schedule([], [], [], 0)
        self.processed = 0

    def run(self) -> Schedule:
        root = self.frames.root
        self.queue.add([(index, root, False) for index in self.roots])
        if self.frames.straight:
            return self._run_straight(root)
        take, step = self.queue.take, self._step
        while (item := take()) is not None:
            step(*item)
        if not self.frames.trips and self.processed != len(self.plan.graph.ops):
            raise InternalError(f"{len(self.plan.graph.ops) - self.processed} ops of the graph never become ready")
        self.out.loops = self.frames.trips
        self.out.assumed, self.out.at_least = list(self.branches.assumed), self.branches.at_least
        return self.out

    def _run_straight(self, root: Iteration) -> Schedule:
        """The same without control flow: every op runs once, and its inputs are where the graph says."""
        edges, order = self.edges, self.out.ops
        pending = list(self.plan.pending)
        take, add = self.queue.take, self.queue.add
        while (item := take()) is not None:
            index = item[0]
            order.append(index)
            ready: list[Ready] = []
            for reader, _, _ in edges[index]:
                left = pending[reader] = pending[reader] - 1
                if not left:
                    ready.append((reader, root, False))
            if ready:
                add(ready)
        if len(order) != len(edges):
            raise InternalError(f"{len(edges) - len(order)} ops of the graph never become ready")
        values = self.plan.values
        inputs, bases = values.inputs, values.bases
        return Schedule(
            order, [inputs[index] for index in order], [bases[index] for index in order], values.count,
            readers=values.readers,
        )  # fmt: skip

    def _step(self, index: int, where: Iteration, dead: bool) -> None:
        out, plan = self.out, self.plan
        self.processed += 1
        kind = plan.kinds[index]
        base = DEAD
        if not dead:
            base = out.count
            inputs = where.inputs[index]
            if (place := self.branches.index_inputs[index]) >= 0:
                known = self.branches.known(inputs[place])
                if known is not None:
                    out.indices[len(out.ops)] = known
            out.ops.append(index)
            out.inputs.append(inputs)
            out.values.append(base)
            out.count = base + len(plan.graph.ops[index].outputs)
            if self.branches.follows[index]:
                self.branches.evaluate(index, inputs, base)
        if not kind or kind == "merge" or kind == "cond":
            self._propagate(index, where, base, -1)
        elif kind == "switch":
            self._propagate(index, where, base, DEAD if dead else self.branches.taken(index, inputs, where))
        else:
            self._cross(kind, index, where, base)
        where.outstanding -= 1
        if where.outstanding == 0 and where.frame is not None:
            self._close(where)

    def _propagate(self, index: int, where: Iteration, base: int, taken: int) -> None:
        """Hand the outputs to their readers; `taken` is the only live output of a `Switch`, -1: all are live."""
        kinds, pending, inputs, deads = self.plan.kinds, where.pending, where.inputs, where.dead
        ready: list[Ready] = []
        for reader, position, slot in self.edges[index]:
            arrives_dead = base < 0 or (taken >= 0 and slot >= 0 and slot != taken)
            if kinds[reader] == "merge":
                if not self._merge(reader, position, base + slot, arrives_dead, where):
                    continue
            else:
                if arrives_dead:
                    deads.add(reader)
                elif position >= 0:
                    inputs[reader][position] = base + slot
                left = pending[reader] - 1
                pending[reader] = left
                if left:
                    continue
            ready.append((reader, where, reader in deads))
        if ready:
            where.outstanding += len(ready)
            self.queue.add(ready)

    def _merge(self, reader: int, position: int, value: int, arrives_dead: bool, where: Iteration) -> bool:
        """An edge reaches a `Merge`: whether that makes it ready.

        It runs when its control inputs have run, dead or not, and one data input is live; it is dead when all are dead.
        """
        pending, all_dead = where.pending, reader in where.dead
        if position < 0:
            pending[reader] -= 1
        elif arrives_dead:
            count = where.dead_inputs[reader] = where.dead_inputs.get(reader, 0) + 1
            if count != self.frames.forward_inputs(reader):
                return False
            where.dead.add(reader)
            all_dead = True
        elif any(given != DEAD for given in where.inputs[reader]):
            return False  # the first live one has made it run
        else:
            where.inputs[reader][position] = value
            pending[reader] -= 1
        return bool(pending[reader] == (1 if all_dead else 0))

    def _cross(self, kind: str, index: int, where: Iteration, base: int) -> None:
        """`Enter`, `Exit` and `NextIteration` hand their output to another iteration."""
        if kind == "enter":
            crossing = self.frames.enter(index, where, base)
        elif kind == "exit":
            crossing = self.frames.exit(index, where, base)
        else:
            crossing = self.frames.next(index, where, base) if base != DEAD else []
        for op, target, value in crossing:
            self._propagate(op, target, value, -1)

    def _close(self, where: Iteration) -> None:
        done: Iteration | None = where
        while done is not None and done.outstanding == 0 and done.frame is not None:
            crossing, parent = self.frames.close(done)
            for op, target, value in crossing:
                self._propagate(op, target, value, -1)
            if parent is not None:
                parent.outstanding -= 1
            done = parent
