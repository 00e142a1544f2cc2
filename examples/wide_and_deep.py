"""Who will repay a loan? A subclassed model of a table with named columns: dict inputs, sample weights, tf.data."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

NUMBERS = ("age", "income", "debt", "years_employed")
CHOICES = {"region": 50, "occupation": 300, "employer": 20000}


class WideAndDeep(keras.Model):
    """A linear part that remembers and a deep part that generalizes, over the same columns."""

    def __init__(self, width=256, **kwargs):
        super().__init__(**kwargs)
        self.vectors = {name: layers.Embedding(size, 32, name=name) for name, size in CHOICES.items()}
        self.biases = {name: layers.Embedding(size, 1, name=f"{name}_bias") for name, size in CHOICES.items()}
        self.normalize = layers.BatchNormalization(name="normalize")
        self.hidden = [layers.Dense(width, activation="relu", name=f"hidden_{i}") for i in range(3)]
        self.dropout = layers.Dropout(0.3)
        self.wide = layers.Dense(1, name="wide")
        self.deep = layers.Dense(1, name="deep")

    def call(self, inputs, training=False):
        numbers = tf.stack([tf.cast(inputs[name], tf.float32) for name in NUMBERS], axis=1)
        numbers = self.normalize(numbers, training=training)
        deep = tf.concat([numbers, *(layer(inputs[name]) for name, layer in self.vectors.items())], axis=1)
        for layer in self.hidden:
            deep = self.dropout(layer(deep), training=training)
        wide = self.wide(numbers) + sum(layer(inputs[name]) for name, layer in self.biases.items())
        return tf.sigmoid(wide + self.deep(deep))


def table(rows):
    random = np.random.default_rng(0)
    columns = {name: random.normal(size=rows).astype("float32") for name in NUMBERS}
    columns |= {name: random.integers(size, size=rows) for name, size in CHOICES.items()}
    repaid = (columns["income"] > columns["debt"]).astype("float32")
    weights = np.where(repaid == 1, 1.0, 4.0).astype("float32")
    return tf.data.Dataset.from_tensor_slices((columns, repaid[:, None], weights))


if __name__ == "__main__":
    model = WideAndDeep()
    model.compile(
        optimizer=keras.optimizers.RMSprop(1e-3, momentum=0.9),
        loss=keras.losses.BinaryCrossentropy(),
        metrics=[keras.metrics.AUC(name="auc")],
        weighted_metrics=["accuracy"],
    )
    model.fit(table(20000).shuffle(4096).batch(512).prefetch(tf.data.AUTOTUNE), epochs=3)
