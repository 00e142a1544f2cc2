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

#: Tasks that a worker's queue holds (Eigen, RunQueue.h); one more runs at once, in the middle of what runs.
_LONGEST = 1024
#: So many expensive ops that one op makes ready go to the pool as tasks that put up to as many there
#: (executor.cc, kInlineScheduleReadyThreshold).
_CHUNK = 500

_Task = Ready | list[Ready]


class _Inline(Protocol):
    """Ops that run one after another in one task."""

    def append(self, item: Ready, /) -> None: ...
    def popleft(self) -> Ready: ...
    def __len__(self) -> int: ...


class Queue(Protocol):
    """Ready ops; `add` gets those that one finished op makes ready, in order."""

    def add(self, ready: list[Ready]) -> None:
        """Take in newly ready ops."""

    def take(self) -> Ready | None:
        """The op to run next, `None` when all are done."""


class CpuQueue:
    """The CPU executor with one inter-op worker: an inline queue before a stack of tasks.

    Attributes:
        _inline: ops that run before any task.
        _stack: tasks of the worker, the next one last.
        _todo: tasks still to be put on the stack, the next one last.
        _outer: what was left of both when a task found the stack full and ran at once.
    """

    def __init__(self, plan: Plan) -> None:
        self._expensive = plan.expensive
        self._inline = self._new_inline()
        self._stack: list[_Task] = []
        self._todo: list[_Task] = []
        self._outer: list[tuple[_Inline, list[_Task]]] = []

    def _new_inline(self) -> _Inline:
        queue: deque[Ready] = deque()
        return queue

    def add(self, ready: list[Ready]) -> None:
        """See `ScheduleReady` in executor.cc."""
        expensive, inline = self._expensive, self._inline
        waiting: list[Ready] = []
        for item in ready:
            if item[2] or not expensive[item[0]]:
                inline.append(item)
            else:
                waiting.append(item)
        if waiting and not inline:
            inline.append(waiting.pop())
        if not waiting:
            return
        tasks: list[_Task] = [*waiting]
        if len(waiting) >= _CHUNK:
            tasks = [waiting[start : start + _CHUNK] for start in range(0, len(waiting), _CHUNK)]
        if len(self._stack) + len(tasks) <= _LONGEST:
            self._stack += tasks
        else:
            self._todo = tasks[::-1]

    def take(self) -> Ready | None:
        """Inline ops first, then the front of the stack."""
        while not self._inline or self._todo:
            if self._todo:
                task = self._todo.pop()
                if len(self._stack) < _LONGEST:
                    self._stack.append(task)
                    continue
                self._outer.append((self._inline, self._todo))
                self._inline, self._todo = self._new_inline(), []
            elif self._outer:
                self._inline, self._todo = self._outer.pop()
                continue
            elif self._stack:
                task = self._stack.pop()
            else:
                return None
            if isinstance(task, list):
                self._todo = [*reversed(task)]
            else:
                self._inline.append(task)
        return self._inline.popleft()


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

    def append(self, item: Ready) -> None:
        """Push by key."""
        self._added += 1
        heapq.heappush(self._heap, (self._keys[item[0]], self._sign * item[1].number, self._added, item))

    def popleft(self) -> Ready:
        """The smallest key; among equals the oldest."""
        return heapq.heappop(self._heap)[3]

    def __len__(self) -> int:
        return len(self._heap)


class GraphQueue:
    """Graph order: of the ready ops the one that stands first in the GraphDef."""

    def __init__(self, plan: Plan) -> None:
        self._queue = _PriorityQueue(list(range(len(plan.node_ids))))

    def add(self, ready: list[Ready]) -> None:
        """Push by place."""
        for item in ready:
            self._queue.append(item)

    def take(self) -> Ready | None:
        """The first."""
        return self._queue.popleft() if self._queue else None


class DeterministicQueue(CpuQueue):
    """`TF_DETERMINISTIC_ORDER=1`: the CPU's queue whose inline part takes the largest node id first.

    `OrderedPropagatorState` replaces the inline queue by a priority queue, in which the latest iteration of an op comes
    first; expensive ops go to the pool as ever. TensorFlow compares a hash of the frame's name before the iteration:
    two runs of an inner loop at the same time are taken by age here.
    """

    def __init__(self, plan: Plan) -> None:
        self._keys = [-node_id for node_id in plan.node_ids]
        super().__init__(plan)

    def _new_inline(self) -> _PriorityQueue:
        return _PriorityQueue(self._keys, latest=True)


QUEUES: dict[str, Callable[[Plan], Queue]] = {
    "default": CpuQueue,
    "breadth-first": BreadthFirstQueue,
    "graph": GraphQueue,
    "deterministic": DeterministicQueue,
}
