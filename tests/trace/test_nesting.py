"""Which nodes run exactly once whenever their graph runs."""

from __future__ import annotations

import pytest

from tests.trace.node_defs import BOOL, FLOAT, graph, node

pytestmark = pytest.mark.tf


def test_what_is_in_loops_and_branches_is_told_from_what_is_not() -> None:
    from graphmem.trace.nesting import at_top

    given = graph(
        node("x", "_Arg", T=FLOAT),
        node("p", "_Arg", T=BOOL),
        node("enter", "Enter", "x", T=FLOAT, frame_name=b"loop"),
        node("merge", "Merge", "enter", "next", T=FLOAT),
        node("more", "LoopCond", "merge"),
        node("switch", "Switch", "merge", "more", T=FLOAT),
        node("choose", "Switch", "switch:1", "q", T=FLOAT),
        node("q", "IsFinite", "switch:1", T=FLOAT),
        node("either", "Merge", "choose", "then", T=FLOAT),
        node("then", "Relu", "choose:1", T=FLOAT),
        node("next", "NextIteration", "either", T=FLOAT),
        node("exit", "Exit", "switch", T=FLOAT),
        node("after", "Relu", "exit", T=FLOAT),
        node("branch", "Switch", "after", "p", T=FLOAT),
        node("left", "Neg", "branch", T=FLOAT),
        node("right", "Exp", "branch:1", T=FLOAT),
        node("waits", "NoOp", "^left"),
        node("joined", "Merge", "left", "right", T=FLOAT),
        node("end", "Relu", "joined", "^exit", T=FLOAT),
    )
    assert at_top(given) == {"x", "p", "exit", "after", "joined", "end"}
