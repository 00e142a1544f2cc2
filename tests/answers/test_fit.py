"""What is found fits, the next value does not: held against the analysis of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import graphmem
from graphmem.answers.fit_text import as_dict, as_text
from graphmem.errors import TargetError, UserCodeError

pytestmark = pytest.mark.tf

MODEL = """
import keras
from keras import layers


def unet(width=8, size=None):
    x = inputs = keras.Input((size, size, 3))
    skips = []
    for level in range(2):
        x = layers.Conv2D(width << level, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = layers.Conv2D(4 * width, 3, padding="same", activation="relu")(x)
    for skip in reversed(skips):
        x = layers.Conv2DTranspose(skip.shape[-1], 2, strides=2, padding="same")(x)
        x = layers.Concatenate()([skip, x])
    model = keras.Model(inputs, layers.Conv2D(2, 1, activation="softmax")(x))
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


def text():
    inputs = keras.Input((None,), dtype="int32")
    x = layers.Embedding(50, 16)(inputs)
    x = layers.MultiHeadAttention(2, 8)(x, x)
    model = keras.Model(inputs, layers.Dense(3)(layers.GlobalAveragePooling1D()(x)))
    model.compile("sgd", "mse")
    return model


def deep(depth):
    model = keras.Sequential([keras.Input((32,)), *(layers.Dense(64, "relu") for _ in range(depth))])
    model.compile("sgd", "mse")
    return model


def fixed():
    model = keras.Sequential([keras.Input((4,), batch_size=8), layers.Dense(2)])
    model.compile("sgd", "mse")
    return model


def broken(width):
    raise RuntimeError("no such width")
"""
LEGACY = """
import tf_keras as keras

model = keras.Sequential([keras.layers.Input((32,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(4)])
model.compile("adam", "mse")
"""
COMMON: dict[str, Any] = {"device": "cpu", "threads": 2, "orders": 5}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("models") / "model.py"
    path.write_text(MODEL)
    return str(path)


def fails(target: str, memory: int, **how: Any) -> bool:
    """Whether the analysis says that the step would run out of memory."""
    return graphmem.analyze(target, memory=memory, **COMMON, **how).allocator["fails"] is not None


def test_the_largest_batch_of_a_unet(model: str) -> None:
    target, dims, budget = f"{model}:unet", {"height": 32, "width": 32}, 48 << 20
    found = graphmem.fit(target, budget="48MiB", dims=dims, **COMMON)
    assert found.value is not None
    assert found.value > 8
    assert found.next_value == found.value + 1
    assert not fails(target, budget, batch=found.value, dims=dims)
    assert fails(target, budget, batch=found.next_value, dims=dims)
    assert found.report == graphmem.analyze(target, batch=found.value, dims=dims, memory=budget, **COMMON)
    assert found.traces == 3  # one that all is predicted from, and the two answers
    assert found.margin_bytes == budget - found.report.allocator["peak_in_use_bytes"] >= 0


def test_the_largest_image_of_a_unet(model: str) -> None:
    target, budget = f"{model}:unet", 64 << 20
    found = graphmem.fit(target, budget=budget, vary="size", multiple_of=16, batch=4, **COMMON)
    assert found.value is not None
    assert found.value % 16 == 0
    assert found.next_value == found.value + 16
    assert not fails(target, budget, batch=4, dims={"height": found.value, "width": found.value})
    assert fails(target, budget, batch=4, dims={"height": found.next_value, "width": found.next_value})
    one = graphmem.fit(f"{model}:unet(size=?)", budget=budget, multiple_of=16, batch=4, **COMMON)
    assert (one.vary, one.value) == ("size", found.value)


def test_a_sequence_and_an_argument(model: str) -> None:
    budget = 8 << 20
    found = graphmem.fit(f"{model}:text", budget=budget, vary="sequence", power_of_two=True, batch=4, **COMMON)
    assert found.value is not None
    assert found.next_value == 2 * found.value
    assert not fails(f"{model}:text", budget, batch=4, dims={"sequence": found.value})
    assert fails(f"{model}:text", budget, batch=4, dims={"sequence": found.next_value})


def test_an_argument_that_changes_the_graph(model: str) -> None:
    budget = 256 << 10
    found = graphmem.fit(f"{model}:deep(depth=?)", budget=budget, most=40, batch=4, **COMMON)
    assert found.value is not None
    assert (found.vary, found.next_value) == ("depth", found.value + 1)
    assert not fails(f"{model}:deep({found.value})", budget, batch=4)
    assert fails(f"{model}:deep({found.next_value})", budget, batch=4)


def test_a_model_of_legacy_keras(tmp_path: Path) -> None:
    path = tmp_path / "legacy.py"
    path.write_text(LEGACY)
    found = graphmem.fit(str(path), budget="1MiB", multiple_of=4, **COMMON)
    assert found.value is not None
    assert not fails(str(path), 1 << 20, batch=found.value)
    assert fails(str(path), 1 << 20, batch=found.value + 4)


def test_nothing_fits(model: str) -> None:
    found = graphmem.fit(f"{model}:unet", budget="100KiB", dims={"height": 32, "width": 32}, **COMMON)
    assert not found
    assert (found.value, found.next_value, found.margin_bytes, found.smallest) == (None, None, None, 1)
    assert found.report.batch == 1
    assert "nothing fits into 100 KiB: batch 1 needs" in as_text(found, width=200)
    data = as_dict(found)
    assert (data["value"], data["fit"], data["next"]) == (None, None, None)
    assert data["smallest"]["needed_bytes"] == found.report.needed_bytes


def test_a_target_batch_leaves_room_for_the_gradients_that_are_added_up(model: str) -> None:
    dims, budget = {"height": 32, "width": 32}, 48 << 20
    found = graphmem.fit(f"{model}:unet", budget=budget, dims=dims, target_batch=240, most=16, **COMMON)
    assert found.value == 16
    assert found.next_value is None
    assert found.notes[0] == "16 is the largest batch that --max allows"
    there = found.accumulation
    assert there is not None
    assert there.batch * there.steps == 240
    assert there.batch == 16
    trainable = graphmem.analyze(f"{model}:unet", batch=1, dims=dims, **COMMON).weight_bytes
    assert there.accumulator_bytes == trainable
    within = budget - there.accumulator_bytes
    assert not fails(f"{model}:unet", within, batch=there.batch, dims=dims)


def test_strict_asks_for_every_order(model: str) -> None:
    how: dict[str, Any] = {"device": "cpu", "threads": 2, "orders": 5, "dims": {"height": 32, "width": 32}}
    found = graphmem.fit(f"{model}:unet", budget="48MiB", strict=True, **how)
    assert found.value is not None
    assert found.next_report is not None
    assert found.report.allocator["failing_orders"] == 0
    assert found.next_report.allocator["failing_orders"] > 0


def test_a_live_model_and_a_function_of_what_is_varied() -> None:
    import keras

    def build(width: int) -> Any:
        made = keras.Sequential([keras.Input((16,)), keras.layers.Dense(width), keras.layers.Dense(4)])
        made.compile("adam", "mse")
        return made

    def factory(width: int) -> Any:
        def net() -> Any:
            return build(width)

        return net

    live = build(64)
    found = graphmem.fit(live, budget="1MiB", **COMMON)
    assert found.value is not None
    for batch, too_much in ((found.value, False), (found.value + 1, True)):
        report = graphmem.analyze(live, batch=batch, memory=1 << 20, **COMMON)
        assert (report.allocator["fails"] is not None) == too_much
    wide = graphmem.fit(build, budget="1MiB", vary="width", multiple_of=8, batch=4, **COMMON)
    assert wide.value is not None
    for width, too_much in ((wide.value, False), (wide.value + 8, True)):
        report = graphmem.analyze(factory(width), batch=4, memory=1 << 20, **COMMON)
        assert (report.allocator["fails"] is not None) == too_much


@pytest.mark.parametrize(
    ("name", "how", "said"),
    [
        ("unet", {"batch": 2, "vary": "depth"}, "open dimension"),
        ("fixed", {}, "--vary batch: input 'x' has a batch size of 8, which is fixed"),
        ("unet(size=32)", {"vary": "sequence", "batch": 2}, "no open dimension called 'sequence'"),
        ("unet", {"target_batch": 8, "vary": "size", "batch": 2}, "does not go with --vary size"),
    ],
)
def test_what_cannot_be_varied(model: str, name: str, how: dict[str, Any], said: str) -> None:
    with pytest.raises(TargetError, match=said):
        graphmem.fit(f"{model}:{name}", budget="64MiB", **how, **COMMON)


def test_an_error_of_the_users_code_says_at_which_value(model: str) -> None:
    with pytest.raises(UserCodeError, match=r"width \d+: .*no such width"):
        graphmem.fit(f"{model}:broken(width=?)", budget="64MiB", **COMMON)


def test_there_must_be_a_budget(model: str) -> None:
    with pytest.raises(TargetError, match="there is no budget"):
        graphmem.fit(f"{model}:unet", **COMMON)
    with pytest.raises(TargetError, match="nothing is left"):
        graphmem.fit(f"{model}:unet", budget="1GiB", reserve="1GiB", **COMMON)
