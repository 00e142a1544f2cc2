"""What a call such as `fit(x, y)` feeds to one step: the specs of a batch, with nothing copied.

The dtypes and shapes follow the data adapters of the two Kerases (`keras/src/trainers/data_adapters`,
`tf_keras/src/engine/data_adapter.py`), because they decide the bytes that arrive in `train_step`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import tensorflow as tf

from graphmem.errors import TargetError
from graphmem.target.leaves import closed_by, floatx, has_base, specs, tuples
from graphmem.target.pipeline import dataset_specs, leading, needs_an_element


@dataclass(frozen=True)
class Described:
    """The input of one step.

    Attributes:
        data: nest of specs as Keras passes it to `train_step`, `test_step` or `predict_step`.
        batch: samples in it, if known.
        notes: what was assumed or had to be run to know it, one sentence each.
    """

    data: Any
    batch: int | None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Feed:
    """The data arguments of a Keras call, by Keras' own names; `steps` is `steps_per_epoch` for `fit`."""

    x: Any
    y: Any = None
    sample_weight: Any = None
    batch_size: int | None = None
    class_weight: dict[int, float] | None = None
    steps: int | None = None
    validation_split: float = 0.0


def describe(feed: Feed, *, framework: str) -> Described:
    """The batch that `fit`, `evaluate` or `predict` makes of its data.

    Args:
        feed: the arguments of the call.
        framework: "keras" or "tf_keras": their adapters differ in dtypes.

    Raises:
        TargetError: the data is distributed over devices.
        ValueError: data that Keras does not take either.
    """
    x = feed.x
    if type(x).__name__.startswith("Distributed"):
        raise TargetError("the dataset is distributed, and graphmem analyses one device: pass the dataset itself.")
    if isinstance(x, tf.data.Dataset):
        return _of_dataset(feed, framework)
    if has_base(x, "PyDataset") or has_base(x, "Sequence", "tf_keras"):
        return _of_batches(_getitems(x), feed, framework, f"The {type(x).__name__} was asked for one batch")
    if has_base(x, "DataLoader") or (hasattr(x, "__next__") and hasattr(x, "__iter__")):
        if framework == "keras" and isinstance(x, tf.data.Iterator):
            raise ValueError("Keras 3 takes a tf.data.Dataset, not an iterator over one.")
        return _of_batches(iter(x), feed, framework, f"The {type(x).__name__} was run for one batch")
    return _of_arrays(feed, framework)


def describe_batch(x: Any, y: Any, sample_weight: Any, class_weight: Any, *, method: str, framework: str) -> Described:
    """The data of `train_on_batch`, `test_on_batch` or `predict_on_batch`, which Keras 3 passes on without casting."""
    legacy = framework == "tf_keras"
    x, y, sample_weight = (specs(part, framework, cast=legacy) for part in (x, y, sample_weight))
    data: tuple[Any, ...] = (x, y, sample_weight)
    batch = leading(data)
    if legacy:
        data = tuple(part for part in map(tuples, data) if part is not None)
        data = _weighted(data, class_weight) if class_weight else data
    elif class_weight is not None:
        data = (x, y, tf.TensorSpec((batch,), floatx(framework)))
    if method == "predict_on_batch":
        data = data[:1]
    return Described(data, batch)


def with_batch(described: Described, batch: int) -> Described:
    """The same data with another number of samples."""

    def resize(spec: Any) -> Any:
        if not isinstance(spec, tf.TensorSpec) or not spec.shape.rank or spec.shape[0] not in (None, described.batch):
            return spec
        return tf.TensorSpec((batch, *spec.shape[1:]), spec.dtype, spec.name)

    return replace(described, data=tf.nest.map_structure(resize, described.data), batch=batch)


def inputs_only(described: Described) -> Described:
    """The data for a predict step of the same model: `x`, in a tuple where it is one itself."""
    data = described.data
    x = data[0] if isinstance(data, tuple) else data
    return replace(described, data=(x,) if isinstance(x, tuple) else x)


def parts(described: Described) -> tuple[Any, ...]:
    """The data as `(x,)`, `(x, y)` or `(x, y, sample_weight)`, without parts that are not there."""
    found = list(_unpacked(described.data))
    while len(found) > 1 and found[-1] is None:
        found.pop()
    return tuple(found)


