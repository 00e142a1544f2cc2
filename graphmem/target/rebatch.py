"""A resolved step for another number of samples, without building its model again."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import tensorflow as tf

from graphmem.target.step import Step


def rebatched(step: Step, batch: int) -> Step | None:
    """The same step on so many samples; `None` where its arguments do not tell which dimension they are.

    The first dimension of each argument that is the step's batch becomes another. Arguments must be dense specs:
    example tensors have the size that they have.
    """
    if step.batch is None or step.compiled is not None:
        return None
    leaves = tf.nest.flatten((step.args, step.kwargs))
    if any(isinstance(leaf, tf.Tensor) or _composite(leaf) for leaf in leaves):
        return None
    if not any(_first(leaf) == step.batch for leaf in leaves):
        return None

    def resized(leaf: Any) -> Any:
        if _first(leaf) != step.batch:
            return leaf
        return tf.TensorSpec((batch, *leaf.shape[1:]), leaf.dtype, leaf.name)

    args, kwargs = tf.nest.map_structure(resized, (step.args, step.kwargs))
    notes = [re.sub(rf"\b{step.batch}(?=x\d|\b)", str(batch), note) for note in step.notes]  # they tell shapes
    return replace(step, args=args, kwargs=kwargs, batch=batch, notes=notes)


def fixed_dims(step: Step) -> set[int]:
    """Dimensions that do not depend on the batch: of the arguments after their first, and of the models' weights."""
    shapes = [leaf.shape[1:] for leaf in tf.nest.flatten((step.args, step.kwargs)) if _first(leaf) is not None]
    shapes += [weight.shape for model in step.models for weight in getattr(model, "weights", [])]
    return {int(dim) for shape in shapes for dim in shape if dim is not None}


def _first(leaf: Any) -> int | None:
    """The first dimension of a dense spec."""
    return leaf.shape[0] if isinstance(leaf, tf.TensorSpec) and leaf.shape.rank else None


def _composite(leaf: Any) -> bool:
    return isinstance(leaf, tf.TypeSpec) and not isinstance(leaf, tf.TensorSpec)
