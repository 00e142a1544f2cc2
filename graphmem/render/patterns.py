"""Names of repeated layers: what they share, and one text for many of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

NEARLY = 0.9
"""The share of the bytes that makes a path the model's own name."""

_NUMBER = re.compile(r"(\d+)")
_SUFFIX = re.compile(r"_(\d+)$")


def skeleton(name: str) -> str:
    """The name without what tells repeated layers apart: counters that Keras appends, and other numbers.

    >>> skeleton("encoder/block_3/conv2d_1"), skeleton("encoder/block/conv2d")
    ('encoder/block/conv#d', 'encoder/block/conv#d')
    """
    return _NUMBER.sub("#", "/".join(_SUFFIX.sub("", part) for part in name.split("/")))


def pattern(names: Iterable[str]) -> str:
    """One text for names of the same skeleton: their varying numbers in braces.

    >>> pattern(["conv2_block1_out", "conv2_block2_out", "conv2_block3_out"])
    'conv2_block{1–3}_out'
    >>> pattern(["dense", "dense_2", "dense_3"]), pattern(["conv2_bn", "conv2_relu"]), pattern(["a", "b", "c"])
    ('dense{,_2,_3}', 'conv2_*', 'a and 2 others')
    """
    distinct = sorted(set(names), key=_natural)
    if len({skeleton(name) for name in distinct}) != 1:
        start = _start(distinct)
        others = len(distinct) - 1
        return f"{start}*" if start else f"{distinct[0] or 'top'} and {others} other{'s' if others > 1 else ''}"
    return "".join(_slot(sorted(set(column), key=_natural)) for column in zip(*map(_slots, distinct), strict=True))


def model_scope(sizes: Mapping[str, int]) -> str:
    """The path, with a slash at the end, below which nearly all bytes are: the model's own name, or "".

    Args:
        sizes: scope -> bytes.

    >>> model_scope({"gpt/block_1/ffn": 50, "gpt/block_1/norm": 45, "gpt/logits": 90, "loss": 4, "": 9})
    'gpt/'
    >>> model_scope({"generator/dense": 50, "critic/dense": 50}), model_scope({"gpt/logits": 9})
    ('', '')
    """
    path, total = "", sum(size for scope, size in sizes.items() if scope)
    while True:
        heads: dict[str, dict[str, int]] = {}
        for scope in sorted(sizes):
            first, _, rest = scope.removeprefix(path).partition("/")
            if scope.startswith(path) and rest:
                heads.setdefault(first, {})[scope] = sizes[scope]
        below = max(heads, key=lambda first: sum(heads[first].values()), default="")
        if len(heads.get(below, {})) < 2 or sum(heads[below].values()) < NEARLY * total:
            return path
        path += f"{below}/"


def _start(names: Sequence[str]) -> str:
    """What the names start with, cut after a separator."""
    start = ""
    for words in zip(*(re.split(r"(?<=[/_])", name) for name in names), strict=False):
        if len(set(words)) > 1:
            break
        start += words[0]
    return start


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), part) if part.isdecimal() else (-1, part) for part in _NUMBER.split(name)]


def _slots(name: str) -> list[str]:
    """Fixed texts and numbers; names of one skeleton have as many, a missing counter being an empty one."""
    slots: list[str] = []
    for component in name.split("/"):
        base = _SUFFIX.sub("", component)
        slots += ["/" if slots else "", *_NUMBER.split(base), component[len(base) :]]
    return slots


def _slot(values: Sequence[str]) -> str:
    """The sorted values of one slot: as it is if there is one, else `{1–3}`, `_{1,4}`, `{,_1–3}`."""
    if len(values) == 1:
        return values[0]
    mark = "_" if values[-1].startswith("_") else ""
    numbers = [value.removeprefix("_") for value in values if value]
    if len(numbers) < len(values):
        return "{," + mark + _ranges(numbers, mark) + "}"
    return mark + "{" + _ranges(numbers) + "}"


def _ranges(numbers: Sequence[str], mark: str = "") -> str:
    """Sorted numbers as text: `1–3,7`; only the first and the last if that would be long."""
    runs: list[list[str]] = []
    for number in numbers:
        if runs and int(number) == int(runs[-1][-1]) + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    separator = "," + mark
    parts = [f"{run[0]}–{run[-1]}" if len(run) > 2 else separator.join(run) for run in runs]
    text = separator.join(parts)
    return text if len(text) <= 9 else f"{numbers[0]}…{numbers[-1]}"


def numbers_of(names: Sequence[str]) -> list[int] | None:
    """The number that tells names of one skeleton apart, 0 where there is none; `None` if more than one number varies.

    >>> numbers_of(["conv2d", "conv2d_16"]), numbers_of(["b1_c1", "b2_c2"])
    ([0, 16], None)
    """
    varying = [column for column in zip(*map(_slots, names), strict=True) if len(set(column)) > 1]
    return [int(value.removeprefix("_") or 0) for value in varying[0]] if len(varying) == 1 else None


def head(scope: str) -> str:
    """The first word of a scope, without a counter: the block or the kind of layer that it belongs to.

    >>> head("conv2_block1_out"), head("batch_normalization_3"), head("")
    ('conv2', 'batch', '')
    """
    return scope.split("/", 1)[0].split("_", 1)[0]
