"""`keras.losses`, `keras.metrics` and `keras.optimizers`, each in the steps of a small model."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import keras
from keras import layers

from benchmarks.keras_catalogue.entry import Entry, ints, spec
from graphmem.target.keras_models import step_of_model
from graphmem.target.step import Options, Step

BATCH = spec(4, 6)

SKIPPED = {
    "keras.losses": {
        "Loss": "the base class, without ops of its own",
        "deserialize": "builds other losses",
        "serialize": "describes other losses",
        "get": "finds other losses",
    },
    "keras.metrics": {
        "Metric": "the base class, without ops of its own",
        "deserialize": "builds other metrics",
        "serialize": "describes other metrics",
        "get": "finds other metrics",
    },
    "keras.optimizers": {
        "Optimizer": "the base class, without ops of its own",
        "OptimizerMap": "maps variables to optimizers: MultiOptimizer has an entry",
        "deserialize": "builds other optimizers",
        "serialize": "describes other optimizers",
        "get": "finds other optimizers",
        "legacy": "a module whose classes raise when they are built",
        "schedules": "a module; each schedule has an entry",
    },
}

INTEGER_LABELS = {
    "categorical_generalized_cross_entropy", "circle", "sparse_categorical_accuracy", "sparse_categorical_crossentropy",
    "sparse_top_k_categorical_accuracy",
}  # fmt: skip
"""Losses and metrics, by their own names, whose labels are numbers of classes."""

ARGUMENTS: dict[str, dict[str, Any]] = {
    "BinaryIoU": {"target_class_ids": [0, 1], "threshold": 0.5},
    "IoU": {"num_classes": 3, "target_class_ids": [0], "sparse_y_pred": False, "sparse_y_true": False},
    "OneHotIoU": {"num_classes": 3, "target_class_ids": [0]},
    "OneHotMeanIoU": {"num_classes": 3},
    "MeanIoU": {"num_classes": 3, "sparse_y_pred": False, "sparse_y_true": False},
    "PrecisionAtRecall": {"recall": 0.5},
    "RecallAtPrecision": {"precision": 0.5},
    "SensitivityAtSpecificity": {"specificity": 0.5},
    "SpecificityAtSensitivity": {"sensitivity": 0.5},
    "MeanMetricWrapper": {"fn": keras.losses.mean_squared_error},
}
"""What a class needs beside nothing."""


def public(module: Any, skipped: dict[str, str]) -> list[str]:
    """The public names of a module that are to have an entry."""
    return [name for name in sorted(dir(module)) if not name.startswith("_") and name not in skipped]


def steps(optimizer: Any, loss: Any, metric: Any = None, kinds: tuple[str, ...] = ("train", "test")) -> Iterator[Step]:
    """Steps of a model with one dense layer for a loss, a metric and an optimizer."""
    name = getattr(metric or loss, "name", None) or getattr(metric or loss, "__name__", "")
    sequence = name == "ctc"
    inputs = spec(4, 8, 6) if sequence else BATCH
    width = 1 if name == "binary_io_u" else 3
    model = keras.Sequential([keras.Input(inputs.shape[1:]), layers.Dense(width, activation="softmax")])
    model.compile(optimizer=optimizer, loss=loss, weighted_metrics=[metric] if metric else None, jit_compile=False)
    labels = ints(4, 2) if sequence else ints(4) if name in INTEGER_LABELS else spec(4, width)
    specs = (inputs, labels, spec(4))
    for kind in kinds:
        yield step_of_model(model, Options(kind=kind), specs=specs, target=name, live=True)


def made(module: Any, name: str) -> Any:
    """An object of a class, or the function itself."""
    found = getattr(module, name)
    if name == "categorical_generalized_cross_entropy":
        named = functools.partial(found, q=0.5)
        named.__name__ = name  # type: ignore[attr-defined]
        return named
    return found(**ARGUMENTS.get(name, {})) if inspect.isclass(found) else found


class Reduced(keras.metrics.Metric):
    """`Mean` or `Sum` of the predictions, which take no labels."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self.inner = kind()

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        self.inner.update_state(y_pred, sample_weight)

    def result(self) -> Any:
        return self.inner.result()


def loss_entries() -> Iterator[Entry]:
    for name in public(keras.losses, SKIPPED["keras.losses"]):
        yield Entry("keras.losses", name, lambda n=name: steps("sgd", made(keras.losses, n)))


def metric_entries() -> Iterator[Entry]:
    for name in public(keras.metrics, SKIPPED["keras.metrics"]):
        yield Entry("keras.metrics", name, lambda n=name: steps("sgd", no_loss, metric(n), ("test",)))


def no_loss(y_true: Any, y_pred: Any) -> Any:
    """A loss for labels of any shape."""
    return keras.ops.mean(y_pred)


def metric(name: str) -> Any:
    """A metric by its name; those that take no labels are given the predictions."""
    if name in ("Mean", "Sum"):
        return Reduced(getattr(keras.metrics, name))
    return made(keras.metrics, name)


def optimizers() -> dict[str, Callable[[], Any]]:
    """Name -> optimizer with the options that make ops of their own."""
    kinds = keras.optimizers
    simple = public(kinds, {**SKIPPED["keras.optimizers"], "MultiOptimizer": "", "LossScaleOptimizer": ""})
    rows: dict[str, Callable[[], Any]] = {name: getattr(kinds, name) for name in simple}
    rows["LossScaleOptimizer"] = lambda: kinds.LossScaleOptimizer(kinds.SGD())
    rows["MultiOptimizer"] = lambda: kinds.MultiOptimizer(kinds.OptimizerMap(kinds.Adam()))
    rows["SGD (momentum, nesterov)"] = lambda: kinds.SGD(momentum=0.9, nesterov=True)
    rows["RMSprop (centered)"] = lambda: kinds.RMSprop(momentum=0.9, centered=True)
    rows["Adam (amsgrad)"] = lambda: kinds.Adam(amsgrad=True)
    rows["Adam (clipped, averaged)"] = lambda: kinds.Adam(global_clipnorm=1.0, use_ema=True, weight_decay=0.1)
    rows["Adam (accumulated)"] = lambda: kinds.Adam(clipnorm=1.0, gradient_accumulation_steps=2)
    for name in public(kinds.schedules, {"LearningRateSchedule": "", "deserialize": "", "serialize": ""}):
        rows[f"schedules.{name}"] = lambda n=name: kinds.SGD(schedule(n))
    return rows


def schedule(name: str) -> Any:
    """A learning rate schedule."""
    arguments: dict[str, tuple[Any, ...]] = {
        "PiecewiseConstantDecay": ([10, 20], [0.1, 0.01, 0.001]),
        "CosineDecayRestarts": (0.1, 10),
        "PolynomialDecay": (0.1, 10),
        "CosineDecay": (0.1, 10),
    }
    return getattr(keras.optimizers.schedules, name)(*arguments.get(name, (0.1, 10, 0.5)))


def optimizer_entries() -> Iterator[Entry]:
    for name, make in optimizers().items():
        yield Entry("keras.optimizers", name, lambda m=make: steps(m(), "mse", None, ("train",)))


def entries() -> Iterator[Entry]:
    """Losses, metrics and optimizers."""
    yield from loss_entries()
    yield from metric_entries()
    yield from optimizer_entries()
