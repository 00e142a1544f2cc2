"""What an entry of a catalogue is, and how a layer or a function becomes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from graphmem.target.step import Step

Make = Callable[[], "Iterator[Step]"]


@dataclass(frozen=True)
class Entry:
    """One thing of a catalogue, with the steps that show what ops it makes.

    Attributes:
        catalogue: such as "keras.layers".
        name: its public name there.
        make: builds it and yields its steps.
    """

    catalogue: str
    name: str
    make: Make


def spec(*shape: int, dtype: str = "float32") -> tf.TensorSpec:
    return tf.TensorSpec(shape, dtype)


def ints(*shape: int) -> tf.TensorSpec:
    return tf.TensorSpec(shape, "int32")


def scalar_loss(value: Any) -> tf.Tensor:
    """The mean of all that is differentiable in a nest: what a training step would start its gradients from."""
    parts = [tf.reduce_mean(tf.abs(part)) for part in dense_parts(value) if part.dtype.is_complex]
    parts += [tf.reduce_mean(part) for part in dense_parts(value) if part.dtype.is_floating]
    return tf.add_n([tf.cast(part, tf.float32) for part in parts]) if parts else tf.zeros(())


def dense_parts(value: Any) -> list[tf.Tensor]:
    parts = tf.nest.flatten(value, expand_composites=True)
    return [part for part in parts if isinstance(part, tf.Tensor)]


def steps_of_function(function: Callable[..., Any], specs: tuple[Any, ...], gradient: bool = True) -> Iterator[Step]:
    """One step: the function and, if wanted, the gradients of its results by its inputs."""

    def step(*args: Any) -> Any:
        with tf.GradientTape() as tape:
            wanted = [arg for arg in dense_parts(args) if arg.dtype.is_floating or arg.dtype.is_complex]
            tape.watch(wanted)
            made = function(*args)
            loss = scalar_loss(made)
        gradients = tape.gradient(loss, wanted) if gradient else []
        return [loss, *dense_parts(made), *dense_parts(gradients)]

    yield Step(function=step, args=specs)


def steps_of_layer(layer: Any, specs: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Iterator[Step]:
    """Two steps: training with gradients by weights and inputs and an update, and inference."""
    options = kwargs or {}

    def call(args: Any, training: bool) -> Any:
        accepts = getattr(layer, "_call_has_training_arg", False)
        return layer(*args, **options, **({"training": training} if accepts else {}))

    built = tf.nest.map_structure(lambda s: keras.KerasTensor(tuple(s.shape), s.dtype.name), specs)
    if not layer.built and not any(s.dtype == tf.string for s in tf.nest.flatten(specs)):
        call(built, False)

    def train(*args: Any) -> Any:
        with tf.GradientTape() as tape:
            wanted = [arg for arg in dense_parts(args) if arg.dtype.is_floating]
            tape.watch(wanted)
            made = call(args, True)
            loss = scalar_loss(made) + tf.add_n([tf.zeros(()), *layer.losses])
        weights = [variable.value for variable in layer.trainable_variables]
        gradients = tape.gradient(loss, [*weights, *wanted])
        for weight, gradient in zip(weights, gradients, strict=False):
            if gradient is not None:
                weight.assign_sub(0.1 * tf.convert_to_tensor(gradient))
        return [*dense_parts(made), *dense_parts(gradients[len(weights) :])]

    yield Step(function=train, args=specs, kind="train", keeps=[layer])
    yield Step(function=lambda *args: dense_parts(call(args, False)), args=specs, kind="predict", keeps=[layer])
