"""Folding and clustering: hand-made buffers with the full expected groups, and the law that nothing gets lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.errors import InternalError
from graphmem.render.clusters import MANY, cluster
from graphmem.render.fold import Group, check_totals, fold, fold_to, levels
from graphmem.render.patterns import head, model_scope, pattern, skeleton
from graphmem.report.report import FrontierBuffer
from tests.example_reports import MIB, buffer
from tests.render.frontier_cases import CASES, PEAK


def activation(scope: str, size: int | None = MIB, **changes: object) -> FrontierBuffer:
    return buffer(size, (size or 0,), "activation", "forward", scope, "Relu", "ReluGrad", **changes)


def scopes(groups: list[Group]) -> list[tuple[str, int]]:
    return [(group.scope, len(group.buffers)) for group in groups]


def finest(buffers: list[FrontierBuffer]) -> list[tuple[str, int]]:
    return sorted(scopes(fold(buffers, levels(PEAK)[0])))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a"], "a"),
        ([""], ""),
        (["conv2_block1_1_conv", "conv2_block1_2_conv", "conv2_block2_1_conv"], "conv2_block{1,2}_{1,2}_conv"),
        (["layer_01", "layer_02", "layer_03"], "layer_{01–03}"),
        (["dense", "dense_1"], "dense{,_1}"),
        (["dense", "dense_1", "dense_2", "dense_3"], "dense{,_1–3}"),
        (["d_1", "d_20", "d_31", "d_45", "d_77"], "d_{1…77}"),
        (["block_0/ffn/dense", "block_1/ffn/dense_1"], "block_{0,1}/ffn/dense{,_1}"),
        (["enc/a", "enc/b"], "enc/*"),
        (["", "x"], "top and 1 other"),
        (["²", "³"], "² and 1 other"),  # digits to Unicode, no decimal numbers to int()
    ],
)
def test_pattern(names: list[str], expected: str) -> None:
    assert pattern(names) == expected


def test_a_pattern_does_not_depend_on_the_order_of_the_names() -> None:
    names = ["conv_10", "conv_2", "conv", "conv_9"]
    assert pattern(names) == pattern(reversed(names)) == "conv{,_2,_9,_10}"


def test_skeletons_take_out_numbers_only() -> None:
    assert skeleton("conv2d_12/b1") == skeleton("conv2d/b7") == "conv#d/b#"
    assert skeleton("conv2d/relu") != skeleton("conv2d/bn")


def test_heads_and_model_scopes() -> None:
    assert [head(name) for name in ("conv2_block1_out", "enc/block_1", "")] == ["conv2", "enc", ""]
    assert model_scope({"net/a/x": 1, "net/a/y": 1}) == "net/a/"
    assert model_scope({"net/a": 99, "net/b": 1, "loss": 9, "net": 1, "": 10**6}) == "net/"
    assert model_scope({"net/a": 50, "net/b": 30, "loss": 20}) == ""
    assert model_scope({"net/a": 1, "network/b": 1}) == ""
    assert model_scope({}) == model_scope({"": 5}) == model_scope({"net/a": 5}) == ""


def test_repeated_blocks_fold_into_one() -> None:
    assert finest([activation(f"block_{n}/relu") for n in range(16)]) == [("block_{0–15}/relu", 16)]


def test_what_differs_stays_apart() -> None:
    base = activation("block_1/relu")
    others = [
        activation("block_2/relu", 2 * MIB),
        activation("block_2/gelu"),
        activation("block_2/relu", dtype="float16"),
        buffer(MIB, (MIB,), "gradient", "backward", "block_2/relu", "Relu", "ReluGrad"),
        buffer(MIB, (MIB,), "activation", "forward", "block_2/relu", "Gelu", "ReluGrad"),
        activation("block_2/relu", freed=PEAK + 1),
    ]
    for other in others:
        assert len(finest([base, other])) == 2


def test_encoder_and_decoder_of_one_shape_stay_apart() -> None:
    names = ["conv2d", "conv2d_1", "conv2d_16", "conv2d_17"]
    assert finest([activation(name) for name in names]) == [("conv2d_{16,17}", 2), ("conv2d{,_1}", 2)]


def test_a_counter_of_zero_counts_as_none() -> None:
    assert finest([activation(name) for name in ("relu", "relu", "relu_0")]) == [("relu{,_0}", 3)]


def test_a_group_stands_where_its_largest_was_born() -> None:
    small, large = (replace(activation("a", size), born=born) for size, born in ((1, 3), (9, 7)))
    assert Group((small, large), "a").born == 7


def test_a_regular_series_folds_whatever_its_stride() -> None:
    assert finest([activation(f"dense_{n}") for n in (1, 3, 5, 7)]) == [("dense_{1,3,5,7}", 4)]
    assert finest([activation(f"dense_{n}") for n in (1, 2, 5, 6, 9, 10)]) == [("dense_{1…10}", 6)]


def test_the_rest_is_what_is_small_or_too_much() -> None:
    buffers = [activation(name, size) for name, size in (("a", 100), ("b", 90), ("c", 80), ("d", 1), ("e", 1))]
    kept, rest = fold_to(buffers, 3, PEAK)
    assert (scopes(kept), [item.scope for item in rest]) == ([("a", 1), ("b", 1), ("c", 1)], ["d", "e"])
    assert [scopes(fold_to(buffers[:4], 4, PEAK)[0])] == [
        [("a", 1), ("b", 1), ("c", 1), ("d", 1)]
    ]  # no box for one small


def test_a_coarser_folding_is_taken_where_the_fine_one_hides_too_much() -> None:
    """Shapes that all differ, as in DenseNet: a box for each would show a fraction."""
    buffers = [activation(f"conv2_block{n}_concat", 100 + n) for n in range(20)]
    assert scopes(fold_to(buffers, 4, PEAK)[0]) == [("conv2_block{0–19}_concat", 20)]
    buffers = [activation(f"conv{n % 2}_{chr(97 + n)}", 100 + n) for n in range(20)]
    assert scopes(fold_to(buffers, 4, PEAK)[0]) == [("conv0_*", 10), ("conv1_*", 10)]


def test_tiny_buffers_do_not_blur_the_shape_of_large_ones() -> None:
    large = [
        buffer(size, (8, size // 8), "activation", "forward", f"b_{n}/x", "Mul") for n, size in enumerate((8000, 7200))
    ]
    tiny = [buffer(4, (1, 1), "activation", "forward", f"b_{n}/x", "Mul") for n in range(3)]
    kept, rest = fold_to(large + tiny, 1, PEAK)
    assert [set(group.buffers) for group in kept] == [set(large)]
    assert set(rest) == set(tiny)


def test_what_the_op_at_the_peak_touches_is_shown_first() -> None:
    buffers = [activation(f"x{chr(97 + n)}", 100) for n in range(10)] + [activation("last", 50, freed=PEAK + 1)]
    kept, _ = fold_to(buffers, 9, PEAK)
    assert "last" in [group.scope for group in kept]


def test_unknown_sizes_get_a_quarter_of_the_places() -> None:
    buffers = [activation(f"k{chr(97 + n)}", 100) for n in range(10)]
    buffers += [activation(f"u{chr(97 + n)}", None) for n in range(10)]
    kept, rest = fold_to(buffers, 8, PEAK)
    assert sorted(group.unknown for group in kept) == [0] * 6 + [1] * 2
    assert sum(item.bytes is None for item in rest) == 8


def test_a_lost_or_doubled_buffer_is_an_internal_error() -> None:
    one, two = activation("a"), activation("b")
    check_totals([Group((one,), "a")], [two], [one, two])
    with pytest.raises(InternalError, match="2 buffers in, 1 out"):
        check_totals([Group((one,), "a")], [], [one, two])
    with pytest.raises(InternalError, match="2 buffers in, 3 out"):
        check_totals([Group((one, two), "a")], [two], [one, two])


BUFFERS = st.lists(
    st.builds(
        activation,
        st.from_regex(r"(enc|dec|conv[1-5])?(_block[0-9])?(/(relu|bn)(_[0-9]{1,2})?)?", fullmatch=True),
        st.one_of(st.none(), st.integers(0, 1000)),
        freed=st.sampled_from([PEAK + 1, PEAK + 2]),
    ),
    max_size=40,
)


@given(BUFFERS, st.integers(1, 18), st.one_of(st.none(), st.integers(0, 3)))
@settings(max_examples=100, deadline=None)
def test_bytes_and_buffers_are_preserved(buffers: list[FrontierBuffer], top: int, depth: int | None) -> None:
    kept, rest = fold_to(buffers, top, PEAK)
    assert len(kept) <= top
    shown, hidden = sum(group.bytes for group in kept), sum(item.bytes or 0 for item in rest)
    assert shown + hidden == sum(item.bytes or 0 for item in buffers)
    assert sum(len(group.buffers) for group in kept) + len(rest) == len(buffers)
    clusters = cluster(kept, depth)
    assert sorted(id(group) for part in clusters for group in part.groups) == sorted(map(id, kept))
    assert all(group.scope.startswith(part.scope) for part in clusters for group in part.groups)
    assert depth is not None or len(clusters) <= MANY


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("resnet50", [("conv1_conv", 1), ("conv2", 5), ("conv3", 2), ("conv4", 2)]),
        ("transformer", [("decoder_layer_{0–11}/self_attention", 3),
                         ("decoder_layer_{0–11}/feedforward_intermediate", 2), ("logits", 2)]),
        ("tiny", [("", 3)]),
        ("empty", []),
    ],
)  # fmt: skip
def test_clusters_follow_the_structure_of_the_model(case: str, expected: list[tuple[str, int]]) -> None:
    report = CASES[case]()
    kept, _ = fold_to(report.frontier, 10, report.peak.position)
    assert [(part.scope, len(part.groups)) for part in cluster(kept)] == expected


def test_depth_cuts_the_scopes_at_a_component() -> None:
    groups = [Group((activation(name),), name) for name in ("a/b/c", "a/b/d", "a/e")]
    assert [part.scope for part in cluster(groups, 0)] == [""]
    assert [len(part.groups) for part in cluster(groups, 1)] == [3]
    assert [(part.scope, len(part.groups)) for part in cluster(groups, 2)] == [("a/b", 2), ("a/e", 1)]
    assert [len(part.groups) for part in cluster(groups, 9)] == [1, 1, 1]
    assert [part.short_name(group) for part in cluster(groups, 2) for group in part.groups] == ["c", "d", "a/e"]
