"""Networks over tables and graphs, and loops around the step."""

from __future__ import annotations

import keras
import tensorflow as tf
from _steps import Training, tape_step, variants
from keras import layers


@variants()
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
    return Training(model, x, tf.zeros((512, 1)), keras.optimizers.Ftrl(), "binary_crossentropy")


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


@variants("train", "train+mixed")
def accumulation_keras():
    """Keras' own: the optimizer holds the gradients and updates the weights every second step."""
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9, gradient_accumulation_steps=2)
    return Training(_regressor(), tf.random.uniform((1024, 256)), tf.zeros((1024, 1)), optimizer, "mse")


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


@variants("train", "predict", "train+mixed")
def features():
    """Columns of numbers and of words, made into vectors by layers inside the model."""
    numbers = keras.Input((24,), name="numbers")
    age = keras.Input((1,), name="age")
    code = keras.Input((1,), dtype="int64", name="code")
    tags = keras.Input((12,), dtype="int64", name="tags")
    normal = layers.Normalization(mean=[0.5] * 24, variance=[0.1] * 24)(numbers)
    bucket = layers.Discretization([0.1 * n for n in range(1, 10)], output_mode="one_hot")(age)
    hashed = layers.Embedding(1000, 24)(layers.Hashing(1000)(code))
    known = layers.IntegerLookup(vocabulary=list(range(50)), output_mode="multi_hot")(tags)
    counts = layers.CategoryEncoding(200, output_mode="count")(tags)
    crossed = layers.HashedCrossing(800, output_mode="one_hot")((code, code))
    x = layers.Concatenate()([normal, bucket, layers.Flatten()(hashed), known, counts, crossed])
    for units in (256, 64):
        x = layers.BatchNormalization()(layers.Dense(units, activation="relu")(x))
    model = keras.Model([numbers, age, code, tags], layers.Dense(1, activation="sigmoid")(x))
    x = [tf.random.uniform((512, 24)), tf.random.uniform((512, 1))]
    x += [tf.ones((512, 1), tf.int64), tf.ones((512, 12), tf.int64)]
    return Training(model, x, tf.zeros((512, 1)), "adam", "binary_crossentropy")


@variants()
def cross_network():
    """Products of the features with what was made of them, layer after layer; gated units."""
    inputs = keras.Input((128,))
    x = inputs
    for _ in range(3):
        x = layers.Add()([x, layers.Multiply()([inputs, layers.Dense(128)(x)])])
    gate = layers.Dense(256, activation="sigmoid")(layers.LayerNormalization()(inputs))
    deep = layers.Multiply()([gate, layers.Dense(256, activation="selu")(inputs)])
    deep = layers.AlphaDropout(0.1)(layers.GaussianNoise(0.1)(deep))
    model = keras.Model(inputs, layers.Dense(1)(layers.Concatenate()([x, deep])))
    return Training(model, tf.random.uniform((1024, 128)), tf.zeros((1024, 1)), "nadam", keras.losses.LogCosh())


@variants()
def large_embedding():
    """Two towers over large tables, and the inner product of what they make."""
    towers, inputs = [], []
    for rows in (60_000, 30_000):
        column = keras.Input((8,), dtype="int32")
        x = layers.GlobalAveragePooling1D()(layers.Embedding(rows, 48)(column))
        inputs.append(column)
        towers.append(layers.Dense(48)(layers.Dense(96, activation="relu")(x)))
    model = keras.Model(inputs, layers.Dot(1, normalize=True)(towers))
    x = [tf.zeros((256, 8), tf.int32), tf.zeros((256, 8), tf.int32)]
    return Training(model, x, tf.zeros((256, 1)), keras.optimizers.SGD(0.1), "mse")


def graph_attention():
    """Attention over the edges of a graph, normalised for each node, with four heads."""
    nodes, edges, heads, width = 1500, 10_000, 4, 16
    project = [layers.Dense(heads * width) for _ in range(2)]
    score = [keras.Variable(tf.random.normal((heads, 2 * width))) for _ in range(2)]
    head = layers.Dense(5)
    project[0].build((None, 48))
    project[1].build((None, heads * width))
    head.build((None, heads * width))

    def forward(x, source, target, y):
        for layer, weight in zip(project, score, strict=True):
            h = tf.reshape(layer(x), (nodes, heads, width))
            pair = tf.concat([tf.gather(h, source), tf.gather(h, target)], -1)
            energy = tf.nn.leaky_relu(tf.reduce_sum(pair * weight.value, -1))
            energy = tf.exp(energy - tf.gather(tf.math.unsorted_segment_max(energy, target, nodes), target))
            total = tf.gather(tf.math.unsorted_segment_sum(energy, target, nodes), target)
            sent = tf.gather(h, source) * (energy / total)[..., None]
            x = tf.nn.elu(tf.reshape(tf.math.unsorted_segment_sum(sent, target, nodes), (nodes, heads * width)))
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=head(x)))

    target = tf.sort(tf.random.uniform((edges,), 0, nodes, tf.int32, seed=1))
    source = tf.random.uniform((edges,), 0, nodes, tf.int32, seed=2)
    weights = [*(v for layer in (*project, head) for v in layer.trainable_variables), *score]
    args = (tf.random.uniform((nodes, 48)), source, target, tf.zeros((nodes,), tf.int32))
    return tape_step(forward, keras.optimizers.Adam(), weights, *args)


