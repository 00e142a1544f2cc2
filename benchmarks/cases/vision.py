"""Networks that classify or compare images."""

from __future__ import annotations

import keras
import tensorflow as tf
from _steps import Training, images, labels, tape_step, test_step, train_step, variants
from keras import layers

CLASSES = "sparse_categorical_crossentropy"


@variants()
def convnext():
    inputs = keras.Input((96, 96, 3))
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Conv2D(48, 4, 4)(inputs))
    for width, depth in ((48, 2), (96, 2), (192, 3)):
        if width > 48:
            x = layers.Conv2D(width, 2, 2)(layers.LayerNormalization(epsilon=1e-6)(x))
        for _ in range(depth):
            y = layers.DepthwiseConv2D(7, padding="same")(x)
            y = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(y))
            y = layers.Dense(width)(y)
            y = layers.Rescaling(1e-6)(y)
            x = layers.Add()([x, layers.Dropout(0.1, noise_shape=(None, 1, 1, 1))(y)])
    x = layers.LayerNormalization()(layers.GlobalAveragePooling2D()(x))
    model = keras.Model(inputs, layers.Dense(10, activation="softmax")(x))
    return Training(model, images(8, 96), labels(8), keras.optimizers.AdamW(1e-3), CLASSES)


@variants()
def separable():
    inputs = x = keras.Input((64, 64, 3))
    for filters, stride in ((32, 1), (64, 2), (128, 2)):
        x = layers.SeparableConv2D(filters, 3, stride, padding="same", depth_multiplier=2, use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.PReLU(shared_axes=[1, 2])(x)
        x = layers.DepthwiseConv2D(5, padding="same", activation="relu")(x)
        x = layers.SpatialDropout2D(0.2)(x)
    model = keras.Model(inputs, layers.Dense(10)(layers.GlobalMaxPooling2D()(x)))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return Training(model, images(16, 64), labels(16), keras.optimizers.Nadam(), loss)


@variants()
def vision_transformer():
    width, depth, patch, size = 128, 4, 8, 64
    inputs = keras.Input((size, size, 3))
    x = layers.Reshape((-1, width))(layers.Conv2D(width, patch, patch)(inputs))
    x = x + layers.Embedding((size // patch) ** 2, width)(tf.range((size // patch) ** 2))
    for _ in range(depth):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = x + layers.MultiHeadAttention(4, width // 4, dropout=0.1)(y, y)
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        y = layers.Dropout(0.1)(layers.Dense(4 * width, activation="gelu")(y))
        x = x + layers.Dense(width)(y)
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    model = keras.Model(inputs, layers.Dense(10, activation="softmax")(x))
    return Training(model, images(32, size), labels(32), keras.optimizers.Lion(1e-4, clipnorm=1.0), CLASSES)


def residual_bfloat16():
    keras.config.set_dtype_policy("mixed_bfloat16")
    inputs = keras.Input((48, 48, 3))
    x = layers.Conv2D(64, 3, padding="same")(inputs)
    for _ in range(3):
        y = layers.Activation("relu")(layers.BatchNormalization()(x))
        x = layers.Add()([x, layers.Conv2D(64, 3, padding="same", kernel_regularizer="l2")(y)])
    x = layers.GlobalAveragePooling2D()(x)
    model = keras.Model(inputs, layers.Dense(10, activation="softmax", dtype="float32")(x))
    keras.config.set_dtype_policy("float32")
    return train_step(model, images(16, 48), labels(16), "adamax", CLASSES)


def capsules():
    """Routing by agreement: 288 capsules of 8 values vote for 10 of 16, three rounds."""
    convolution = layers.Conv2D(64, 9, activation="relu")
    primary = layers.Conv2D(64, 9, 2)
    convolution.build((None, 28, 28, 1))
    primary.build((None, 20, 20, 64))
    votes_from = keras.Variable(tf.random.normal((288, 10, 8, 16)), name="votes")

    def squash(vector):
        square = tf.reduce_sum(vector * vector, -1, keepdims=True)
        return vector * square / (1 + square) / tf.sqrt(square + 1e-7)

    def forward(x, y):
        capsule = squash(tf.reshape(primary(convolution(x)), (-1, 288, 8)))
        votes = tf.einsum("bni,nkij->bnkj", capsule, votes_from.value)
        logits = tf.zeros_like(votes[..., :1])
        for _ in range(3):
            weight = tf.nn.softmax(logits, axis=2)
            outcome = squash(tf.reduce_sum(weight * votes, 1, keepdims=True))
            logits = logits + tf.reduce_sum(votes * outcome, -1, keepdims=True)
        length = tf.norm(outcome[:, 0], axis=-1)
        right = tf.one_hot(y, 10)
        margin = right * tf.maximum(0.0, 0.9 - length) ** 2 + 0.5 * (1 - right) * tf.maximum(0.0, length - 0.1) ** 2
        return tf.reduce_mean(tf.reduce_sum(margin, -1))

    weights = [*convolution.trainable_variables, *primary.trainable_variables, votes_from]
    return tape_step(forward, keras.optimizers.Adam(), weights, images(16, 28, 1), labels(16))


def siamese():
    """One encoder for three images, and a triplet loss."""
    encoder = keras.Sequential(
        [
            keras.Input((64, 64, 3)),
            layers.Conv2D(32, 5, 2, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="elu"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dense(128),
            layers.UnitNormalization(),
        ]
    )

    def forward(anchor, positive, negative):
        a, p, n = encoder(anchor), encoder(positive), encoder(negative)
        near, far = tf.reduce_sum((a - p) ** 2, -1), tf.reduce_sum((a - n) ** 2, -1)
        return tf.reduce_mean(tf.maximum(near - far + 0.2, 0.0))

    optimizer = keras.optimizers.SGD(0.01, nesterov=True, momentum=0.9)
    return tape_step(forward, optimizer, encoder.trainable_variables, *(images(16, 64) for _ in range(3)))


@variants()
def detector():
    """Anchors on three levels of a pyramid: class scores with a focal loss, and boxes."""
    inputs = x = keras.Input((128, 128, 3))
    levels = []
    for filters in (16, 32, 64, 128):
        x = layers.Conv2D(filters, 3, 2, "same", activation="swish")(x)
        x = layers.Conv2D(filters, 3, 1, "same", activation="swish")(x)
        levels.append(layers.Conv2D(64, 1)(x))
    pyramid = [levels.pop()]
    while len(pyramid) < 3:
        pyramid.append(layers.Add()([layers.UpSampling2D(interpolation="bilinear")(pyramid[-1]), levels.pop()]))
    score_head = layers.Conv2D(6 * 20, 3, padding="same", activation="sigmoid")
    box_head = layers.Conv2D(6 * 4, 3, padding="same")
    scores = layers.Concatenate(axis=1, name="scores")([layers.Reshape((-1, 20))(score_head(p)) for p in pyramid])
    boxes = layers.Concatenate(axis=1, name="boxes")([layers.Reshape((-1, 4))(box_head(p)) for p in pyramid])
    model = keras.Model(inputs, {"scores": scores, "boxes": boxes})
    anchors = 6 * (8 * 8 + 16 * 16 + 32 * 32)
    y = {"scores": tf.zeros((8, anchors, 20)), "boxes": tf.zeros((8, anchors, 4))}
    loss = {"scores": keras.losses.BinaryFocalCrossentropy(), "boxes": keras.losses.Huber()}
    return Training(model, images(8, 128), y, keras.optimizers.Adam(global_clipnorm=1.0), loss)


def detector_predict():
    """The boxes of a detector decoded and thinned out for each image."""
    model = keras.Sequential(
        [keras.Input((128, 128, 3))]
        + [layers.Conv2D(filters, 3, 2, "same", activation="relu") for filters in (32, 64, 128)]
        + [layers.Conv2D(6 * 5, 1), layers.Reshape((-1, 5))]
    )

    @tf.function
    def step(x):
        raw = model(x, training=False)
        corner = raw[..., :2]
        boxes = tf.concat([corner, corner + tf.exp(raw[..., 2:4])], -1)
        best = tf.math.top_k(tf.sigmoid(raw[..., 4]), 200)
        return tf.gather(boxes, best.indices, batch_dims=1), best.values

    return step, (images(16, 128),)


def inception_test():
    inputs = keras.Input((96, 96, 3))
    x = layers.Conv2D(32, 3, 2, activation="relu")(inputs)
    for filters in (16, 32):
        branches = [
            layers.Conv2D(filters, 1, activation="relu")(x),
            layers.Conv2D(filters, 5, padding="same", activation="relu")(layers.Conv2D(filters, 1)(x)),
            layers.Conv2D(filters, 1)(layers.AveragePooling2D(3, 1, "same")(x)),
        ]
        x = layers.BatchNormalization()(layers.Concatenate()(branches))
    model = keras.Model(inputs, layers.Dense(10, activation="softmax")(layers.Flatten()(x)))
    return test_step(model, images(32, 96), labels(32), CLASSES)


@variants()
def segmentation():
    """Dilated convolutions at several rates beside a pooled branch, scaled up to a class for each pixel."""
    inputs = keras.Input((64, 64, 3))
    x = low = layers.Conv2D(24, 3, 2, "same", activation="relu")(inputs)
    for filters in (48, 64):
        x = layers.Conv2D(filters, 3, 2, "same", use_bias=False)(x)
        x = layers.Activation("relu")(layers.BatchNormalization()(x))
    branches = [layers.Conv2D(32, 3, padding="same", dilation_rate=rate, activation="relu")(x) for rate in (1, 2, 4)]
    pooled = layers.Conv2D(32, 1)(layers.GlobalAveragePooling2D(keepdims=True)(x))
    branches.append(layers.UpSampling2D(8)(pooled))
    x = layers.UpSampling2D(4, interpolation="bilinear")(layers.Conv2D(32, 1)(layers.Concatenate()(branches)))
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(layers.Concatenate()([x, low]))
    model = keras.Model(inputs, layers.Conv2D(12, 1, activation="softmax")(layers.UpSampling2D()(x)))
    return Training(model, images(8, 64), tf.zeros((8, 64, 64), tf.int32), "adam", CLASSES)


@variants("train", "predict")
def volume():
    """A U-Net over volumes."""
    inputs = keras.Input((16, 32, 32, 1))
    x = first = layers.Conv3D(12, 3, padding="same", activation="relu")(inputs)
    x = layers.Conv3D(24, 3, padding="same", activation="relu")(layers.MaxPooling3D()(x))
    x = layers.SpatialDropout3D(0.1)(layers.AveragePooling3D(2)(x))
    x = layers.Conv3D(24, 3, padding="same", activation="relu")(layers.UpSampling3D(2)(x))
    x = layers.Conv3DTranspose(12, 2, 2)(x)
    x = layers.Conv3D(12, 3, padding="same", activation="relu")(layers.Concatenate()([x, first]))
    model = keras.Model(inputs, layers.Conv3D(1, 1, activation="sigmoid")(x))
    y = tf.zeros((2, 16, 32, 32, 1))
    return Training(model, tf.random.uniform((2, 16, 32, 32, 1)), y, "adam", keras.losses.Dice())


@variants("train", "predict")
def augmented():
    """Images changed at random by layers inside the model."""
    model = keras.Sequential(
        [
            keras.Input((48, 48, 3)),
            layers.RandomFlip("horizontal"),
            layers.RandomRotation(0.1),
            layers.RandomZoom(0.2),
            layers.RandomContrast(0.2),
            layers.RandomTranslation(0.1, 0.1),
            layers.CenterCrop(40, 40),
            layers.Resizing(32, 32),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    return Training(model, images(16, 48), labels(16), "adam", CLASSES)


@variants()
def window_attention():
    """Attention inside windows that shift between the blocks, and patches merged."""
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(48, 2, 2)(inputs)
    for shift in (0, 2):
        y = keras.ops.roll(layers.LayerNormalization()(x), (-shift, -shift), (1, 2)) if shift else x
        y = layers.Reshape((4, 4, 4, 4, 48))(y)
        y = keras.ops.reshape(layers.Permute((1, 3, 2, 4, 5))(y), (-1, 16, 48))
        y = layers.MultiHeadAttention(3, 16)(y, y)
        y = layers.Permute((1, 3, 2, 4, 5))(keras.ops.reshape(y, (-1, 4, 4, 4, 4, 48)))
        y = layers.Reshape((16, 16, 48))(y)
        x = x + (keras.ops.roll(y, (shift, shift), (1, 2)) if shift else y)
        x = x + layers.Dense(48)(layers.Dense(192, activation="gelu")(layers.LayerNormalization()(x)))
    x = layers.Concatenate()([x[:, a::2, b::2] for a in (0, 1) for b in (0, 1)])
    x = layers.GlobalAveragePooling2D()(layers.Dense(96, use_bias=False)(x))
    model = keras.Model(inputs, layers.Dense(10, activation="softmax")(x))
    return Training(model, images(16, 32), labels(16), keras.optimizers.AdamW(), CLASSES)


@variants("train", "predict")
def keypoints():
    """Two sizes of features kept side by side, a heat map for each point, and a box from a dense layer."""
    inputs = keras.Input((64, 64, 3))
    high = layers.Conv2D(24, 3, 2, "same", activation="relu")(inputs)
    low = layers.Conv2D(48, 3, 2, "same", activation="relu")(high)
    for _ in range(2):
        high = layers.Conv2D(24, 3, padding="same", activation="relu")(high)
        low = layers.Conv2D(48, 3, padding="same", activation="relu")(low)
        up = layers.UpSampling2D()(layers.Conv2D(24, 1)(low))
        down = layers.Conv2D(48, 3, 2, "same")(high)
        high, low = layers.Add()([high, up]), layers.Maximum()([low, down])
    maps = layers.Conv2D(17, 1, name="maps")(high)
    box = layers.Dense(4, name="box")(layers.GlobalMaxPooling2D()(low))
    model = keras.Model(inputs, [maps, box])
    loss = [keras.losses.MeanSquaredError(), keras.losses.Huber()]
    y = [tf.zeros((8, 32, 32, 17)), tf.zeros((8, 4))]
    return Training(model, images(8, 64), y, keras.optimizers.Adam(weight_decay=1e-4), loss)
