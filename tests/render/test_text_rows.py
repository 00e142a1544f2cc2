"""Which rows a bounded list shows: whatever it hides stays in its sums."""

from __future__ import annotations

import doctest
import random
from types import ModuleType

import pytest

from graphmem.render import rows, scope_tree
from graphmem.render.rows import group_frontier, largest, shorten
from graphmem.render.scope_tree import TreeRow, fold_scopes
from graphmem.report.report import FrontierBuffer, ScopeRow
from tests.example_reports import CASES, buffer, scope_rows


def add_up(rows: list[TreeRow]) -> None:
    """Every row with rows beneath it is their sum, in bytes and in tensors."""
    for index, row in enumerate(rows):
        below = []
        for other in rows[index + 1 :]:
            if other.depth <= row.depth:
                break
            if other.depth == row.depth + 1:
                below.append(other)
        if below:
            assert (row.bytes, row.tensors) == (sum(r.bytes for r in below), sum(r.tensors for r in below)), row.label


def random_frontier(seed: int) -> list[FrontierBuffer]:
    pick = random.Random(seed)
    scopes = ["", "a", "a/b", "a/b/c", "a/b/d", "a/e", "f/g/h", "i", "i/j_1", "i/j_2", "i/j_3"]
    items = []
    for index in range(pick.randint(1, 30)):
        size = pick.choice([0, 4, 100, 100, pick.randint(1, 10**6)])
        item = buffer(size, (size,), "activation", "forward", pick.choice(scopes), "Mul", op=f"op{index}")
        items.append(item)
    return items


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 5, 8, 100])
@pytest.mark.parametrize("seed", range(20))
def test_folded_scopes_add_up_at_any_limit(seed: int, limit: int) -> None:
    frontier = random_frontier(seed)
    rows = fold_scopes(scope_rows(frontier), limit)
    assert rows[0].bytes == sum(item.bytes for item in frontier)
    assert rows[0].tensors == len(frontier)
    add_up(rows)


@pytest.mark.parametrize("case", CASES)
def test_folded_scopes_of_the_examples_add_up(case: str) -> None:
    add_up(fold_scopes(CASES[case]().by_scope, 10))


def test_the_whole_tree_by_hand() -> None:
    rows = [
        ScopeRow("", 0, 100, 5, 9),
        ScopeRow("net", 1, 95, 0, 8),
        ScopeRow("net/enc", 2, 60, 10, 5),
        ScopeRow("net/enc/a", 3, 30, 30, 1),
        ScopeRow("net/enc/b", 3, 15, 15, 1),
        ScopeRow("net/enc/c", 3, 5, 5, 1),
        ScopeRow("net/dec", 2, 35, 35, 3),
    ]
    assert fold_scopes(rows, 4) == [
        TreeRow("whole step", 0, 100, 9),
        TreeRow("net", 1, 95, 8),
        TreeRow("enc", 2, 60, 5),
        TreeRow("a", 3, 30, 1),
        TreeRow("… 3 others", 3, 30, 4),
        TreeRow("dec", 2, 35, 3),
        TreeRow("(no layer)", 1, 5, 1),
    ]
    assert fold_scopes(rows, 6)[3:6] == [TreeRow("a", 3, 30, 1), TreeRow("b", 3, 15, 1), TreeRow("(itself)", 3, 10, 2)]


def test_many_repeated_layers_share_a_row_and_so_do_their_parts() -> None:
    rows = [ScopeRow("", 0, 86, 0, 10)]
    for layer in range(4):
        rows += [
            ScopeRow(f"layer_{layer}", 1, 20, 1, 2),
            ScopeRow(f"layer_{layer}/attention", 2, 10 + layer, 10 + layer, 1),
            ScopeRow(f"layer_{layer}/norm", 2, 9 - layer, 9 - layer, 0),
        ]
    rows += [ScopeRow("head", 1, 6, 6, 2)]
    assert fold_scopes(rows, 3) == [
        TreeRow("whole step", 0, 86, 10),
        TreeRow("layer_{0–3}", 1, 80, 8),
        TreeRow("attention", 2, 46, 4),
        TreeRow("norm", 2, 30, 0),
        TreeRow("(itself)", 2, 4, 4),
        TreeRow("head", 1, 6, 2),
    ]
    assert [row.label for row in fold_scopes(rows, 4)][1:3] == ["layer_0", "layer_1"]


