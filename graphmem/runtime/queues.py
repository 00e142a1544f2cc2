"""How an executor picks the next of the ready ops: one class per order."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from typing import Protocol

from graphmem.runtime.frames import Iteration
from graphmem.runtime.plan import Plan

Ready = tuple[int, Iteration, bool]
"""(op, the iteration it runs in, whether it is dead)"""


class Queue(Protocol):
    """Ready ops; `add` gets those that one finished op makes ready, in order."""

    def add(self, ready: list[Ready]) -> None:
        """Take in newly ready ops."""

    def take(self) -> Ready | None:
        """The op to run next, `None` when all are done."""


class CpuQueue:
    """The CPU executor with one inter-op worker: an inline queue before a stack of tasks."""

    def __init__(self, plan: Plan) -> None:
        self._expensive = plan.expensive
        self._inline: deque[Ready] = deque()
        self._stack: list[Ready] = []

    def add(self, ready: list[Ready]) -> None:
        """See `ScheduleReady` in executor.cc."""
        expensive, held = self._expensive, None
        for item in ready:
            if item[2] or not expensive[item[0]]:
                self._inline.append(item)
            else:
                if held is not None:
                    self._stack.append(held)
                held = item
        if held is not None:
            (self._stack if self._inline else self._inline).append(held)

    def take(self) -> Ready | None:
        """Inline ops first, then the front of the stack."""
        if self._inline:
            return self._inline.popleft()
        return self._stack.pop() if self._stack else None


class BreadthFirstQueue:
    """One first-in-first-out queue: the GPU executor, whose kernels are never expensive."""

    def __init__(self, plan: Plan) -> None:
        self._queue: deque[Ready] = deque()

    def add(self, ready: list[Ready]) -> None:
        """Append."""
        self._queue.extend(ready)

    def take(self) -> Ready | None:
        """The oldest."""
        return self._queue.popleft() if self._queue else None


class _PriorityQueue:
    """Of the ready ops, the one with the smallest key first; of one op in several iterations, the `latest` or not."""

    def __init__(self, keys: list[int], *, latest: bool = False) -> None:
        self._keys = keys
        self._sign = -1 if latest else 1
        self._heap: list[tuple[int, int, int, Ready]] = []
        self._added = 0

    def add(self, ready: list[Ready]) -> None:
        """Push by key."""
        for item in ready:
            self._added += 1
            heapq.heappush(self._heap, (self._keys[item[0]], self._sign * item[1].number, self._added, item))

    def __bool__(self) -> bool:
        return bool(self._heap)

    def take(self) -> Ready | None:
        """The smallest key; among equals the oldest."""
        return heapq.heappop(self._heap)[3] if self._heap else None


class GraphQueue(_PriorityQueue):
    """Graph order: of the ready ops the one that stands first in the GraphDef."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(list(range(len(plan.node_ids))))


class DeterministicQueue:
    """`TF_DETERMINISTIC_ORDER=1`: the CPU's queue whose inline part takes the largest node id first.

    `OrderedPropagatorState` replaces the inline queue by a priority queue, in which the latest iteration of an op comes
    first; expensive ops go to the pool as ever. TensorFlow compares a hash of the frame's name before the iteration:
    two runs of an inner loop at the same time are taken by age here.
    """

    def __init__(self, plan: Plan) -> None:
        self._expensive = plan.expensive
        self._inline = _PriorityQueue([-node_id for node_id in plan.node_ids], latest=True)
        self._stack: list[Ready] = []

    def add(self, ready: list[Ready]) -> None:
        """See `ScheduleReady` in executor.cc."""
        inline = [item for item in ready if item[2] or not self._expensive[item[0]]]
        expensive = [item for item in ready if not (item[2] or not self._expensive[item[0]])]
        self._inline.add(inline)
        self._stack += expensive[:-1]
        if expensive and self._inline:
            self._stack.append(expensive[-1])
        else:
            self._inline.add(expensive[-1:])

    def take(self) -> Ready | None:
        """Inline ops first, then the front of the stack."""
        return self._inline.take() or (self._stack.pop() if self._stack else None)


QUEUES: dict[str, Callable[[Plan], Queue]] = {
    "default": CpuQueue,
    "breadth-first": BreadthFirstQueue,
    "graph": GraphQueue,
    "deterministic": DeterministicQueue,
}
