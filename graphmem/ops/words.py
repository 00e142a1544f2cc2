"""A row of the table in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphmem.ops.registry import Rule

VARIABLE_WORDS = {
    "read": "reads a variable: shares its buffer, or a copy after sparse updates",
    "assign": "a variable adopts the value's buffer",
    "update": "updates a variable in place; copies it first if a read of it is still held",
    "sparse": "updates or reads rows of a variable; later reads of it copy",
}
LIST_WORDS = {
    "reserve": "makes a list without elements",
    "push": "the list holds one more tensor",
    "pop": "hands on the list's last tensor",
    "set": "the list holds the tensor at an index",
    "get": "hands on a tensor that the list holds",
    "stack": "copies all elements into one tensor",
    "from_tensor": "the list holds the tensor's rows",
    "resize": "the list without its last tensors, or with places for more",
    "scatter": "the list holds copies of the rows of a tensor",
    "split": "the list holds copies of parts of a tensor",
    "join": "a list of the tensors of two",
    "length": "asks the list, holds nothing",
    "pack": "an optional that holds its inputs",
    "fetch": "an optional that holds the next element of a pipeline",
    "object": "makes a stack or an array without elements",
    "gradient_object": "the array of an array's gradients",
    "object_push": "the stack holds its input as well",
    "object_pop": "hands on the stack's last tensor",
    "object_set": "the array holds the tensor at an index",
    "object_get": "hands on a tensor that the array holds",
    "object_stack": "copies all elements into one tensor",
    "object_scatter": "the array holds copies of parts of a tensor",
    "object_size": "asks the array, holds nothing",
    "object_close": "the stack or array lets go of its tensors",
    "unpack": "hands on what the optional holds",
}
CONTROL_WORDS = {
    "switch": "hands its input on to one of two branches",
    "merge": "hands on the input that is alive",
    "enter": "hands its input into a loop",
    "exit": "hands its input out of a loop",
    "next": "hands its input to the loop's next iteration",
    "cond": "decides whether the loop goes on",
}


def describe(rule: Rule) -> list[str]:
    """What a row says, a phrase for each thing; one phrase for a row that says nothing more."""
    phrases = [words[key] for words, key in _special(rule) if key]
    if rule.view and not rule.control:
        phrases.append("view of input 0" if len(rule.view) == 1 else "each output is a view of its input")
    if rule.view_if is not None:
        phrases.append("view if it can be")
    if rule.forward:
        phrases.append(_forwarding(rule))
    if rule.cpu_scratch is not None:
        phrases.append("scratch on the CPU")
    if rule.gpu_scratch is not None:
        phrases.append("scratch on the GPU")
    if rule.workspace is not None:
        phrases.append("cuDNN workspace")
    return phrases or ["new outputs, no scratch"]


def explain(rule: Rule) -> list[str]:
    """The conditions and formulas behind the phrases of `describe`, a line each."""
    named = (("view", rule.view_if), ("CPU scratch", rule.cpu_scratch), ("GPU scratch", rule.gpu_scratch))
    return [f"{what}: {_first_line(function)}" for what, function in named if function is not None]


def as_plain(rule: Rule) -> dict[str, Any]:
    """A row as plain data for JSON."""
    return {
        "memory": describe(rule),
        "formulas": explain(rule),
        "view": bool(rule.view),
        "view_if": rule.view_if is not None,
        "forward": {str(slot): list(places) for slot, places in rule.forward},
        "cpu_scratch": rule.cpu_scratch is not None,
        "gpu_scratch": rule.gpu_scratch is not None,
        "inline": rule.inline,
        "variable": rule.variable,
        "list_op": rule.list_op,
        "control": rule.control,
        "source": rule.source,
    }


def _special(rule: Rule) -> tuple[tuple[dict[str, str], str], ...]:
    return (VARIABLE_WORDS, rule.variable), (LIST_WORDS, rule.list_op), (CONTROL_WORDS, rule.control)


def _forwarding(rule: Rule) -> str:
    def places(positions: tuple[int, ...]) -> str:
        return "any input" if positions == (-1,) else "input " + " or ".join(map(str, positions))

    if len(rule.forward) == 1 and rule.forward[0][0] == 0:
        return f"takes over {places(rule.forward[0][1])}"
    return ", ".join(f"output {slot} takes over {places(positions)}" for slot, positions in rule.forward)


def _first_line(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip().splitlines()[0].rstrip(".")
