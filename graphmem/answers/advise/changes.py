"""A change that may lower the peak, as what is to be tried; and one that cannot be tried, with the reason."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("optimizer", "precision", "batch", "recompute", "freeze", "embedding", "loss", "runtime")
"""The kinds of changes that are tried."""


@dataclass(frozen=True)
class Change:
    """What is to be tried.

    Attributes:
        kind: one of `KINDS`.
        name: what is done, a few words: "SGD instead of Adam".
        costs: what is lost by it, one sentence.
        snippet: Python that does it, for the user's own code.
        edits: whether the snippet is what is analysed: it is run on the model.
        batch: samples of a step, if the change makes it another.
        policy: the dtype policy that the target is built under, if it is that.
        runtime: the runtime, if it is that.
    """

    kind: str
    name: str
    costs: str
    snippet: str
    edits: bool = False
    batch: int | None = None
    policy: str = ""
    runtime: str = ""


@dataclass(frozen=True)
class Untried:
    """What was not tried.

    Attributes:
        kind, name: as of a `Change`.
        reason: why not, one sentence.
    """

    kind: str
    name: str
    reason: str


Proposal = Change | Untried
