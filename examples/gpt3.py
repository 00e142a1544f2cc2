"""A decoder-only language model of GPT-3's size: 174.6 billion parameters, trained with Adam in float32.

The script is like any other, and no single machine could run it: weights and Adam's two moments alone take 2 TB.
Smaller ones are a call away, such as `gpt3.py:build(blocks=12, width=768, heads=12)` for the smallest GPT-2.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

VOCABULARY, LENGTH, PADDING = 50257, 2048, 50256


class Tokens(layers.Layer):
    """Turns tokens into vectors, each with its position; with `reverse=True` vectors into scores for each token."""

    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        self.table = self.add_weight(shape=(VOCABULARY, width), initializer="random_normal", name="table")
        self.positions = self.add_weight(shape=(LENGTH, width), initializer="random_normal", name="positions")

    def call(self, inputs, reverse=False):
        if reverse:
            return tf.matmul(inputs, self.table, transpose_b=True)
        return tf.gather(self.table, inputs) + self.positions


class CausalMask(layers.Layer):
    """Which token may look at which: those up to itself that are no padding."""

    def call(self, tokens):
        position = tf.range(tokens.shape[1])
        return (position[:, None] >= position) & (tokens != PADDING)[:, None, None, :]


class Attention(layers.Layer):
    """Each token gathers from the tokens before it, in several heads."""

    def __init__(self, width, heads, **kwargs):
        super().__init__(**kwargs)
        self.heads, self.size = heads, width // heads
        self.project = layers.Dense(3 * width, name="project")
        self.join = layers.Dense(width, name="join")

    def call(self, x, mask):
        split = tf.reshape(self.project(x), (-1, LENGTH, 3, self.heads, self.size))
        query, key, value = tf.unstack(tf.transpose(split, (2, 0, 3, 1, 4)))
        scores = tf.matmul(query, key, transpose_b=True) * self.size**-0.5
        shares = tf.nn.softmax(tf.where(mask, scores, -1e9))
        gathered = tf.transpose(tf.matmul(shares, value), (0, 2, 1, 3))
        return self.join(tf.reshape(gathered, (-1, LENGTH, self.heads * self.size)))


class Block(layers.Layer):
    """Attention, then a wide layer and back, each added to what came in."""

    def __init__(self, width, heads, **kwargs):
        super().__init__(**kwargs)
        self.norm_1 = layers.LayerNormalization(epsilon=1e-5, name="norm_1")
        self.attention = Attention(width, heads, name="attention")
        self.norm_2 = layers.LayerNormalization(epsilon=1e-5, name="norm_2")
        self.wide = layers.Dense(4 * width, activation="gelu", name="wide")
        self.narrow = layers.Dense(width, name="narrow")

    def call(self, x, mask):
        x += self.attention(self.norm_1(x), mask)
        return x + self.narrow(self.wide(self.norm_2(x)))


def build(blocks=96, width=12288, heads=96):
    """The compiled model; by default as large as GPT-3."""
    tokens = keras.Input((LENGTH,), dtype="int32")
    embedding, mask = Tokens(width, name="tokens"), CausalMask(name="mask")(tokens)
    x = embedding(tokens)
    for index in range(blocks):
        x = Block(width, heads, name=f"block_{index}")(x, mask)
    x = layers.LayerNormalization(epsilon=1e-5, name="norm")(x)
    model = keras.Model(tokens, embedding(x, reverse=True), name="gpt3")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(6e-5, beta_2=0.95), loss)
    return model


if __name__ == "__main__":
    text = np.random.default_rng(0).integers(VOCABULARY, size=(8, LENGTH + 1), dtype="int32")
    build().fit(text[:, :-1], text[:, 1:], batch_size=1)
