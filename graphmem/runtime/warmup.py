"""Ops that TensorFlow has found to be cheap in earlier calls of a step: they run inline from then on."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from graphmem.ops.cost import cycles, stays_expensive
from graphmem.runtime.executor import Schedule
from graphmem.runtime.plan import Plan

#: Factor by which the cycles of an op differ from process to process, either way.
_SPREAD = 1.6


def warmed(plan: Plan, once: Schedule, calls: int, draw: int = 0) -> Plan:
    """The plan of a step that has run before, so that its executor has timed its ops.

    Args:
        plan: that of the first call.
        once: any schedule of one call: tells how often each op runs.
        calls: how many calls came before.
        draw: which of many processes: decides the ops that are about as long as the limit.
    """
    rng = random.Random(draw)
    runs = Counter(once.ops)
    graph = plan.graph

    def stays(index: int) -> bool:
        per_run = cycles(graph.ops[index], graph)
        return per_run is None or stays_expensive(per_run * _SPREAD ** rng.uniform(-1, 1), runs[index] * calls)

    return replace(plan, expensive=[counts and stays(index) for index, counts in enumerate(plan.expensive)])
