"""A training loop written out: a `tf.function` with a GradientTape, called for each batch of a tf.data dataset."""

import time

import keras
import numpy as np
import tensorflow as tf
from keras import layers

EPOCHS, BATCH = 2, 64

inputs = keras.Input(shape=(32, 32, 3), name="images")
x = inputs
for filters in (64, 128, 256):
    x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D()(x)
x = layers.GlobalAveragePooling2D()(x)
model = keras.Model(inputs, layers.Dense(100, name="scores")(x))

optimizer = keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 1000, 0.9), momentum=0.9)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
accuracy = keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        scores = model(images, training=True)
        loss = loss_fn(labels, scores)
    gradients = tape.gradient(loss, model.trainable_weights)
    gradients, _ = tf.clip_by_global_norm(gradients, 5.0)
    optimizer.apply(gradients, model.trainable_weights)
    accuracy.update_state(labels, scores)
    return loss


@tf.function
def test_step(images, labels):
    accuracy.update_state(labels, model(images, training=False))


def batches(count, seed):
    random = np.random.default_rng(seed)
    images = random.random((count, 32, 32, 3), dtype="float32")
    labels = random.integers(100, size=count)
    return tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(1024).batch(BATCH)


train, test = batches(2048, seed=0), batches(512, seed=1)
for epoch in range(EPOCHS):
    start = time.time()
    for step, (images, labels) in enumerate(train):
        loss = train_step(images, labels)
        if step % 10 == 0:
            print(f"epoch {epoch}, step {step}: loss {float(loss):.4f}")
    print(f"epoch {epoch}: accuracy {float(accuracy.result()):.4f}, {time.time() - start:.1f} s")
    accuracy.reset_state()
    for images, labels in test:
        test_step(images, labels)
    print(f"epoch {epoch}: test accuracy {float(accuracy.result()):.4f}")
    accuracy.reset_state()
