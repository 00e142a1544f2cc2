"""Ops that TensorFlow has found to be cheap in earlier calls of a step: they run inline from then on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from graphmem.ops.cost import cycles, stays_expensive
from graphmem.runtime.executor import Schedule
from graphmem.runtime.plan import Plan


def warmed(plan: Plan, once: Schedule, calls: int) -> Plan:
    """The plan of a step that has run before, so that its executor has timed its ops.

    Args:
        plan: that of the first call.
        once: any schedule of one call: tells how often each op runs.
        calls: how many calls came before.
    """
    runs = Counter(once.ops)
    graph = plan.graph
    expensive = [
        counts and stays_expensive(cycles(graph.ops[index], graph), runs[index] * calls)
        for index, counts in enumerate(plan.expensive)
    ]
    return replace(plan, expensive=expensive)
