"""The formulas of estimates made from layers, on models small enough to be counted by hand."""

from __future__ import annotations

import pytest

from graphmem.answers import estimates
from graphmem.errors import TargetError
from graphmem.graph.layers import Call, Layer, Layers, Model, Output, layers_of
from graphmem.graph.model import StepGraph
from graphmem.graph.plain import decode, encode


def out(*shape: int | None, dtype: str = "float32") -> Output:
    return Output(shape, dtype)


#: x(4) → Dense 6 → two outputs (3 and 2): 4·6 + 6 = 30 parameters, and 7 that are not trained.
PLAIN = Model(
    "plain",
    "Functional",
    (
        Layer("x", "InputLayer", "float32", 0, 0, (out(None, 4),)),
        Layer("dense", "Dense", "float32", 30, 30, (out(None, 6),)),
        Layer("split", "Split", "float16", 7, 0, (out(None, 3, dtype="float16"), out(None, 2, dtype="float16"))),
    ),
    (
        Call("x", 0, (out(None, 4),), ()),
        Call("dense", 1, (out(None, 6),), (0,)),
        Call("split", 2, (out(None, 3, dtype="float16"), out(None, 2, dtype="float16")), (1,)),
    ),
    37,
    30,
)
#: The same model as a layer, called twice, its outputs added by an operation that is no layer.
OUTER = Model(
    "outer",
    "Functional",
    (
        Layer("a", "InputLayer", "float32", 0, 0, (out(None, 4),)),
        Layer("plain", "Functional", "float32", 37, 30, (out(None, 3), out(None, 2)), model=0),
        Layer("head", "Dense", "float32", 8, 8, (out(None, 2),)),
    ),
    (
        Call("a", 0, (out(None, 4),), ()),
        Call("plain", 1, (out(None, 3), out(None, 2)), (0,)),
        Call("plain", 1, (out(None, 3), out(None, 2)), (0,)),
        Call("add", None, (out(None, 3),), (1, 2)),
        Call("head", 2, (out(None, 2),), (3,)),
    ),
    45,
    38,
)
FLAT = Layers((PLAIN,), (0,))
NESTED = Layers((PLAIN, OUTER), (1,))
#: A model of the user's own class: what its layers give is not declared, save that of the model inside.
SUBCLASSED = Layers(
    (
        PLAIN,
        Model(
            "own",
            "Net",
            (
                Layer("first", "Dense", "float32", 20, 20, None),
                Layer("plain", "Functional", "float32", 37, 30, (out(None, 3), out(None, 2)), model=0),
            ),
            None,
            57,
            50,
        ),
    ),
    (1,),
)
BATCH = 10


def test_all_outputs_and_parameters_times_the_batch() -> None:
    assert estimates.all_times_batch(FLAT, BATCH).value == 4 * BATCH * (4 + 6 + 3 + 2 + 37)
    assert estimates.all_times_batch(NESTED, BATCH).value == 4 * BATCH * (4 + 3 + 2 + 2 + 45)


def test_model_memory_usage_takes_first_outputs_and_adds_models_inside() -> None:
    flat = 4 * (BATCH * (4 + 6 + 3) + 37)
    assert estimates.model_memory_usage(FLAT, BATCH).value == flat
    assert estimates.model_memory_usage(NESTED, BATCH).value == flat + 4 * (BATCH * (4 + 3 + 2) + 45)
    half = Layers((PLAIN,), (0,), "float16")
    assert estimates.model_memory_usage(half, BATCH).value == flat // 2


def test_memory_usage_in_bytes_has_sizes_of_layers_and_a_byte_per_parameter() -> None:
    flat = BATCH * (4 * (4 + 6) + 2 * 3) + 37
    assert estimates.keras_model_memory_usage_in_bytes(FLAT, BATCH).value == flat
    outer = BATCH * 4 * (4 + 3 + 2) + 45
    assert estimates.keras_model_memory_usage_in_bytes(NESTED, BATCH).value == flat + outer


def test_model_mem_is_in_bits_and_opens_models_inside() -> None:
    flat = 32 * BATCH * 4 + 32 * (30 + 30 + BATCH * 6) + 16 * (7 + BATCH * 5)
    assert estimates.model_mem_bits(FLAT, BATCH).value == flat
    assert estimates.model_mem_bits(NESTED, BATCH).value == flat + 32 * BATCH * 4 + 32 * (8 + 8 + BATCH * 2)


