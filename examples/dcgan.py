"""A generative adversarial network for small portraits: `train_step` trains two models with two optimizers."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

LATENT = 128


def make_discriminator():
    return keras.Sequential(
        [
            keras.Input(shape=(64, 64, 3)),
            layers.Conv2D(64, 4, strides=2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.Conv2D(128, 4, strides=2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.Conv2D(128, 4, strides=2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.Flatten(),
            layers.Dropout(0.2),
            layers.Dense(1),
        ],
        name="discriminator",
    )


def make_generator():
    model = keras.Sequential(name="generator")
    model.add(keras.Input(shape=(LATENT,)))
    model.add(layers.Dense(8 * 8 * 128))
    model.add(layers.Reshape((8, 8, 128)))
    for filters in (128, 256, 512):
        model.add(layers.Conv2DTranspose(filters, 4, strides=2, padding="same"))
        model.add(layers.LeakyReLU(0.2))
    model.add(layers.Conv2D(3, 5, padding="same", activation="sigmoid"))
    return model


class GAN(keras.Model):
    """Both players; each call of `train_step` lets first the discriminator learn, then the generator."""

    def __init__(self, discriminator, generator):
        super().__init__()
        self.discriminator, self.generator = discriminator, generator
        self.seeds = keras.random.SeedGenerator(7)
        self.d_loss, self.g_loss = keras.metrics.Mean("d_loss"), keras.metrics.Mean("g_loss")

    def compile(self, d_optimizer, g_optimizer, loss):
        super().compile()
        self.d_optimizer, self.g_optimizer, self.loss_fn = d_optimizer, g_optimizer, loss

    @property
    def metrics(self):
        return [self.d_loss, self.g_loss]

    def train_step(self, real):
        batch = tf.shape(real)[0]
        noise = keras.random.normal((batch, LATENT), seed=self.seeds)
        images = tf.concat([self.generator(noise), real], axis=0)
        labels = tf.concat([tf.ones((batch, 1)), tf.zeros((batch, 1))], axis=0)
        labels += 0.05 * tf.random.uniform(tf.shape(labels))
        with tf.GradientTape() as tape:
            d_loss = self.loss_fn(labels, self.discriminator(images, training=True))
        weights = self.discriminator.trainable_weights
        self.d_optimizer.apply_gradients(zip(tape.gradient(d_loss, weights), weights, strict=True))

        noise = keras.random.normal((batch, LATENT), seed=self.seeds)
        with tf.GradientTape() as tape:
            scores = self.discriminator(self.generator(noise, training=True), training=False)
            g_loss = self.loss_fn(tf.zeros((batch, 1)), scores)
        weights = self.generator.trainable_weights
        self.g_optimizer.apply_gradients(zip(tape.gradient(g_loss, weights), weights, strict=True))
        self.d_loss.update_state(d_loss)
        self.g_loss.update_state(g_loss)
        return {"d_loss": self.d_loss.result(), "g_loss": self.g_loss.result()}


faces = np.random.default_rng(0).random((640, 64, 64, 3), dtype="float32")
dataset = tf.data.Dataset.from_tensor_slices(faces).shuffle(640).batch(32, drop_remainder=True)
gan = GAN(make_discriminator(), make_generator())
gan.compile(
    d_optimizer=keras.optimizers.Adam(1e-4, beta_1=0.5),
    g_optimizer=keras.optimizers.Adam(1e-4, beta_1=0.5),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
)
gan.fit(dataset, epochs=1)
