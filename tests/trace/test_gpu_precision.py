"""Mixed precision, loss scaling, int8 and float8 on the op-by-op runtime: every op known, every size right."""

from __future__ import annotations

import contextlib

import pytest

pytestmark = pytest.mark.tf

ITEM = {"float32": 4, "mixed_float16": 2, "mixed_bfloat16": 2, "float16": 2, "bfloat16": 2, "float64": 8}


@contextlib.contextmanager
def policy(name: str):
    import keras

    before = keras.mixed_precision.dtype_policy()
    keras.mixed_precision.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.mixed_precision.set_dtype_policy(before)


def small_network():
    import keras

    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            layers.Conv2D(8, 3, padding="same", activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(32, activation="gelu"),
            layers.LayerNormalization(),
            layers.Dense(10, dtype="float32"),
        ]
    )


def report_of(model, device: str, **options):
    import graphmem

    given = {"batch": 8, "loss": "mse", "optimizer": "adam", "orders": 1} | options
    return graphmem.analyze(model, device=device, runtime="graph", **given)


def outputs(report, kind: str, **where) -> list[tuple[str, int]]:
    return [
        (op.outputs[0].dtype, op.outputs[0].nbytes)
        for op in report.simulation.graph.ops
        if op.type in kind.split() and all(getattr(op, name) == value for name, value in where.items())
    ]


@pytest.mark.parametrize(
    ("name", "device"),
    [("mixed_float16", "cpu"), ("mixed_float16", "gpu"), ("mixed_bfloat16", "gpu"), ("float64", "gpu")],
)
def test_policies(name: str, device: str) -> None:
    with policy(name):
        report = report_of(small_network(), device)
    assert (report.unknown_ops, report.unknown_sizes, report.at_least) == ({}, [], False)
    compute = name.removeprefix("mixed_")
    forward = outputs(report, "Conv2D _FusedConv2D", phase="forward")
    assert forward == [(compute, 8 * 16 * 16 * 8 * ITEM[name])]
    kernels = 4 if name.startswith("mixed") else ITEM[name]
    shapes = {variable.name: variable for variable in report.simulation.graph.variables if variable.role == "weight"}
    kernel = next(variable for path, variable in shapes.items() if "conv2d" in path and path.endswith("kernel"))
    assert kernel.nbytes == 3 * 3 * 3 * 8 * kernels


def test_half_precision_halves_what_the_backward_pass_keeps() -> None:
    peaks = {}
    for name in ("float32", "mixed_float16"):
        with policy(name):
            peaks[name] = report_of(small_network(), "gpu", batch=64)
    kept = {
        name: sum(row.bytes or 0 for row in report.frontier if row.role == "activation" and "conv2d" in row.scope)
        for name, report in peaks.items()
    }
    assert kept["mixed_float16"] * 2 == kept["float32"]


def test_loss_scaling_updates_in_a_branch() -> None:
    with policy("mixed_float16"):
        report = report_of(small_network(), "gpu")
    assert "LossScaleOptimizer" in report.facts["optimizer"]
    ops = report.simulation.graph.ops
    assert any(op.type == "IsFinite" for op in ops)
    ran = {ops[index].type for index in report.simulation.schedule.ops}
    assert {"Switch", "Merge"} <= ran
    assert "AssignSubVariableOp" in ran  # gradients are taken to be finite: that step needs more
    assert report.by_role.get("gradient", 0) > 0


@pytest.mark.parametrize(
    ("mode", "dtype", "item", "device"),
    [
        ("int8", "int8", 1, "cpu"),
        ("int8", "int8", 1, "gpu"),
        ("float8", "float32", 4, "gpu"),
        ("int4", "int8", 0.5, "gpu"),
    ],
)
def test_quantized_layers(mode: str, dtype: str, item: float, device: str) -> None:
    import keras

    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(10)])
    model.quantize(mode)
    report = report_of(model, device, step="predict", loss=None, optimizer=None)
    assert (report.unknown_ops, report.unknown_sizes) == ({}, [])
    kernels = [v for v in report.simulation.graph.variables if v.name.endswith(("/kernel", "/_kernel"))]
    assert [v.dtype for v in kernels] == [dtype] * 2
    assert [v.nbytes for v in kernels] == [16 * 32 * item, 32 * 10 * item]


def test_float8_trains_without_rewrites_as_in_tensorflow() -> None:
    import keras

    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32), keras.layers.Dense(10)])
    model.quantize("float8")
    report = report_of(model, "gpu")
    assert (report.unknown_ops, report.unknown_sizes) == ({}, [])
    assert any("rewrites fail" in note for note in report.notes)
    eights = {
        op.outputs[0].nbytes for op in report.simulation.graph.ops if op.outputs and "8_e4m3" in op.outputs[0].dtype
    }
    assert 8 * 16 in eights  # the batch in float8, a byte a value
