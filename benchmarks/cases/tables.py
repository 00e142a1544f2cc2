"""Networks over tables and graphs, and loops around the step."""

from __future__ import annotations

import keras
import tensorflow as tf
from _steps import tape_step, train_step
from keras import layers


def recommender():
    """Numbers and categories, with products of all pairs of embeddings."""
    numbers = keras.Input((16,))
    categories = [keras.Input((), dtype="int32") for _ in range(6)]
    vectors = [layers.Embedding(20_000, 32)(column) for column in categories]
    vectors.append(layers.Dense(32, activation="relu")(layers.BatchNormalization()(numbers)))
    stacked = keras.ops.stack(vectors, axis=1)
    pairs = layers.Flatten()(layers.Dot(axes=2)([stacked, stacked]))
    crossed = layers.HashedCrossing(512, output_mode="one_hot")(categories[:2])
    x = layers.Concatenate()([vectors[-1], pairs, crossed])
    for units in (256, 128):
        x = layers.Dropout(0.3)(layers.Dense(units, activation="relu")(x))
    model = keras.Model([numbers, *categories], layers.Dense(1, activation="sigmoid")(x))
    x = [tf.random.uniform((512, 16)), *(tf.zeros((512,), tf.int32) for _ in categories)]
    return train_step(model, x, tf.zeros((512, 1)), keras.optimizers.Ftrl(), "binary_crossentropy")


def graph_network():
    """Messages along the edges of a graph, summed and averaged at its nodes."""
    nodes, edges, width = 2000, 12_000, 64
    message = [layers.Dense(width, activation="relu") for _ in range(3)]
    update = [layers.Dense(width, activation="relu") for _ in range(3)]
    head = layers.Dense(7)
    for first, second in zip(message, update, strict=True):
        first.build((None, 2 * width))
        second.build((None, 3 * width))
    head.build((None, width))

    def forward(features, source, target, y):
        h = features
        for first, second in zip(message, update, strict=True):
            sent = first(tf.concat([tf.gather(h, source), tf.gather(h, target)], 1))
            total = tf.math.unsorted_segment_sum(sent, target, nodes)
            most = tf.math.unsorted_segment_max(sent, target, nodes)
            h = tf.nn.l2_normalize(second(tf.concat([h, total, most], 1)), axis=1)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=head(h)))

    weights = [v for layer in (*message, *update, head) for v in layer.trainable_variables]
    target = tf.sort(tf.random.uniform((edges,), 0, nodes, tf.int32, seed=1))
    source = tf.random.uniform((edges,), 0, nodes, tf.int32, seed=2)
    args = (tf.random.uniform((nodes, width)), source, target, tf.zeros((nodes,), tf.int32))
    return tape_step(forward, keras.optimizers.RMSprop(momentum=0.9, centered=True), weights, *args)


def _regressor():
    return keras.Sequential(
        [keras.Input((256,))] + [layers.Dense(512, activation="tanh") for _ in range(3)] + [layers.Dense(1)]
    )


def accumulation_unrolled():
    """Gradients of four parts of a batch added up, one after another in the graph."""
    model, optimizer = _regressor(), keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    weights = [variable.value for variable in model.trainable_variables]

    @tf.function
    def step(x, y):
        total = [tf.zeros_like(weight) for weight in weights]
        for part_x, part_y in zip(tf.split(x, 4), tf.split(y, 4), strict=True):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(part_x, training=True) - part_y))
            total = [a + g for a, g in zip(total, tape.gradient(loss, weights), strict=True)]
        optimizer.apply_gradients([(g / 4.0, v) for g, v in zip(total, model.trainable_variables, strict=True)])
        return loss

    return step, (tf.random.uniform((1024, 256)), tf.zeros((1024, 1)))


def accumulation_loop():
    """The same in a loop of the graph."""
    model, optimizer = _regressor(), keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    weights = [variable.value for variable in model.trainable_variables]

    @tf.function
    def step(x, y):
        total = [tf.zeros_like(weight) for weight in weights]
        for part in tf.range(4):
            part_x, part_y = x[part * 256 : (part + 1) * 256], y[part * 256 : (part + 1) * 256]
            part_x, part_y = tf.ensure_shape(part_x, (256, 256)), tf.ensure_shape(part_y, (256, 1))
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(part_x, training=True) - part_y))
            total = [a + g for a, g in zip(total, tape.gradient(loss, weights), strict=True)]
        optimizer.apply_gradients([(g / 4.0, v) for g, v in zip(total, model.trainable_variables, strict=True)])
        return total[0][0, 0]

    return step, (tf.random.uniform((1024, 256)), tf.zeros((1024, 1)))


def accumulation_keras():
    """Keras' own: the optimizer holds the gradients and updates the weights every second step."""
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9, gradient_accumulation_steps=2)
    return train_step(_regressor(), tf.random.uniform((1024, 256)), tf.zeros((1024, 1)), optimizer, "mse")


def gradient_penalty():
    """Gradients of gradients: a critic whose slope at its input is held near one."""
    critic = keras.Sequential(
        [
            keras.Input((256,)),
            layers.Dense(1024, activation="softplus"),
            layers.Dense(1024, activation="tanh"),
            layers.Dense(1),
        ]
    )

    def forward(real, fake):
        part = tf.random.uniform((tf.shape(real)[0], 1))
        mixed = part * real + (1 - part) * fake
        with tf.GradientTape() as tape:
            tape.watch(mixed)
            score = critic(mixed, training=True)
        slope = tf.norm(tape.gradient(score, mixed), axis=1)
        difference = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real))
        return difference + 10.0 * tf.reduce_mean((slope - 1.0) ** 2)

    data = tf.random.uniform((512, 256))
    return tape_step(forward, keras.optimizers.Adam(amsgrad=True), critic.trainable_variables, data, data + 1)
