"""While frames and their iterations, as TensorFlow's executor keeps them (propagator_state.cc).

Every op runs in an iteration: the root one outside of any loop, else one of a frame that `Enter` opened. At most
`parallel_iterations` iterations of a frame are alive at once; a further one waits until the oldest is done.
"""

from __future__ import annotations

from typing import Any

from graphmem.runtime.plan import Plan

DEAD = -1


class Iteration:
    """One iteration of a frame (or the root): what its ops still wait for and what they were given.

    Attributes:
        frame: the frame, `None` for the root.
        number: 0 for the first iteration.
        pending: op -> inputs it still waits for.
        inputs: op -> values received, by input position.
        dead: ops that received a dead input.
        dead_inputs: `Merge` ops -> dead data inputs received.
        outstanding: ready or running ops, and child frames not yet done.
    """

    __slots__ = ("dead", "dead_inputs", "frame", "inputs", "number", "outstanding", "pending")

    def __init__(self, frame: Frame | None, number: int, pending: Any, inputs: Any) -> None:
        self.frame = frame
        self.number = number
        self.pending = pending
        self.inputs = inputs
        self.dead: set[int] = set()
        self.dead_inputs: dict[int, int] = {}
        self.outstanding = 0


class Frame:
    """A running while loop."""

    __slots__ = ("dead_exits", "enters_left", "invariants", "limit", "live", "name", "next_roots", "oldest", "parent")

    def __init__(self, name: str, parent: Iteration, enters: int, limit: int) -> None:
        self.name = name
        self.parent = parent
        self.enters_left = enters
        self.limit = limit
        self.live: list[Iteration] = []
        self.oldest = 0
        self.invariants: list[tuple[int, int]] = []
        self.next_roots: list[tuple[int, int]] = []
        self.dead_exits: dict[int, None] = {}


class _Pending(dict[int, int]):
    """Pending counts of one iteration, filled in as ops are touched."""

    __slots__ = ("initial",)

    def __init__(self, initial: list[int]) -> None:
        self.initial = initial

    def __missing__(self, key: int) -> int:
        return self.initial[key]


class _Inputs(dict[int, list[int]]):
    __slots__ = ("ops",)

    def __init__(self, plan: Plan) -> None:
        self.ops = plan.graph.ops

    def __missing__(self, key: int) -> list[int]:
        made = self[key] = [DEAD] * len(self.ops[key].inputs)
        return made


class Frames:
    """All frames of one simulated step.

    Attributes:
        root: the iteration outside of every loop.
        straight: whether the graph has no control flow at all, so that nothing is kept per iteration.
        trips: frame name -> iterations started, the largest over its runs.
    """

    def __init__(self, plan: Plan, *, straight: bool) -> None:
        self._plan = plan
        self.straight = straight
        inputs = [] if straight else [[DEAD] * len(op.inputs) for op in plan.graph.ops]
        self.root = Iteration(None, 0, list(plan.pending), inputs)
        self.trips: dict[str, int] = {}
        self._open: dict[tuple[int, str], Frame] = {}
        self._enters: dict[str, int] = {}
        self._forward: dict[int, int] = {}
        for index, kind in enumerate(plan.kinds):
            if kind == "enter":
                name = plan.graph.ops[index].attrs["frame_name"]
                self._enters[name] = self._enters.get(name, 0) + 1
            elif kind == "merge":
                sources = [producer for producer, _ in plan.graph.ops[index].inputs]
                self._forward[index] = sum(plan.kinds[producer] != "next" for producer in sources)

    def forward_inputs(self, merge: int) -> int:
        """How many data inputs of a `Merge` do not come from a previous iteration."""
        return self._forward[merge]

    def enter(self, index: int, where: Iteration, base: int) -> list[tuple[int, Iteration, int]]:
        """An `Enter` ran (`base` is `DEAD` if dead); returns what to propagate: (op, iteration, value)."""
        attrs = self._plan.graph.ops[index].attrs
        name = attrs["frame_name"]
        frame = self._open.get((id(where), name))
        if frame is None:
            frame = Frame(name, where, self._enters[name], int(attrs.get("parallel_iterations", 10)))
            self._open[id(where), name] = frame
            where.outstanding += 1
            self._new_iteration(frame)
        frame.enters_left -= 1
        if attrs.get("is_constant"):
            frame.invariants.append((index, base))
            return [(index, iteration, base) for iteration in frame.live]
        return [(index, frame.live[0], base)] if frame.oldest == 0 else []

    def next(self, index: int, where: Iteration, base: int) -> list[tuple[int, Iteration, int]]:
        """A live `NextIteration` ran."""
        frame = where.frame
        assert frame is not None
        last = frame.live[-1]
        if last is not where:
            return [(index, frame.live[where.number + 1 - frame.live[0].number], base)]
        if len(frame.live) >= frame.limit:
            frame.next_roots.append((index, base))
            return []
        started = self._new_iteration(frame)
        return [(op, started, value) for op, value in frame.invariants] + [(index, started, base)]

    def exit(self, index: int, where: Iteration, base: int) -> list[tuple[int, Iteration, int]]:
        """An `Exit` ran; a dead one counts only when its loop never yields a live one."""
        frame = where.frame
        assert frame is not None
        if base == DEAD:
            frame.dead_exits[index] = None
            return []
        frame.dead_exits.pop(index, None)
        return [(index, frame.parent, base)]

    def close(self, where: Iteration) -> tuple[list[tuple[int, Iteration, int]], Iteration | None]:
        """Iterations from the oldest on that are done leave their frame.

        Returns:
            (what to propagate then, the parent iteration if the whole frame is done).
        """
        frame = where.frame
        assert frame is not None
        propagate: list[tuple[int, Iteration, int]] = []
        while frame.live and frame.live[0].outstanding == 0 and (frame.oldest or not frame.enters_left):
            if len(frame.live) == 1 and not frame.next_roots:
                frame.live.clear()
                del self._open[id(frame.parent), frame.name]
                return [(index, frame.parent, DEAD) for index in frame.dead_exits], frame.parent
            if len(frame.live) > 1:
                frame.live.pop(0)
                frame.oldest += 1
            if frame.next_roots:
                started = self._new_iteration(frame)
                propagate += [(op, started, value) for op, value in (*frame.next_roots, *frame.invariants)]
                frame.next_roots = []
                if len(frame.live) == 2 and frame.live[0].outstanding == 0:
                    frame.live.pop(0)
                    frame.oldest += 1
                break
        return propagate, None

    def _new_iteration(self, frame: Frame) -> Iteration:
        number = frame.live[-1].number + 1 if frame.live else 0
        started = Iteration(frame, number, _Pending(self._plan.pending), _Inputs(self._plan))
        frame.live.append(started)
        self.trips[frame.name] = max(self.trips.get(frame.name, 0), number)
        return started
