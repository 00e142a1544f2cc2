"""A variational autoencoder for clothes: a sampling layer, two Functional models in a subclass with `train_step`."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops


class Sampling(layers.Layer):
    """A point near the mean, as far away as the variance lets it be."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seeds = keras.random.SeedGenerator(11)

    def call(self, inputs):
        mean, log_var = inputs
        return mean + ops.exp(0.5 * log_var) * keras.random.normal(ops.shape(mean), seed=self.seeds)


def make_encoder(latent):
    images = keras.Input(shape=(28, 28, 1))
    x = layers.Conv2D(32, 3, activation="relu", strides=2, padding="same")(images)
    x = layers.Conv2D(64, 3, activation="relu", strides=2, padding="same")(x)
    x = layers.Dense(16, activation="relu")(layers.Flatten()(x))
    mean, log_var = layers.Dense(latent, name="mean")(x), layers.Dense(latent, name="log_var")(x)
    return keras.Model(images, [mean, log_var, Sampling()([mean, log_var])], name="encoder")


def make_decoder(latent):
    points = keras.Input(shape=(latent,))
    x = layers.Dense(7 * 7 * 64, activation="relu")(points)
    x = layers.Reshape((7, 7, 64))(x)
    x = layers.Conv2DTranspose(64, 3, activation="relu", strides=2, padding="same")(x)
    x = layers.Conv2DTranspose(32, 3, activation="relu", strides=2, padding="same")(x)
    return keras.Model(points, layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(x), name="decoder")


class VAE(keras.Model):
    """Learns to draw its input again from a few numbers that look normally distributed."""

    def __init__(self, latent, **kwargs):
        super().__init__(**kwargs)
        self.encoder, self.decoder = make_encoder(latent), make_decoder(latent)
        self.trackers = [keras.metrics.Mean(name) for name in ("loss", "reconstruction", "kl")]

    @property
    def metrics(self):
        return self.trackers

    def train_step(self, images):
        with tf.GradientTape() as tape:
            mean, log_var, point = self.encoder(images)
            error = keras.losses.binary_crossentropy(images, self.decoder(point))
            reconstruction = ops.mean(ops.sum(error, axis=(1, 2)))
            kl = ops.mean(ops.sum(-0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var)), axis=1))
            loss = reconstruction + kl
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        for tracker, value in zip(self.trackers, (loss, reconstruction, kl), strict=True):
            tracker.update_state(value)
        return {tracker.name: tracker.result() for tracker in self.trackers}


if __name__ == "__main__":
    clothes = np.random.default_rng(0).random((4096, 28, 28, 1), dtype="float32")
    vae = VAE(latent=2)
    vae.compile(optimizer=keras.optimizers.Adam())
    vae.fit(clothes, epochs=3, batch_size=128)
