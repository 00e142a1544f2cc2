"""A transformer that tells good reviews from bad ones: layers of one's own with `build` and `get_config`, and `fit`."""

import keras
import numpy as np
from keras import layers, ops

VOCABULARY, LENGTH = 20000, 200


@keras.saving.register_keras_serializable("examples")
class TokensAndPositions(layers.Layer):
    """The sum of a vector for each token and one for its position."""

    def __init__(self, length, vocabulary, width, **kwargs):
        super().__init__(**kwargs)
        self.length, self.vocabulary, self.width = length, vocabulary, width
        self.tokens = layers.Embedding(vocabulary, width)
        self.positions = layers.Embedding(length, width)

    def call(self, inputs):
        return self.tokens(inputs) + self.positions(ops.arange(ops.shape(inputs)[-1]))

    def get_config(self):
        return {**super().get_config(), "length": self.length, "vocabulary": self.vocabulary, "width": self.width}


@keras.saving.register_keras_serializable("examples")
class Block(layers.Layer):
    """Self-attention and two dense layers, each with dropout, a residual and a normalization."""

    def __init__(self, width, heads, inner, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.width, self.heads, self.inner, self.rate = width, heads, inner, rate
        self.attention = layers.MultiHeadAttention(num_heads=heads, key_dim=width, dropout=rate)
        self.dense = keras.Sequential([layers.Dense(inner, activation="relu"), layers.Dense(width)])
        self.norm_1 = layers.LayerNormalization(epsilon=1e-6)
        self.norm_2 = layers.LayerNormalization(epsilon=1e-6)
        self.dropout = layers.Dropout(rate)

    def call(self, inputs, training=None):
        attended = self.attention(inputs, inputs, training=training)
        x = self.norm_1(inputs + self.dropout(attended, training=training))
        return self.norm_2(x + self.dropout(self.dense(x), training=training))

    def get_config(self):
        own = {"width": self.width, "heads": self.heads, "inner": self.inner, "rate": self.rate}
        return {**super().get_config(), **own}


def build_model():
    inputs = keras.Input(shape=(LENGTH,), dtype="int32")
    x = TokensAndPositions(LENGTH, VOCABULARY, 64)(inputs)
    for _ in range(2):
        x = Block(64, heads=4, inner=128)(x)
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dropout(0.1)(x)
    outputs = layers.Dense(2, activation="softmax")(x)
    return keras.Model(inputs, outputs)


if __name__ == "__main__":
    random = np.random.default_rng(0)
    lengths = random.integers(20, LENGTH, size=2000)
    reviews = keras.utils.pad_sequences([random.integers(1, VOCABULARY, size=n) for n in lengths], maxlen=LENGTH)
    ratings = (reviews[:, -10:].mean(axis=1) > VOCABULARY / 2).astype("int32")
    model = build_model()
    schedule = keras.optimizers.schedules.CosineDecay(1e-3, decay_steps=1000)
    model.compile(keras.optimizers.AdamW(schedule), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(reviews, ratings, batch_size=32, epochs=2, validation_split=0.2)
