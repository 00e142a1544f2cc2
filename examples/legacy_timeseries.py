"""Tomorrow's weather from the last ten days, with legacy Keras (tf-keras): convolutions, a GRU and `train_on_batch`."""

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf

HOURS, SENSORS = 240, 14


def windows(batches, batch_size):
    """Ten days of readings with the temperature a day later."""
    random = np.random.default_rng(0)
    phase = random.uniform(0, 24, size=SENSORS)
    for _ in range(batches):
        start = random.integers(0, 8760, size=(batch_size, 1, 1))
        hours = start + np.arange(HOURS + 24)[None, :, None]
        readings = np.sin(2 * np.pi * (hours + phase) / 24) + 0.1 * random.normal(size=(*hours.shape[:2], SENSORS))
        yield readings[:, :HOURS].astype("float32"), readings[:, -1, :1].astype("float32")


def make_model():
    layers = tf.keras.layers
    inputs = layers.Input(shape=(HOURS, SENSORS))
    x = layers.Conv1D(64, 5, padding="causal", activation="relu")(inputs)
    x = layers.Conv1D(64, 5, padding="causal", dilation_rate=4, activation="relu")(x)
    x = layers.AveragePooling1D(4)(x)
    x = layers.GRU(128)(x)
    x = layers.Dropout(0.2)(x)
    return tf.keras.Model(inputs, layers.Dense(1)(x), name="weather")


model = make_model()
model.compile(tf.keras.optimizers.Adam(1e-3), loss="huber", metrics=["mae"])
for epoch in range(3):
    model.reset_metrics()
    for readings, temperature in windows(batches=50, batch_size=64):
        loss, error = model.train_on_batch(readings, temperature, reset_metrics=False)
    print(f"epoch {epoch}: loss {loss:.4f}, mean error {error:.4f}")
