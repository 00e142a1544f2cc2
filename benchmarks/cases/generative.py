"""Networks that make images."""

from __future__ import annotations

import keras
import tensorflow as tf
from _steps import Training, images, tape_step, train_step, variants
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
    inputs = x = keras.Input((96, 96, 3))
    kept = []
    for filters, depth in ((64, 2), (128, 2), (256, 1)):  # as VGG16 begins
        x = layers.MaxPooling2D()(x) if kept else x
        for number in range(depth):
            x = layers.Conv2D(filters, 3, padding="same", activation="relu", trainable=False)(x)
            if not number:
                kept.append(x)
    features = keras.Model(inputs, kept)
    image = keras.Variable(tf.random.uniform((1, 96, 96, 3)))

    def gram(x):
        return tf.einsum("bijc,bijd->bcd", x, x) / tf.cast(tf.size(x[..., 0]), tf.float32)

    def forward(style):
        wanted = [gram(layer) for layer in features(style)]
        made = [gram(layer) for layer in features(image.value)]
        parts = [tf.reduce_mean((a - b) ** 2) for a, b in zip(made, wanted, strict=True)]
        return tf.add_n(parts) + 1e-3 * tf.reduce_sum(tf.image.total_variation(image.value))

    return tape_step(forward, keras.optimizers.Adam(0.02), [image], images(1, 96))


def adversarial():
    """A generator with bilinear upsampling against a critic, each with an optimizer, in one step."""
    generator = keras.Sequential(
        [
            keras.Input((64,)),
            layers.Dense(4 * 4 * 128),
            layers.Reshape((4, 4, 128)),
            layers.UpSampling2D(interpolation="bilinear"),
            layers.Conv2D(64, 3, padding="same"),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Conv2DTranspose(32, 4, 2, "same", activation="relu"),
            layers.Conv2DTranspose(3, 4, 2, "same", activation="tanh"),
        ]
    )
    critic = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.SpectralNormalization(layers.Conv2D(32, 4, 2, "same")),
            layers.LeakyReLU(0.2),
            layers.SpectralNormalization(layers.Conv2D(64, 4, 2, "same")),
            layers.LeakyReLU(0.2),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    optimizers = [keras.optimizers.Adam(1e-4, beta_1=0.5), keras.optimizers.RMSprop(1e-4)]
    networks = (generator, critic)
    for optimizer, network in zip(optimizers, networks, strict=True):
        optimizer.build(network.trainable_variables)

    @tf.function
    def step(real):
        noise = tf.random.normal((tf.shape(real)[0], 64))
        with tf.GradientTape() as first, tf.GradientTape() as second:
            fake = generator(noise, training=True)
            told_real, told_fake = critic(real, training=True), critic(fake, training=True)
            made = tf.reduce_mean(tf.nn.softplus(-told_fake))
            found = tf.reduce_mean(tf.nn.softplus(-told_real)) + tf.reduce_mean(tf.nn.softplus(told_fake))
        for tape, loss, optimizer, network in zip((first, second), (made, found), optimizers, networks, strict=True):
            weights = network.trainable_variables
            gradients = tape.gradient(loss, [weight.value for weight in weights])
            optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return made, found

    return step, (images(32, 32),)


@variants()
def super_resolution():
    """Residual blocks, and channels moved into space."""
    inputs = keras.Input((24, 24, 3))
    x = first = layers.Conv2D(32, 3, padding="same")(inputs)
    for _ in range(3):
        y = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
        x = layers.Add()([x, layers.Rescaling(0.1)(layers.Conv2D(32, 3, padding="same")(y))])
    x = layers.Conv2D(3 * 16, 3, padding="same")(layers.Add()([first, x]))
    x = layers.Lambda(lambda t: tf.nn.depth_to_space(t, 4), output_shape=(96, 96, 3))(x)
    model = keras.Model(inputs, x)
    return Training(model, images(8, 24), images(8, 96), "adam", "mae")


def quantised_codes():
    """An autoencoder whose codes are taken from a book; gradients pass straight through."""
    encoder = keras.Sequential(
        [keras.Input((32, 32, 3)), layers.Conv2D(32, 4, 2, "same", activation="relu"), layers.Conv2D(32, 4, 2, "same")]
    )
    decoder = keras.Sequential(
        [
            keras.Input((8, 8, 32)),
            layers.Conv2DTranspose(32, 4, 2, "same", activation="relu"),
            layers.Conv2DTranspose(3, 4, 2, "same"),
        ]
    )
    book = keras.Variable(tf.random.uniform((256, 32)))

    def forward(x):
        code = encoder(x, training=True)
        flat = tf.reshape(code, (-1, 32))
        distance = tf.reduce_sum(flat**2, 1, keepdims=True) - 2 * tf.matmul(flat, book.value, transpose_b=True)
        nearest = tf.argmin(distance + tf.reduce_sum(book.value**2, 1), 1)
        chosen = tf.reshape(tf.gather(book.value, nearest), tf.shape(code))
        loss = tf.reduce_mean((chosen - tf.stop_gradient(code)) ** 2)
        loss += 0.25 * tf.reduce_mean((code - tf.stop_gradient(chosen)) ** 2)
        made = decoder(code + tf.stop_gradient(chosen - code), training=True)
        return loss + tf.reduce_mean((made - x) ** 2)

    weights = [*encoder.trainable_variables, *decoder.trainable_variables, book]
    return tape_step(forward, keras.optimizers.Adam(), weights, images(32, 32))
