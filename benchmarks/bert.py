"""BERT as google-research/bert fine-tuned it in 2018, one training step in TensorFlow's own ops.

The published maximum batch sizes are of that program on TensorFlow 1.11, so what it does is kept: dropout by a mask of
random numbers, layer normalization out of moments, GELU by the error function, gradients from `tf.gradients`, clipped
by their global norm, and an Adam written out, which assigns every variable anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

VOCABULARY, POSITIONS, SEGMENTS, LABELS = 30522, 512, 2, 2
DROPPED = 0.1


class Bert(tf.Module):
    """The encoder with a classifier on its first token."""

    def __init__(self, layers: int = 12, width: int = 768, heads: int = 12) -> None:
        super().__init__()
        self.layers, self.width, self.heads = layers, width, heads
        self.weights: dict[str, tf.Variable] = {}

    def weight(self, name: str, *shape: int) -> tf.Variable:
        if name not in self.weights:
            self.weights[name] = tf.Variable(lambda: tf.zeros(shape), name=name, shape=shape, dtype=tf.float32)
        return self.weights[name]

    def dense(self, name: str, x: tf.Tensor, units: int) -> tf.Tensor:
        product = tf.matmul(x, self.weight(f"{name}/kernel", x.shape[-1], units))
        return tf.nn.bias_add(product, self.weight(f"{name}/bias", units))

    def normalized(self, name: str, x: tf.Tensor) -> tf.Tensor:
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        beta, gamma = (self.weight(f"{name}/LayerNorm/{part}", self.width) for part in ("beta", "gamma"))
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-12)

    def embedded(self, ids: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
        batch, length = ids.shape
        words = tf.gather(self.weight("word_embeddings", VOCABULARY, self.width), tf.reshape(ids, [-1]))
        x = tf.reshape(words, [batch, length, self.width])
        kinds = tf.one_hot(tf.reshape(segments, [-1]), SEGMENTS)
        x += tf.reshape(
            tf.matmul(kinds, self.weight("token_type_embeddings", SEGMENTS, self.width)), [batch, length, self.width]
        )
        positions = tf.slice(self.weight("position_embeddings", POSITIONS, self.width), [0, 0], [length, -1])
        x += tf.reshape(positions, [1, length, self.width])
        return dropped(self.normalized("embeddings", x))

    def attention(self, name: str, x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        batch, length, _ = mask.shape
        size = self.width // self.heads

        def split(part: str) -> tf.Tensor:
            projected = self.dense(f"{name}/{part}", x, self.width)
            return tf.transpose(tf.reshape(projected, [batch, length, self.heads, size]), [0, 2, 1, 3])

        query, key, value = split("query"), split("key"), split("value")
        scores = tf.multiply(tf.matmul(query, key, transpose_b=True), size**-0.5)
        scores += (1.0 - tf.expand_dims(mask, 1)) * -10000.0
        context = tf.matmul(dropped(tf.nn.softmax(scores)), value)
        return tf.reshape(tf.transpose(context, [0, 2, 1, 3]), [batch * length, self.width])

    def __call__(self, ids: tf.Tensor, segments: tf.Tensor, given: tf.Tensor) -> tf.Tensor:
        batch, length = ids.shape
        mask = tf.ones([batch, length, 1]) * tf.cast(tf.reshape(given, [batch, 1, length]), tf.float32)
        x = tf.reshape(self.embedded(ids, segments), [batch * length, self.width])
        for number in range(self.layers):
            name = f"layer_{number}"
            attended = dropped(self.dense(f"{name}/attention/output", self.attention(name, x, mask), self.width))
            x = self.normalized(f"{name}/attention", attended + x)
            hidden = self.dense(f"{name}/intermediate", x, 4 * self.width)
            hidden *= 0.5 * (1.0 + tf.math.erf(hidden / tf.sqrt(2.0)))
            x = self.normalized(name, dropped(self.dense(f"{name}/output", hidden, self.width)) + x)
        first = tf.squeeze(tf.reshape(x, [batch, length, self.width])[:, 0:1, :], 1)
        pooled = tf.tanh(self.dense("pooler", first, self.width))
        return self.dense("classifier", dropped(pooled), LABELS)


def dropped(x: tf.Tensor) -> tf.Tensor:
    kept = tf.floor(1.0 - DROPPED + tf.random.uniform(tf.shape(x)))
    return tf.divide(x, 1.0 - DROPPED) * kept


def adam(weights: dict[str, tf.Variable], slots: dict[str, list[tf.Variable]], gradients: list[Any]) -> None:
    """Decayed weights, moments and updates, each assigned anew."""
    for (name, weight), gradient in zip(weights.items(), gradients, strict=True):
        if name not in slots:
            slots[name] = [
                tf.Variable(lambda w=weight: tf.zeros(w.shape), name=f"{name}/adam_{part}", trainable=False)
                for part in "mv"
            ]
        m, v = slots[name]
        next_m = 0.9 * m + tf.multiply(0.1, gradient)
        next_v = 0.999 * v + tf.multiply(0.001, tf.square(gradient))
        update = next_m / (tf.sqrt(next_v) + 1e-6)
        if not any(part in name for part in ("LayerNorm", "bias")):
            update += 0.01 * weight
        next_weight = weight - 2e-5 * update
        weight.assign(next_weight)
        m.assign(next_m)
        v.assign(next_v)


def training_step(batch: int, length: int, **sizes: int) -> tuple[Callable[..., Any], list[tf.TensorSpec]]:
    """One step of fine-tuning, and the specs of its inputs: words, segments, mask, labels."""
    model, slots = Bert(**sizes), {}

    @tf.function(autograph=False)
    def step(ids: tf.Tensor, segments: tf.Tensor, given: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        likely = tf.nn.log_softmax(model(ids, segments, given))
        loss = tf.reduce_mean(-tf.reduce_sum(tf.one_hot(labels, LABELS) * likely, axis=-1))
        gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, list(model.weights.values())), 1.0)
        adam(model.weights, slots, gradients)
        return loss

    inputs = [tf.TensorSpec((batch, length), tf.int32)] * 3
    return step, [*inputs, tf.TensorSpec((batch,), tf.int32)]