def test_by_hand_has_a_row_for_each_call_and_each_weight_once() -> None:
    rows = estimates.by_hand_table(NESTED)
    assert [(row.layer, row.activations, row.params) for row in rows] == [
        ("a", 4, 0),
        ("plain/x", 4, 0), ("plain/dense", 6, 30), ("plain/split", 5, 7),
        ("plain/x", 4, 0), ("plain/dense", 6, 0), ("plain/split", 5, 0),
        ("add", 3, 0),
        ("head", 2, 8),
    ]  # fmt: skip
    assert estimates.by_hand(NESTED, BATCH).value == 4 * (2 * BATCH * (4 + 15 + 15 + 3 + 2) + 3 * 45)


def test_two_largest_in_a_row_are_an_output_and_what_it_was_made_from() -> None:
    assert estimates.two_largest_in_a_row(FLAT, BATCH).value == BATCH * (4 * 4 + 4 * 6)
    branches = Model(
        "branches", "Functional", (),
        (
            Call("x", None, (out(None, 1),), ()),
            Call("big", None, (out(None, 100),), (0,)),
            Call("other", None, (out(None, 90),), (0,)),  # after big in the list, not made from it
            Call("sum", None, (out(None, 2),), (1, 2)),
        ),
        0, 0,
    )  # fmt: skip
    assert estimates.two_largest_in_a_row(Layers((branches,), (0,)), BATCH).value == 4 * BATCH * 102


def test_parameters_only() -> None:
    assert estimates.parameters_only(NESTED, 16).value == 16 * 45


@pytest.mark.parametrize(
    "formula",
    [
        estimates.all_times_batch, estimates.model_memory_usage, estimates.keras_model_memory_usage_in_bytes,
        estimates.model_mem_bits, estimates.by_hand, estimates.two_largest_in_a_row,
    ],
)  # fmt: skip
def test_what_a_model_does_not_declare_is_named(formula) -> None:
    found = formula(SUBCLASSED, BATCH)
    assert set(found.unknown) == {"first"}
    assert found.value > 0
    assert formula(NESTED, BATCH).unknown == ()


def test_a_batch_that_the_model_fixes_is_not_multiplied_again() -> None:
    fixed = Model("fixed", "Functional", (Layer("x", "Embed", "float32", 5, 5, (out(BATCH, 4),)),), None, 5, 5)
    layers = Layers((fixed,), (0,))
    assert estimates.model_memory_usage(layers, BATCH).value == 4 * (BATCH * 4 + 5)
    assert estimates.by_hand(layers, BATCH).value == 4 * (2 * BATCH * 4 + 3 * 5)


def test_open_dimensions_count_as_one_and_are_named() -> None:
    conv = Layer("conv", "Conv2D", "float32", 0, 0, (out(None, None, None, 8),))
    layers = Layers((Model("m", "Functional", (conv,), None, 0, 0),), (0,))
    assert estimates.model_memory_usage(layers, BATCH).value == 4 * BATCH * 8
    assert estimates.open_layers(layers) == ["conv"]
    assert estimates.open_layers(NESTED) == []


def test_layers_survive_a_saved_trace() -> None:
    kept = decode(encode(NESTED.to_plain()))
    assert layers_of(StepGraph([], info={"models": kept})) == NESTED
    assert layers_of(StepGraph([], info={})) is None
    assert layers_of(StepGraph([], info={"models": Layers((), ()).to_plain()})) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.pop("floatx"),
        lambda data: data.update(roots=[7]),
        lambda data: data["models"][0].update(params=-1),
        lambda data: data["models"][0]["calls"][1].update(inputs=[1]),
        lambda data: data["models"][0]["layers"][0].update(model=0),
        lambda data: data["models"][0]["layers"][0].update(outputs="x"),
        lambda data: data["models"][0]["layers"][0]["outputs"][0].update(shape=["a"]),
    ],
)
def test_damaged_layers_are_refused(damage) -> None:
    import json

    data = json.loads(json.dumps(NESTED.to_plain()))
    damage(data)
    with pytest.raises(TargetError, match="damaged"):
        layers_of(StepGraph([], info={"models": data}))
