"""A U-Net that marks each pixel as object, border or background: Functional, a PyDataset that makes its own batches."""

import keras
import numpy as np
from keras import layers

SIZE = (160, 160)


class Discs(keras.utils.PyDataset):
    """Pictures of one disc each, with a class per pixel: 0 background, 1 border, 2 inside."""

    def __init__(self, batches, batch_size, seed=0):
        super().__init__()
        self.batches, self.batch_size, self.seed = batches, batch_size, seed

    def __len__(self):
        return self.batches

    def __getitem__(self, index):
        random = np.random.default_rng((self.seed, index))
        rows, columns = np.mgrid[: SIZE[0], : SIZE[1]]
        centre = random.uniform(40, 120, size=(2, self.batch_size, 1, 1))
        radius = random.uniform(15, 40, size=(self.batch_size, 1, 1))
        distance = np.hypot(rows - centre[0], columns - centre[1]) - radius
        masks = (distance < 2).astype("uint8") + (distance < -2)
        images = masks[..., None] * 60.0 + random.normal(60, 20, size=(*masks.shape, 3))
        return images.astype("float32"), masks[..., None]


def down(x, filters):
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
    return x


def unet(classes):
    inputs = keras.Input(shape=(*SIZE, 3))
    x = layers.Rescaling(1 / 255)(inputs)
    skips = []
    for filters in (32, 64, 128, 256):
        x = down(x, filters)
        skips.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = down(x, 512)
    for skip in reversed(skips):
        filters = skip.shape[-1]
        x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
        x = down(layers.Concatenate()([skip, x]), filters)
    return keras.Model(inputs, layers.Conv2D(classes, 1, activation="softmax")(x), name="unet")


model = unet(classes=3)
model.compile(optimizer=keras.optimizers.Adam(1e-4), loss="sparse_categorical_crossentropy")
stop = keras.callbacks.EarlyStopping(patience=2)
model.fit(Discs(40, 16), validation_data=Discs(5, 16, seed=1), epochs=10, callbacks=[stop])
