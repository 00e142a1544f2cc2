"""What a `tf.data.Dataset` feeds, read from how it was built instead of by running it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

#: Datasets that pass batches on with as many samples as they get.
_KEEPS_BATCH = {
    "Map", "ParallelMap", "Prefetch", "Repeat", "Shuffle", "Cache", "Take", "Skip", "TakeWhile", "Options", "Filter",
    "Shard", "IgnoreErrors", "AssertCardinality", "Snapshot", "DatasetV1Adapter", "Concatenate", "Model",
}  # fmt: skip
_BATCHES = {"Batch": "_batch_size", "ParallelBatch": "_batch_size", "PaddedBatch": "_batch_size",
            "MapAndBatch": "_batch_size_t"}  # fmt: skip


def dataset_specs(dataset: tf.data.Dataset) -> tuple[Any, int | None]:
    """The element's specs, with the batch size that `batch()` was given where the specs leave it open.

    Returns:
        (nest of specs, batch), `None` for a batch that only running the dataset would tell.
    """
    specs = dataset.element_spec
    batch = leading(specs)
    if batch is not None:
        return specs, batch
    batch = static_batch(dataset)
    if batch is None:
        return specs, None

    def close(spec: Any) -> Any:
        if isinstance(spec, tf.TensorSpec) and spec.shape.rank and spec.shape[0] is None:
            return tf.TensorSpec((batch, *spec.shape[1:]), spec.dtype, spec.name)
        return spec

    return tf.nest.map_structure(close, specs), batch


def static_batch(dataset: tf.data.Dataset) -> int | None:
    """The batch size of the last `batch()` in the chain, no more than the samples there are; `None` if not static."""
    while dataset is not None:
        name = type(dataset).__name__.removeprefix("_").removesuffix("Dataset")
        if name in _BATCHES:
            size = tf.get_static_value(getattr(dataset, _BATCHES[name], None))
            samples = int(dataset._input_dataset.cardinality())
            return None if size is None else min(int(size), samples) if samples > 0 else int(size)
        if name == "Zip":
            found = {static_batch(part) for part in tf.nest.flatten(dataset._datasets)}
            return found.pop() if len(found) == 1 else None
        if name not in _KEEPS_BATCH:
            return None
        dataset = getattr(dataset, "_input_dataset", getattr(dataset, "_dataset", None))
    return None


def leading(specs: Any) -> int | None:
    """The first dimension of the first spec that has one; `None` if it is open."""
    for spec in tf.nest.flatten(specs):
        shape = getattr(spec, "shape", None)
        if shape is not None and tf.TensorShape(shape).rank:
            return tf.compat.dimension_value(tf.TensorShape(shape)[0])
    return None


def needs_an_element(specs: Any) -> bool:
    """Whether some dense spec has a dimension that is not known."""
    return any(isinstance(spec, tf.TensorSpec) and not spec.shape.is_fully_defined() for spec in tf.nest.flatten(specs))