def test_layers_of_one_kind_share_a_row_only_if_they_are_alike() -> None:
    sizes = {"conv2d": 9, "conv2d_1": 8, "conv2d_2": 8, "dense": 7, "block1_conv1": 6, "block1_conv2": 5, "add": 4}
    rows = [ScopeRow("", 0, 47, 0, 7), *(ScopeRow(name, 1, size, size, 1) for name, size in sizes.items())]
    assert [(row.label, row.bytes) for row in fold_scopes(rows, 5)] == [
        ("whole step", 47),
        ("conv2d_{1,2}", 16),
        ("block1_conv{1,2}", 11),
        ("conv2d", 9),
        ("dense", 7),
        ("add", 4),
    ]


def test_a_chain_of_single_scopes_is_one_row() -> None:
    rows = [
        ScopeRow("", 0, 8, 0, 2),
        ScopeRow("a", 1, 8, 0, 2),
        ScopeRow("a/b", 2, 8, 0, 2),
        ScopeRow("a/b/c", 3, 8, 8, 2),
    ]
    assert [row.label for row in fold_scopes(rows, 10)] == ["whole step", "a/b/c"]


@pytest.mark.parametrize("seed", range(10))
def test_grouped_buffers_add_up(seed: int) -> None:
    frontier = random_frontier(seed)
    groups = group_frontier(frontier)
    assert sum(len(group.buffers) for group in groups) == len(frontier)
    assert sum(group.bytes or 0 for group in groups) == sum(item.bytes or 0 for item in frontier)
    assert [group.bytes for group in groups] == sorted((group.bytes for group in groups), reverse=True)


def test_buffers_that_differ_in_a_number_of_their_layer_are_one_group() -> None:
    frontier = [
        *(
            buffer(64, (16,), "activation", "forward", f"block_{n}/dense", "Relu", "ReluGrad", op=f"r{n}")
            for n in (1, 2, 3)
        ),
        buffer(64, (16,), "activation", "forward", "block_4/dense", "Tanh", "TanhGrad"),
        buffer(None, None, "activation", "forward", "text", "StringSplit", "Cast", dtype="string"),
    ]
    groups = group_frontier(frontier)
    assert [(group.scope, len(group.buffers), group.bytes) for group in groups] == [
        ("block_{1–3}/dense", 3, 192),
        ("block_4/dense", 1, 64),
        ("text", 1, None),
    ]


def test_largest_shows_a_single_other_instead_of_counting_it() -> None:
    sizes = {"a": 1, "b": 3, "c": 2}
    assert largest(sizes, 1) == ([("b", 3)], 2, 3)
    assert largest(sizes, 2) == ([("b", 3), ("c", 2), ("a", 1)], 0, 0)
    assert largest({"a": 1, "b": 3000, "c": 2}, 5) == ([("b", 3000)], 2, 3)


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("conv2_block1_3_bn", 17, "conv2_block1_3_bn"),
        ("conv2_block1_3_bn", 12, "conv2_…3_bn"),
        ("bidirectionalencoder", 16, "bidir…nalencoder"),
        ("a_bidirectionalencoder", 16, "a_bid…nalencoder"),
        ("encoder/layer_3/softmax", 16, "encoder/…softmax"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_shorten_keeps_the_end(text: str, width: int, short: str) -> None:
    assert shorten(text, width) == short
    assert len(shorten(text, width)) <= width


@pytest.mark.parametrize("module", [rows, scope_tree])
def test_the_examples_in_the_docstrings_hold(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)
