"""Small Keras models of eight kinds, compiled with XLA: a training step of each is compared with real runs."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers


def mlp() -> Any:
    """Dense layers with batch normalisation and dropout."""
    inputs = x = keras.Input((256,))
    for _ in range(3):
        x = layers.Dense(512, activation="relu")(x)
        x = layers.Dropout(0.2)(layers.BatchNormalization()(x))
    return _compiled(inputs, layers.Dense(10)(x), "sparse_categorical_crossentropy")


def cnn() -> Any:
    """Convolutions and pooling."""
    inputs = x = keras.Input((32, 32, 3))
    for filters in (32, 64, 128):
        x = layers.MaxPooling2D()(layers.Conv2D(filters, 3, padding="same", activation="relu")(x))
    return _compiled(inputs, layers.Dense(10)(layers.Flatten()(x)), "sparse_categorical_crossentropy")


def resnet() -> Any:
    """Residual blocks with batch normalisation."""
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(32, 3, padding="same")(inputs)
    for filters, strides in ((32, 1), (64, 2), (128, 2)):
        y = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
        y = layers.Activation("relu")(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same", use_bias=False)(y))
        x = layers.Activation("relu")(layers.Add()([y, layers.Conv2D(filters, 1, strides=strides)(x)]))
    return _compiled(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)), "sparse_categorical_crossentropy")


def transformer() -> Any:
    """Two blocks of self-attention over 64 tokens."""
    inputs = keras.Input((64,), dtype="int32")
    x = layers.Embedding(2000, 128)(inputs)
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 32)(x, x, use_causal_mask=True))
        y = layers.Dense(128)(layers.Dense(512, activation="gelu")(x))
        x = layers.LayerNormalization()(x + y)
    return _compiled(inputs, layers.Dense(2000)(x), "sparse_categorical_crossentropy")


def lstm() -> Any:
    """Two LSTM layers over 32 time steps."""
    inputs = keras.Input((32, 64))
    x = layers.LSTM(128)(layers.LSTM(128, return_sequences=True)(inputs))
    return _compiled(inputs, layers.Dense(4)(x), "mse")


def unet() -> Any:
    """A U-Net of three levels."""
    inputs = x = keras.Input((64, 64, 3))
    skips = []
    for filters in (16, 32):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    for skip in reversed(skips):
        x = layers.Concatenate()([skip, layers.Conv2DTranspose(skip.shape[-1], 2, strides=2)(x)])
        x = layers.Conv2D(skip.shape[-1], 3, padding="same", activation="relu")(x)
    return _compiled(inputs, layers.Conv2D(3, 1)(x), "sparse_categorical_crossentropy")


class _Sampling(layers.Layer):
    """Draws from a normal distribution, and adds its divergence to the loss."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(0)

    def call(self, mean: Any, log_variance: Any) -> Any:
        spread = keras.ops.square(mean) + keras.ops.exp(log_variance) - log_variance - 1
        self.add_loss(0.5 * keras.ops.mean(spread))
        noise = keras.random.normal(keras.ops.shape(mean), seed=self.seed_generator)
        return mean + keras.ops.exp(0.5 * log_variance) * noise


def vae() -> Any:
    """A variational autoencoder of 28×28 pictures."""
    inputs = keras.Input((28, 28, 1))
    x = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(inputs)
    x = layers.Flatten()(layers.Conv2D(64, 3, strides=2, padding="same", activation="relu")(x))
    x = _Sampling()(layers.Dense(16)(x), layers.Dense(16)(x))
    x = layers.Reshape((7, 7, 64))(layers.Dense(7 * 7 * 64, activation="relu")(x))
    for filters in (64, 32):
        x = layers.Conv2DTranspose(filters, 3, strides=2, padding="same", activation="relu")(x)
    return _compiled(inputs, layers.Conv2D(1, 3, padding="same")(x), "mse")


def embedding() -> Any:
    """Tables of embeddings beside dense features, as in recommenders."""
    ids, dense = keras.Input((8,), dtype="int32"), keras.Input((13,))
    x = layers.Flatten()(layers.Embedding(20000, 32)(ids))
    x = layers.Concatenate()([x, layers.Dense(64, activation="relu")(dense)])
    x = layers.Dense(128, activation="relu")(x)
    return _compiled([ids, dense], layers.Dense(1)(x), "mse")


def _compiled(inputs: Any, outputs: Any, loss: str) -> Any:
    model = keras.Model(inputs, outputs)
    if loss == "sparse_categorical_crossentropy":
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss, jit_compile=True)
    return model
