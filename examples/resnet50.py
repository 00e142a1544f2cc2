"""ResNet50 trained from scratch on ImageNet-sized images: a Keras application, tf.data and `fit`."""

import keras
import numpy as np
import tensorflow as tf

BATCH = 32
CLASSES = 1000


def photographs(count):
    """Synthetic photographs with their labels, shuffled and in batches."""
    random = np.random.default_rng(0)
    images = random.integers(256, size=(count, 224, 224, 3), dtype="uint8")
    labels = random.integers(CLASSES, size=count)

    def prepare(image, label):
        image = tf.image.random_flip_left_right(image)
        return keras.applications.resnet50.preprocess_input(tf.cast(image, tf.float32)), label

    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(count)
    return dataset.map(prepare).batch(BATCH, drop_remainder=True).prefetch(2)


if __name__ == "__main__":
    model = keras.applications.ResNet50(weights=None, classes=CLASSES)
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    model.fit(photographs(256), epochs=2)
