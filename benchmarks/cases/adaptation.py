"""Trained models used again: frozen, quantised, with corrections of low rank; and steps that save memory."""

from __future__ import annotations

import keras
import tensorflow as tf
from _steps import Training, images, labels, predict_step, tape_step, tokens, variants
from keras import layers

CLASSES = "sparse_categorical_crossentropy"


@variants()
def frozen_backbone():
    """A new head on a network whose first layers keep their weights; its normalisation runs as in inference."""
    backbone = keras.applications.MobileNetV2(weights=None, include_top=False, input_shape=(64, 64, 3), alpha=0.5)
    for layer in backbone.layers[:-20]:
        layer.trainable = False
    inputs = keras.Input((64, 64, 3))
    x = layers.GlobalAveragePooling2D()(backbone(layers.Rescaling(1 / 127.5, -1)(inputs), training=False))
    model = keras.Model(inputs, layers.Dense(10, activation="softmax")(layers.Dropout(0.2)(x)))
    return Training(model, images(16, 64), labels(16), "adam", CLASSES)


def _encoder(width: int, length: int, depth: int) -> keras.Model:
    inputs = keras.Input((length,), dtype="int32")
    x = layers.Embedding(4000, width)(inputs)
    for _ in range(depth):
        y = layers.MultiHeadAttention(4, width // 4)(x, x)
        x = layers.LayerNormalization()(x + y)
        y = layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(x))
        x = layers.LayerNormalization()(x + y)
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(x[:, 0]))


@variants("train", "train+mixed", "predict")
def lora():
    """Keras's own corrections of low rank in the dense and embedding layers."""
    model = _encoder(128, 48, 2)
    for layer in model.layers:
        if isinstance(layer, layers.Dense | layers.Embedding):
            layer.enable_lora(4)
    return Training(model, tokens(16, 48), labels(16), keras.optimizers.AdamW(), CLASSES)


def int8_predict():
    """Dense, attention and embedding layers with weights of eight bits."""
    model = _encoder(128, 48, 2)
    model.quantize("int8")
    return predict_step(model, tokens(32, 48))


def int8_convolution_predict():
    model = keras.Sequential(
        [
            keras.Input((48, 48, 3)),
            layers.Conv2D(32, 3, 2, activation="relu"),
            layers.DepthwiseConv2D(3, activation="relu"),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dense(10),
        ]
    )
    model.quantize("int8")
    return predict_step(model, images(32, 48))


def int8_lora():
    """Eight-bit weights stay; corrections of low rank are trained."""
    model = _encoder(96, 32, 2)
    model.quantize("int8")
    for layer in model.layers:
        if isinstance(layer, layers.Dense):
            layer.enable_lora(8)
    return Training(model, tokens(16, 32), labels(16), "adam", CLASSES).step("train")


def float8():
    """Trained with weights and gradients rounded to eight-bit floats."""
    model = keras.Sequential(
        [keras.Input((128,)), *(layers.Dense(256, activation="relu") for _ in range(3)), layers.Dense(10)]
    )
    model.quantize("float8")
    return Training(model, tf.random.uniform((256, 128)), tf.zeros((256, 10)), "adam", "mse").step("train")


def recompute():
    """Blocks of convolutions whose activations are computed again in the backward pass."""
    blocks = [[layers.Conv2D(32, 3, padding="same", activation="relu") for _ in range(3)] for _ in range(4)]
    for number, block in enumerate(blocks):
        for place, layer in enumerate(block):
            layer.build((None, 32, 32, 3 if number == place == 0 else 32))
    head = layers.Dense(10)
    head.build((None, 32))

    def forward(x, y):
        for block in blocks:

            @tf.recompute_grad
            def segment(x, block=block):
                for layer in block:
                    x = layer(x)
                return x

            x = segment(x)
        scores = head(tf.reduce_mean(x, (1, 2)))
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores))

    weights = [
        v for layer in (*(layer for block in blocks for layer in block), head) for v in layer.trainable_variables
    ]
    return tape_step(forward, keras.optimizers.Adam(), weights, images(16, 32), labels(16))


@variants("train")
def remat():
    """Keras's own recomputation, of large activations only."""
    with keras.RematScope(mode="larger_than", output_size_threshold=1000):
        model = keras.Sequential(
            [
                keras.Input((32, 32, 3)),
                *(layers.Conv2D(32, 3, padding="same", activation="relu") for _ in range(5)),
                layers.GlobalAveragePooling2D(),
                layers.Dense(10, activation="softmax"),
            ]
        )
    return Training(model, images(16, 32), labels(16), "adam", CLASSES)


@variants("train", "train+mixed")
def accumulation_convolution():
    """The optimizer adds up the gradients of four batches, and averages weights."""
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            *(layers.Conv2D(48, 3, activation="relu") for _ in range(4)),
            layers.Flatten(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    optimizer = keras.optimizers.Adam(gradient_accumulation_steps=4, use_ema=True)
    return Training(model, images(16, 32), labels(16), optimizer, CLASSES)


def distillation():
    """A small network learns what a large one, which is not trained, says."""
    convolutions = [layers.Conv2D(64, 3, activation="relu") for _ in range(3)]
    teacher = keras.Sequential([keras.Input((32, 32, 3)), *convolutions, layers.Flatten(), layers.Dense(10)])
    student = keras.Sequential(
        [keras.Input((32, 32, 3)), layers.Conv2D(16, 3, 2, activation="relu"), layers.Flatten(), layers.Dense(10)]
    )

    def forward(x, y):
        wanted, told = teacher(x, training=False), student(x, training=True)
        hard = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=told)
        soft = keras.losses.kl_divergence(tf.nn.softmax(wanted / 4.0), tf.nn.softmax(told / 4.0))
        return tf.reduce_mean(0.3 * hard + 0.7 * soft)

    return tape_step(forward, keras.optimizers.Adam(), student.trainable_variables, images(32, 32), labels(32))
