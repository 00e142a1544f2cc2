"""The two steps whose analysis is timed: each function returns `(step, args)`."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import layers

IMAGES = (8, 224, 224, 3)
LENGTH, WIDTH, HEADS, VOCABULARY, DEPTH = 256, 256, 8, 8000, 4


def resnet50():
    return _step(keras.applications.ResNet50(weights=None), tf.zeros(IMAGES), tf.zeros(IMAGES[:1], tf.int32))


def transformer():
    inputs = keras.Input((LENGTH,), dtype="int32")
    x = layers.Embedding(VOCABULARY, WIDTH)(inputs)
    for _ in range(DEPTH):
        y = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(y, y, use_causal_mask=True)])
        y = layers.LayerNormalization()(x)
        y = layers.Dense(WIDTH)(layers.Dense(4 * WIDTH, activation="gelu")(y))
        x = layers.Add()([x, layers.Dropout(0.1)(y)])
    model = keras.Model(inputs, layers.Dense(VOCABULARY, activation="softmax")(x))
    tokens = tf.zeros((8, LENGTH), tf.int32)
    return _step(model, tokens, tokens)


def _step(model: keras.Model, x: Any, y: Any) -> tuple[Any, tuple[Any, Any]]:
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", jit_compile=False)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        return model.train_step((x, y))

    return step, (x, y)
