"""Recurrent networks: masks, state kept between batches, unrolled and nested loops."""

from __future__ import annotations

import keras
import tensorflow as tf
from _steps import Training, labels, tokens, variants
from keras import layers

CLASSES = "sparse_categorical_crossentropy"


@variants()
def masked():
    """Measurements with missing ends: two layers, with dropout on what recurs."""
    model = keras.Sequential(
        [
            keras.Input((48, 32)),
            layers.Masking(),
            layers.LSTM(96, return_sequences=True, recurrent_dropout=0.2),
            layers.GRU(64, dropout=0.1),
            layers.Dense(8, activation="softmax"),
        ]
    )
    return Training(model, tf.random.uniform((64, 48, 32)), labels(64), "adam", CLASSES)


@variants("train", "predict")
def stateful():
    model = keras.Sequential(
        [
            keras.Input(batch_shape=(32, 40, 24)),
            layers.GRU(128, stateful=True, return_sequences=True),
            layers.LSTM(96, stateful=True, return_sequences=True),
            layers.Dense(24),
        ]
    )
    return Training(model, tf.random.uniform((32, 40, 24)), tf.zeros((32, 40, 24)), "rmsprop", "mse")


@variants()
def unrolled():
    inputs = keras.Input((12, 64))
    x = layers.LSTM(128, unroll=True, return_sequences=True)(inputs)
    x = layers.GRU(128, unroll=True, reset_after=False)(x)
    model = keras.Model(inputs, layers.Dense(16, activation="softmax")(x))
    return Training(model, tf.random.uniform((128, 12, 64)), labels(128), "adam", CLASSES)


@variants("train", "predict")
def stacked_cells():
    """Cells of several kinds in one loop, backwards."""
    cells = [layers.LSTMCell(96), layers.GRUCell(96), layers.SimpleRNNCell(64)]
    inputs = keras.Input((32, 48))
    x = layers.RNN(cells, return_sequences=True, go_backwards=True)(inputs)
    model = keras.Model(inputs, layers.Dense(48)(x))
    return Training(model, tf.random.uniform((32, 32, 48)), tf.zeros((32, 32, 48)), keras.optimizers.Adamax(), "mae")


@variants()
def frames():
    """The same convolutions for each frame, and a recurrent layer over them."""
    inputs = keras.Input((10, 40, 40, 3))
    x = layers.TimeDistributed(layers.Conv2D(16, 3, 2, activation="relu"))(inputs)
    x = layers.TimeDistributed(layers.Conv2D(32, 3, 2, activation="relu"))(x)
    x = layers.TimeDistributed(layers.GlobalAveragePooling2D())(x)
    x = layers.Bidirectional(layers.GRU(64), merge_mode="sum")(x)
    model = keras.Model(inputs, layers.Dense(6, activation="softmax")(x))
    return Training(model, tf.random.uniform((8, 10, 40, 40, 3)), labels(8), "adam", CLASSES)


@variants("train", "predict")
def forecast():
    """Convolutional recurrence over a line, both ways."""
    inputs = keras.Input((12, 64, 4))
    x = layers.Bidirectional(layers.ConvLSTM1D(16, 5, padding="same", return_sequences=True))(inputs)
    x = layers.ConvLSTM1D(8, 3, padding="same", return_sequences=True)(x)
    model = keras.Model(inputs, layers.TimeDistributed(layers.Conv1D(4, 1))(x))
    return Training(model, tf.random.uniform((16, 12, 64, 4)), tf.zeros((16, 12, 64, 4)), "adam", "mse")


@variants("train", "predict")
def hierarchical():
    """Words, then sentences: a recurrent network for each element of an outer sequence."""
    words = keras.Input((20,), dtype="int32")
    x = layers.Embedding(3000, 48, mask_zero=True)(words)
    sentence = keras.Model(words, layers.Bidirectional(layers.GRU(48))(x))
    document = keras.Input((8, 20), dtype="int32")
    x = layers.Bidirectional(layers.GRU(48))(layers.TimeDistributed(sentence)(document))
    model = keras.Model(document, layers.Dense(5, activation="softmax")(x))
    x = tf.reshape(tokens(16 * 8, 20), (16, 8, 20))
    return Training(model, x, labels(16), "adam", CLASSES)
