"""A small convolutional network for handwritten digits: Sequential, numpy arrays, `fit` and `evaluate`."""

import keras
import numpy as np
from keras import layers


def digits(count, seed):
    """Images of 28x28 in [0, 1] with their digit: a bright square whose place tells which."""
    random = np.random.default_rng(seed)
    images = random.random((count, 28, 28, 1), dtype="float32") * 0.3
    labels = random.integers(10, size=count)
    for image, label in zip(images, labels, strict=True):
        row, column = divmod(int(label), 4)
        image[2 + 8 * row : 8 + 8 * row, 1 + 7 * column : 6 + 7 * column] += 0.7
    return images, keras.utils.to_categorical(labels, 10)


def main():
    model = keras.Sequential(
        [
            keras.Input(shape=(28, 28, 1)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.summary()
    model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
    x, y = digits(5000, seed=0)
    model.fit(x, y, batch_size=128, epochs=3, validation_split=0.1)
    loss, accuracy = model.evaluate(*digits(1000, seed=1), verbose=0)
    print(f"test loss {loss:.3f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
