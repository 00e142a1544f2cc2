"""What loops carry round unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from tests.trace.node_defs import FLOAT, graph, node

pytestmark = pytest.mark.tf


def _carried(name: str, source: str, back: str, frame: str = "loop") -> list[Any]:
    """The nodes that carry a value round; `back` is what the next iteration gets."""
    return [
        node(f"enter_{name}", "Enter", source, T=FLOAT, frame_name=frame.encode()),
        node(name, "Merge", f"enter_{name}", f"next_{name}", T=FLOAT),
        node(f"switch_{name}", "Switch", name, "cond", T=FLOAT),
        node(f"next_{name}", "NextIteration", back, T=FLOAT),
        node(f"exit_{name}", "Exit", f"switch_{name}", T=FLOAT),
    ]


def test_what_comes_round_as_it_was_is_told_from_what_changes() -> None:
    from graphmem.trace.carried import changing

    given = graph(
        node("x", "_Arg", T=FLOAT),
        node("cond", "LoopCond", "x"),
        *_carried("kept", "x", "handed"),
        node("handed", "Identity", "switch_kept:1", T=FLOAT),
        *_carried("counted", "x", "more"),
        node("more", "AddV2", "switch_counted:1", "switch_kept:1", T=FLOAT),
        *_carried("swapped", "x", "switch_kept:1"),
        *_carried("through", "x", "exit_inner"),
        *_carried("inner", "switch_through:1", "switch_inner:1", "inner"),
        *_carried("altered", "x", "exit_inside"),
        *_carried("inside", "switch_altered:1", "negative", "inner"),
        node("negative", "Neg", "switch_inside:1", T=FLOAT),
    )
    assert changing(given) == {"counted", "swapped", "altered", "inside"}
