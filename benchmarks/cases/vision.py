"""Networks that classify or compare images."""

from __future__ import annotations

import keras
import tensorflow as tf
from _steps import images, labels, predict_step, tape_step, test_step, train_step
from keras import layers

CLASSES = "sparse_categorical_crossentropy"


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
    return train_step(model, images(8, 96), labels(8), keras.optimizers.AdamW(1e-3), CLASSES)


def efficientnetv2():
    model = keras.applications.EfficientNetV2B0(weights=None, input_shape=(96, 96, 3), classes=10)
    return train_step(model, images(8, 96), labels(8), "rmsprop", CLASSES)


def xception():
    model = keras.applications.Xception(weights=None, input_shape=(96, 96, 3), classes=10)
    return train_step(model, images(8, 96), labels(8), keras.optimizers.SGD(0.1, momentum=0.9), CLASSES)


def nasnet():
    model = keras.applications.NASNetMobile(weights=None, input_shape=(64, 64, 3), classes=10)
    return train_step(model, images(8, 64), labels(8), "adam", CLASSES)


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
    return train_step(model, images(16, 64), labels(16), keras.optimizers.Nadam(), loss)


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
    return train_step(model, images(32, size), labels(32), keras.optimizers.Lion(1e-4, clipnorm=1.0), CLASSES)


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
    return train_step(model, images(8, 128), y, keras.optimizers.Adam(global_clipnorm=1.0), loss)


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


def mobilenet_predict():
    model = keras.applications.MobileNetV3Small(weights=None, input_shape=(128, 128, 3), classes=10)
    return predict_step(model, images(32, 128))


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