def _of_arrays(feed: Feed, framework: str) -> Described:
    x, y, weights = (_as_arrays(part, framework) for part in (feed.x, feed.y, feed.sample_weight))
    lengths = sorted({int(leaf.shape[0]) for leaf in tf.nest.flatten((x, y, weights)) if leaf is not None})
    if len(lengths) != 1:
        raise ValueError(f"x, y and sample_weight have different numbers of samples: {lengths}.")
    samples = math.floor(lengths[0] * (1.0 - feed.validation_split)) if feed.validation_split else lengths[0]
    batch = feed.batch_size or (math.ceil(samples / feed.steps) if feed.steps else 32)
    batch = min(int(batch), samples)
    x, y, weights = (tuples(specs(part, framework, cast=True, batch=batch)) for part in (x, y, weights))
    if framework == "keras":
        if feed.class_weight is not None:
            weights = tf.TensorSpec((batch,), floatx(framework))
        elif weights is not None and tf.nest.is_nested(y) and not tf.nest.is_nested(weights):
            one = weights
            weights = tf.nest.map_structure(lambda _: one, y)
    data = _packed(x, y, weights)
    if framework == "tf_keras" and feed.class_weight:
        data = _weighted(data, feed.class_weight)
    return Described(data, batch)


def _of_dataset(feed: Feed, framework: str) -> Described:
    dataset = feed.x
    if feed.y is not None or feed.sample_weight is not None:
        raise ValueError("y and sample_weight must be part of the tf.data.Dataset.")
    specs, batch = dataset_specs(dataset)
    notes = []
    if needs_an_element(specs):
        element = next(iter(dataset), None)
        if element is None:
            raise ValueError("the tf.data.Dataset is empty.")
        specs = tf.nest.map_structure(closed_by, specs, element)
        batch = batch or leading(specs)
        notes.append("The input pipeline was run for one element, as its shapes are not static.")
    return Described(_weighted(specs, feed.class_weight) if feed.class_weight else specs, batch, notes)


def _of_batches(batches: Iterator[Any], feed: Feed, framework: str, note: str) -> Described:
    """Data of a Python object that makes batches: one is made, looked at and dropped."""
    batch = next(batches, None)
    if batch is None:
        raise ValueError(f"{type(feed.x).__name__} yields no batch.")
    if framework == "tf_keras":
        data = _packed(*_unpacked(tuples(specs(batch, framework, cast=True))))
        return Described(_weighted(data, feed.class_weight) if feed.class_weight else data, leading(data), [f"{note}."])
    if has_base(feed.x, "PyDataset"):
        batch = batch if isinstance(batch, (dict, tuple, list)) else (batch,)
    elif has_base(feed.x, "DataLoader"):
        batch = tuple(batch)
    if not isinstance(batch, (dict, tuple, list)) or (isinstance(batch, list) and not has_base(feed.x, "PyDataset")):
        raise ValueError(f"a generator must yield tuples such as (x, y) to Keras; it yielded a {type(batch).__name__}.")
    data = tuples(specs(batch, framework, cast=False))
    if feed.class_weight is not None and isinstance(data, tuple) and len(data) == 2:
        data = (*data, tf.TensorSpec((leading(data[1]),), floatx(framework)))
    return Described(data, leading(data), [f"{note}."])


def _getitems(sequence: Any) -> Iterator[Any]:
    yield sequence[0]


def _as_arrays(part: Any, framework: str) -> Any:
    """Lists of numbers as legacy Keras takes them, and an error for what Keras 3 does not take."""
    if part is None or all(leaf is None or hasattr(leaf, "shape") for leaf in tf.nest.flatten(part)):
        return part
    if framework == "tf_keras" and isinstance(part, (list, tuple)):
        return np.asarray(part)
    if all(leaf is None or hasattr(leaf, "__array__") for leaf in tf.nest.flatten(part)):
        return tf.nest.map_structure(lambda leaf: leaf if leaf is None else np.asarray(leaf), part)
    raise ValueError(f"Keras takes arrays, tensors or datasets; this is a {type(part).__name__} of Python values.")


def _weighted(data: Any, class_weight: dict[int, float]) -> tuple[Any, Any, Any]:
    """The data after Keras has mapped class weights over the dataset: one weight per label."""
    x, y, weights = _unpacked(data)
    if y is None or tf.nest.is_nested(y):
        raise ValueError("class_weight is only supported for models with a single output.")
    shape = y.shape if y.shape.rank is None or y.shape.rank < 2 else y.shape[:-1]
    whole = all(isinstance(weight, int) for weight in class_weight.values())
    dtype = weights.dtype if weights is not None else tf.int32 if whole else tf.float32
    return x, y, tf.TensorSpec(shape, dtype)


def _unpacked(data: Any) -> tuple[Any, Any, Any]:
    parts = data if isinstance(data, tuple) else (data,)
    if len(parts) > 3:
        raise ValueError(f"Keras takes (x, y, sample_weight); the data has {len(parts)} parts.")
    x, y, weights = (*parts, None, None)[:3]
    return x, y, weights


def _packed(x: Any, y: Any, weights: Any) -> Any:
    if y is None:
        return (x,) if isinstance(x, tuple) else x
    return (x, y) if weights is None else (x, y, weights)
