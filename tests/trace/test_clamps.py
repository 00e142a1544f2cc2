"""Sizes that bounds alone decide, and shapes that only the program states."""

from __future__ import annotations

import numpy as np
import pytest

from tests.trace.node_defs import graph, node

pytestmark = pytest.mark.tf

ROWS, WORDS, NAMES = 16, 6, 40


@pytest.mark.parametrize(
    ("outer", "limit", "inner", "beyond", "settled"),
    [
        ("Minimum", 5, "Maximum", 5, True),
        ("Minimum", 5, "Maximum", 7, True),
        ("Minimum", 5, "Maximum", 3, False),
        ("Maximum", 5, "Minimum", 4, True),
        ("Maximum", 5, "Minimum", 6, False),
        ("Minimum", 5, "Minimum", 7, False),
    ],
)
def test_a_number_is_settled_only_if_no_value_can_change_it(
    outer: str, limit: int, inner: str, beyond: int, settled: bool
) -> None:
    import tensorflow as tf

    from graphmem.trace.clamps import settle

    int32 = tf.int32.as_datatype_enum
    given = graph(
        node("x", "_Arg", T=int32),
        *(node(name, "Const", dtype=int32) for name in ("limit", "beyond")),
        node("inner", inner, "beyond", "x", T=int32),
        node("outer", outer, "inner", "limit", T=int32),
    )
    for place, value in ((1, limit), (2, beyond)):
        given.node[place].attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.int32(value)))
    settle(given)
    assert (given.node[4].op == "Const") is settled
    if settled:
        assert tf.make_ndarray(given.node[4].attr["value"].tensor) == limit


def test_layers_for_categories_have_sizes() -> None:
    import keras

    from graphmem.api import analyze

    words = keras.Input((WORDS,), dtype="int64")
    known = keras.layers.IntegerLookup(vocabulary=list(range(NAMES - 1)), output_mode="multi_hot")(words)
    counts = keras.layers.CategoryEncoding(NAMES, output_mode="count")(words)
    hashed = keras.layers.Embedding(NAMES, 8)(keras.layers.Hashing(NAMES)(words))
    parts = [known, counts, keras.layers.Flatten()(hashed)]
    report = analyze(keras.Model(words, keras.layers.Concatenate()(parts)), step="predict", batch=ROWS, device="cpu")
    assert (report.at_least, report.unknown_ops, report.unknown_sizes) == (False, {}, [])
    result = ROWS * (NAMES + NAMES + 8 * WORDS) * 4
    assert report.step_peak_bytes >= result + ROWS * NAMES * 4
