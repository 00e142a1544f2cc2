"""Networks that make images."""

from __future__ import annotations

import keras
import tensorflow as tf
from _steps import images, tape_step, train_step
from keras import layers, ops


class Autoencoder(keras.Model):
    """A variational autoencoder with a train step of its own."""

    def __init__(self, latent: int = 16) -> None:
        super().__init__()
        self.encoder = keras.Sequential(
            [
                keras.Input((32, 32, 1)),
                layers.Conv2D(32, 3, 2, "same", activation="relu"),
                layers.Conv2D(64, 3, 2, "same", activation="relu"),
                layers.Flatten(),
                layers.Dense(2 * latent),
            ]
        )
        self.decoder = keras.Sequential(
            [
                keras.Input((latent,)),
                layers.Dense(8 * 8 * 64, activation="relu"),
                layers.Reshape((8, 8, 64)),
                layers.Conv2DTranspose(64, 3, 2, "same", activation="relu"),
                layers.Conv2DTranspose(32, 3, 2, "same", activation="relu"),
                layers.Conv2DTranspose(1, 3, padding="same", activation="sigmoid"),
            ]
        )
        self.seed = keras.random.SeedGenerator(1)
        self.loss_tracker = keras.metrics.Mean(name="loss")

    def train_step(self, data):
        (x,) = data
        with tf.GradientTape() as tape:
            mean, spread = ops.split(self.encoder(x, training=True), 2, axis=-1)
            z = mean + ops.exp(0.5 * spread) * keras.random.normal(ops.shape(mean), seed=self.seed)
            made = self.decoder(z, training=True)
            error = ops.sum(keras.losses.binary_crossentropy(x, made), axis=(1, 2))
            distance = -0.5 * ops.sum(1 + spread - ops.square(mean) - ops.exp(spread), axis=1)
            loss = ops.mean(error + distance)
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}


def autoencoder():
    return train_step(Autoencoder(), images(64, 32, 1), None, keras.optimizers.Adam(use_ema=True))


def _block(x, time, width):
    """Two convolutions with group normalisation, told the time in between."""
    y = layers.Conv2D(width, 3, padding="same")(layers.Activation("silu")(layers.GroupNormalization(8)(x)))
    y = y + layers.Reshape((1, 1, width))(layers.Dense(width)(time))
    y = layers.Conv2D(width, 3, padding="same")(layers.Activation("silu")(layers.GroupNormalization(8)(y)))
    return y + (x if x.shape[-1] == width else layers.Conv2D(width, 1)(x))


def _attention(x):
    _, height, width, channels = x.shape
    y = layers.Reshape((height * width, channels))(layers.GroupNormalization(8)(x))
    return x + layers.Reshape((height, width, channels))(layers.MultiHeadAttention(2, channels // 2)(y, y))


def diffusion():
    """The noise of an image at a random time, told by a U-Net."""
    image, time = keras.Input((32, 32, 3)), keras.Input((64,))
    t = layers.Dense(128, activation="silu")(time)
    x, kept = layers.Conv2D(32, 3, padding="same")(image), []
    for width in (32, 64):
        x = _block(x, t, width)
        kept.append(x)
        x = layers.Conv2D(width, 3, 2, "same")(x)
    x = _block(_attention(_block(x, t, 128)), t, 128)
    for width in (64, 32):
        x = layers.Concatenate()([layers.UpSampling2D()(x), kept.pop()])
        x = _block(x, t, width)
    network = keras.Model([image, time], layers.Conv2D(3, 3, padding="same")(x))

    def forward(x):
        batch = tf.shape(x)[0]
        at = tf.random.uniform((batch,), 0.0, 1.0)
        angle = at[:, None] * tf.exp(tf.linspace(0.0, 5.0, 32))[None]
        noise = tf.random.normal(tf.shape(x))
        keep = tf.cos(at * 1.5)[:, None, None, None]
        noisy = keep * x + tf.sqrt(1 - keep**2) * noise
        told = network([noisy, tf.concat([tf.sin(angle), tf.cos(angle)], -1)], training=True)
        return tf.reduce_mean(tf.square(told - noise))

    optimizer = keras.optimizers.AdamW(1e-3, clipvalue=1.0)
    return tape_step(forward, optimizer, network.trainable_variables, images(8, 32))


def style_transfer():
    """An image is what is trained: its features' correlations, through a frozen network, shall be another's."""
    network = keras.applications.VGG16(weights=None, include_top=False, input_shape=(96, 96, 3))
    network.trainable = False
    features = keras.Model(network.input, [network.get_layer(f"block{n}_conv1").output for n in (1, 2, 3)])
    image = keras.Variable(tf.random.uniform((1, 96, 96, 3)))

    def gram(x):
        return tf.einsum("bijc,bijd->bcd", x, x) / tf.cast(tf.size(x[..., 0]), tf.float32)

    def forward(style):
        wanted = [gram(layer) for layer in features(style)]
        made = [gram(layer) for layer in features(image.value)]
        parts = [tf.reduce_mean((a - b) ** 2) for a, b in zip(made, wanted, strict=True)]
        return tf.add_n(parts) + 1e-3 * tf.reduce_sum(tf.image.total_variation(image.value))

    return tape_step(forward, keras.optimizers.Adam(0.02), [image], images(1, 96))