def point_distances():
    """All pairs of two sets of points by broadcasting, and the nearest of each."""
    layer = layers.Dense(16)
    layer.build((None, 3))

    def forward(a, b):
        left, right = layer(a), layer(b)
        distance = tf.reduce_sum((left[:, :, None] - right[:, None]) ** 2, -1)
        return tf.reduce_mean(tf.reduce_min(distance, 1)) + tf.reduce_mean(tf.reduce_min(distance, 2))

    points = tf.random.uniform((2, 256, 3))
    return tape_step(forward, keras.optimizers.SGD(), layer.trainable_variables, points, points + 0.1)


def contrastive():
    """Two views of each sample told from those of all others."""
    encoder = keras.Sequential([keras.Input((256,)), layers.Dense(512, activation="relu"), layers.Dense(128)])

    def forward(first, second):
        a, b = (tf.math.l2_normalize(encoder(x, training=True), 1) for x in (first, second))
        both = tf.concat([a, b], 0)
        likeness = tf.matmul(both, both, transpose_b=True) / 0.1 - 1e9 * tf.eye(2048)
        partner = tf.concat([tf.range(1024, 2048), tf.range(1024)], 0)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=partner, logits=likeness))

    data = tf.random.uniform((1024, 256))
    return tape_step(forward, keras.optimizers.Lamb(), encoder.trainable_variables, data, data + 0.1)


def neural_ode():
    """A differential equation solved in a loop of forty steps."""
    field = keras.Sequential([keras.Input((64,)), layers.Dense(256, activation="tanh"), layers.Dense(64)])

    def forward(x, y):
        def advance(step, state):
            half = state + 0.0125 * field(state)
            return step + 1, state + 0.025 * field(half)

        _, state = tf.while_loop(lambda step, _: step < 40, advance, (0, x), maximum_iterations=40)
        return tf.reduce_mean((state - y) ** 2)

    data = tf.random.uniform((256, 64))
    return tape_step(forward, keras.optimizers.Adam(), field.trainable_variables, data, data + 1)


def gaussian_process():
    """The likelihood of values under a kernel with trained scales: a Cholesky factor and a triangular solution."""
    scale = keras.Variable(tf.ones((16,)))
    noise = keras.Variable(0.1)

    def forward(x, y):
        scaled = x * scale.value
        square = tf.reduce_sum(scaled**2, 1)
        distance = square[:, None] + square[None] - 2 * tf.matmul(scaled, scaled, transpose_b=True)
        factor = tf.linalg.cholesky(tf.exp(-0.5 * distance) + (noise.value**2 + 1e-2) * tf.eye(512))
        solved = tf.linalg.triangular_solve(factor, y)
        return tf.reduce_sum(solved**2) + 2 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)))

    x = tf.random.uniform((512, 16))
    return tape_step(forward, keras.optimizers.Adam(), [scale, noise], x, tf.reduce_sum(x, 1, keepdims=True))


def policy_gradient():
    """The chosen actions' probabilities, clipped, weighed by advantages that a second network tells."""
    actor = keras.Sequential([keras.Input((64,)), layers.Dense(256, activation="tanh"), layers.Dense(12)])
    critic = keras.Sequential([keras.Input((64,)), layers.Dense(256, activation="tanh"), layers.Dense(1)])

    def forward(state, action, before, returned):
        chance = tf.nn.log_softmax(actor(state))
        ratio = tf.exp(tf.gather(chance, action, batch_dims=1) - before)
        value = critic(state)[:, 0]
        gain = tf.stop_gradient(returned - value)
        clipped = tf.minimum(ratio * gain, tf.clip_by_value(ratio, 0.8, 1.2) * gain)
        entropy = -tf.reduce_sum(tf.exp(chance) * chance, -1)
        return tf.reduce_mean(-clipped + 0.5 * (returned - value) ** 2 - 0.01 * entropy)

    args = (tf.random.uniform((2048, 64)), tf.zeros((2048,), tf.int32), tf.zeros((2048,)), tf.ones((2048,)))
    weights = actor.trainable_variables + critic.trainable_variables
    return tape_step(forward, keras.optimizers.Adam(clipnorm=0.5), weights, *args)


def sample_gradients():
    """A gradient for each sample, its length bounded before they are averaged."""
    model = keras.Sequential([keras.Input((64,)), layers.Dense(96, activation="relu"), layers.Dense(10)])
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)
    weights = [variable.value for variable in model.trainable_variables]

    @tf.function
    def step(x, y):
        def clipped(sample):
            with tf.GradientTape() as tape:
                scores = model(sample[0][None])
                loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=sample[1][None], logits=scores)[0]
            gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, weights), 1.0)
            return gradients

        found = tf.vectorized_map(clipped, (x, y))
        means = [tf.reduce_mean(gradient, 0) for gradient in found]
        optimizer.apply_gradients(zip(means, model.trainable_variables, strict=True))
        return tf.reduce_sum(found[0][0])

    return step, (tf.random.uniform((64, 64)), tf.zeros((64,), tf.int32))
