"""Networks that read text, sound or video."""

from __future__ import annotations

import keras
import tensorflow as tf
from _steps import Training, labels, tape_step, tokens, variants
from keras import layers

CLASSES = "sparse_categorical_crossentropy"


@variants()
def translation():
    """A GRU encoder and decoder with additive attention."""
    source, target = keras.Input((24,), dtype="int32"), keras.Input((24,), dtype="int32")
    encoded, state = layers.GRU(128, return_sequences=True, return_state=True)(layers.Embedding(2000, 128)(source))
    decoded = layers.GRU(128, return_sequences=True)(layers.Embedding(2000, 128)(target), initial_state=state)
    context = layers.AdditiveAttention()([decoded, encoded])
    scores = layers.Dense(2000)(layers.Concatenate()([decoded, context]))
    model = keras.Model([source, target], scores)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return Training(model, [tokens(32, 24), tokens(32, 24)], tokens(32, 24), "adam", loss)


@variants()
def tagger():
    """Two directions of LSTM over padded text, the padding masked."""
    model = keras.Sequential(
        [
            keras.Input((40,), dtype="int32"),
            layers.Embedding(5000, 64, mask_zero=True),
            layers.Bidirectional(layers.LSTM(64, return_sequences=True, dropout=0.1)),
            layers.TimeDistributed(layers.Dense(20, activation="softmax")),
        ]
    )
    return Training(model, tokens(32, 40), tokens(32, 40), "adam", CLASSES)


@variants()
def video():
    """Convolutional LSTM over frames."""
    model = keras.Sequential(
        [
            keras.Input((8, 32, 32, 1)),
            layers.ConvLSTM2D(16, 3, padding="same", return_sequences=True),
            layers.BatchNormalization(),
            layers.ConvLSTM2D(16, 3, padding="same"),
            layers.Conv2D(1, 3, padding="same", activation="sigmoid"),
        ]
    )
    return Training(
        model, tf.random.uniform((4, 8, 32, 32, 1)), tf.zeros((4, 32, 32, 1)), "adadelta", "binary_crossentropy"
    )


@variants()
def audio():
    """Gated dilated convolutions over a waveform."""
    inputs = keras.Input((4000, 1))
    x = layers.Conv1D(32, 16, 4, padding="causal")(inputs)
    for dilation in (1, 2, 4, 8):
        gate = layers.Conv1D(32, 3, padding="causal", dilation_rate=dilation, activation="sigmoid")(x)
        value = layers.Conv1D(32, 3, padding="causal", dilation_rate=dilation, activation="tanh")(x)
        x = layers.Add()([x, layers.Conv1D(32, 1)(layers.Multiply()([gate, value]))])
    x = layers.MaxPooling1D(4)(x)
    x = layers.Conv1D(64, 3, groups=4, activation="relu")(x)
    model = keras.Model(inputs, layers.Dense(12, activation="softmax")(layers.GlobalAveragePooling1D()(x)))
    return Training(model, tf.random.uniform((16, 4000, 1)), labels(16), keras.optimizers.Adagrad(), CLASSES)


def mixture_of_experts():
    """A layer of eight experts, the two best of which each token is sent to, inside a language model."""
    width, experts, vocabulary = 128, 8, 4000
    embed = layers.Embedding(vocabulary, width)
    norm, attend = layers.LayerNormalization(), layers.MultiHeadAttention(4, 32)
    gate, head = layers.Dense(experts, use_bias=False), layers.Dense(vocabulary)
    for layer in (embed, norm, gate, head):
        layer.build((None, None, width))
    attend.build((None, None, width), (None, None, width))
    up = keras.Variable(tf.random.normal((experts, width, 4 * width)) * 0.02)
    down = keras.Variable(tf.random.normal((experts, 4 * width, width)) * 0.02)

    def forward(x, y):
        h = embed(x)
        h = h + attend(norm(h), norm(h), use_causal_mask=True)
        flat = tf.reshape(h, (-1, width))
        chance = tf.nn.softmax(gate(flat))
        best, index = tf.math.top_k(chance, 2)
        send = tf.reduce_sum(tf.one_hot(index, experts) * best[..., None], 1)
        hidden = tf.nn.gelu(tf.einsum("td,edh->eth", flat, up.value))
        mixed = tf.einsum("eth,ehd,te->td", hidden, down.value, send)
        balance = tf.reduce_sum(tf.reduce_mean(chance, 0) * tf.reduce_mean(send, 0))
        scores = head(tf.reshape(mixed, tf.shape(h)) + h)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores)
        return tf.reduce_mean(loss) + 0.01 * balance

    made = [*(v for layer in (embed, norm, attend, gate, head) for v in layer.trainable_variables), up, down]
    return tape_step(forward, keras.optimizers.AdamW(), made, tokens(8, 64), tokens(8, 64))


class LowRank(layers.Layer):
    """A frozen dense layer and a trainable correction of low rank."""

    def __init__(self, units: int, rank: int) -> None:
        super().__init__()
        self.frozen = layers.Dense(units, trainable=False)
        self.down, self.up = layers.Dense(rank, use_bias=False), layers.Dense(units, use_bias=False)

    def call(self, x):
        return self.frozen(x) + self.up(self.down(x)) * 2.0


@variants()
def low_rank():
    """Fine-tuning of a frozen transformer through corrections of rank 4."""
    width, length = 256, 64
    inputs = keras.Input((length,), dtype="int32")
    x = layers.Embedding(8000, width, trainable=False)(inputs)
    for _ in range(3):
        y = layers.LayerNormalization(trainable=False)(x)
        q, k, v = (layers.Reshape((length, 4, 64))(LowRank(width, 4)(y)) for _ in range(3))
        scores = layers.Softmax()(keras.ops.einsum("bqhd,bkhd->bhqk", q, k) / 8.0)
        y = layers.Reshape((length, width))(keras.ops.einsum("bhqk,bkhd->bqhd", scores, v))
        x = x + LowRank(width, 4)(y)
        y = layers.Dense(4 * width, activation="silu", trainable=False)(layers.LayerNormalization(trainable=False)(x))
        x = x + layers.Dense(width, trainable=False)(y)
    model = keras.Model(inputs, layers.Dense(2, activation="softmax")(x[:, 0]))
    return Training(model, tokens(16, length), labels(16), keras.optimizers.AdamW(), CLASSES)


def rms_decoder():
    """A decoder with RMS normalisation, rotary positions, grouped queries and gated units; tied output weights."""
    width, length, vocabulary, heads, groups, size = 128, 64, 3000, 8, 2, 16
    embed = layers.Embedding(vocabulary, width)
    embed.build(None)
    angle = tf.range(length, dtype=tf.float32)[:, None] / 10000 ** (tf.range(0, size, 2, dtype=tf.float32) / size)
    sine, cosine = tf.sin(angle)[:, None], tf.cos(angle)[:, None]

    def rotate(x):
        a, b = tf.split(x, 2, axis=-1)
        return tf.concat([a * cosine - b * sine, a * sine + b * cosine], -1)

    blocks = []
    for _ in range(3):
        block = {
            "attention norm": layers.RMSNormalization(),
            "query": layers.Dense(heads * size, use_bias=False),
            "key": layers.Dense(groups * size, use_bias=False),
            "value": layers.Dense(groups * size, use_bias=False),
            "out": layers.Dense(width, use_bias=False),
            "unit norm": layers.RMSNormalization(),
            "gate": layers.Dense(3 * width, use_bias=False),
            "up": layers.Dense(3 * width, use_bias=False),
            "down": layers.Dense(width, use_bias=False),
        }
        for name, layer in block.items():
            layer.build((None, None, 3 * width if name == "down" else width))
        blocks.append(block)

    def attention(block, x):
        q = rotate(tf.reshape(block["query"](x), (-1, length, heads, size)))
        k = rotate(tf.reshape(block["key"](x), (-1, length, groups, size)))
        v = tf.reshape(block["value"](x), (-1, length, groups, size))
        k, v = (tf.repeat(t, heads // groups, axis=2) for t in (k, v))
        scores = tf.einsum("bqhd,bkhd->bhqk", q, k) / size**0.5
        scores = tf.where(tf.linalg.band_part(tf.ones((length, length), tf.bool), -1, 0), scores, -1e9)
        mixed = tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), v)
        return block["out"](tf.reshape(mixed, (-1, length, heads * size)))

    def forward(x, y):
        h = embed(x)
        for block in blocks:
            h = h + attention(block, block["attention norm"](h))
            u = block["unit norm"](h)
            h = h + block["down"](tf.nn.silu(block["gate"](u)) * block["up"](u))
        scores = tf.matmul(h, embed.embeddings.value, transpose_b=True)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores))

    weights = [*embed.trainable_variables]
    weights += [v for block in blocks for layer in block.values() for v in layer.trainable_variables]
    return tape_step(forward, keras.optimizers.Adafactor(), weights, tokens(8, length), tokens(8, length))


@variants()
def encoder_decoder():
    """A transformer that translates: attention to the source in each block of the decoder, padding masked."""
    width, vocabulary = 96, 1500
    source, target = keras.Input((32,), dtype="int32"), keras.Input((24,), dtype="int32")
    x = layers.Embedding(vocabulary, width, mask_zero=True)(source)
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 24, dropout=0.1)(x, x))
        x = layers.LayerNormalization()(x + layers.Dense(width)(layers.Dense(2 * width, activation="relu")(x)))
    y = layers.Embedding(vocabulary, width, mask_zero=True)(target)
    for _ in range(2):
        y = layers.LayerNormalization()(y + layers.MultiHeadAttention(4, 24)(y, y, use_causal_mask=True))
        y = layers.LayerNormalization()(y + layers.MultiHeadAttention(4, 24)(y, x))
        y = layers.LayerNormalization()(y + layers.Dense(width)(layers.Dense(2 * width, activation="relu")(y)))
    model = keras.Model([source, target], layers.Dense(vocabulary, activation="softmax")(y))
    return Training(model, [tokens(16, 32), tokens(16, 24)], tokens(16, 24), "adam", CLASSES)


@variants("train", "predict", "train+mixed")
def grouped_query():
    """Keras's layer of attention with groups of queries, on positions from a learned table."""
    inputs = keras.Input((48,), dtype="int32")
    x = layers.Embedding(2000, 128)(inputs)
    x = x + layers.Embedding(48, 128)(tf.range(48))
    for _ in range(2):
        y = layers.RMSNormalization()(x)
        x = x + layers.GroupQueryAttention(16, 8, 2)(y, y, use_causal_mask=True)
        y = layers.RMSNormalization()(x)
        x = x + layers.Dense(128)(layers.Dense(256, activation="silu")(y) * layers.Dense(256)(y))
    model = keras.Model(inputs, layers.Dense(2000)(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return Training(model, tokens(8, 48), tokens(8, 48), keras.optimizers.Muon(), loss)


@variants("train", "predict")
def spectrogram():
    """Sound made into a spectrogram inside the model, and convolutions over it."""
    model = keras.Sequential(
        [
            keras.Input((8000,)),
            layers.MelSpectrogram(256, 128, sampling_rate=8000, num_mel_bins=48),
            layers.Reshape((48, -1, 1)),
            layers.Conv2D(24, 3, 2, activation="relu"),
            layers.SeparableConv2D(48, 3, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    return Training(model, tf.random.uniform((16, 8000)), labels(16), "adam", CLASSES)


@variants("train", "predict")
def speech():
    """Letters from sound features, aligned by the loss."""
    inputs = keras.Input((96, 40))
    x = layers.Conv1D(96, 5, 2, "same", activation="relu")(inputs)
    x = layers.Bidirectional(layers.GRU(64, return_sequences=True))(x)
    model = keras.Model(inputs, layers.Dense(29, activation="softmax")(x))
    return Training(model, tf.random.uniform((8, 96, 40)), tf.ones((8, 12), tf.int32), "adam", keras.losses.CTC())


@variants()
def text_convolution():
    """Windows of three widths over embedded words, the strongest of each kept."""
    inputs = keras.Input((64,), dtype="int32")
    x = layers.SpatialDropout1D(0.1)(layers.Embedding(6000, 64)(inputs))
    kept = [layers.GlobalMaxPooling1D()(layers.Conv1D(64, width, activation="relu")(x)) for width in (3, 5, 7)]
    model = keras.Model(inputs, layers.Dense(4, activation="softmax")(layers.Dropout(0.5)(layers.Concatenate()(kept))))
    return Training(model, tokens(64, 64), labels(64), keras.optimizers.Adagrad(), CLASSES)


def routed_experts():
    """Each token is sent to one of eight experts, whose places are limited: gathered, multiplied, put back."""
    width, experts, places = 96, 8, 80
    gate = layers.Dense(experts, use_bias=False)
    gate.build((None, width))
    up = keras.Variable(tf.random.normal((experts, width, 4 * width)) * 0.02)
    down = keras.Variable(tf.random.normal((experts, 4 * width, width)) * 0.02)

    def forward(x, y):
        chance = tf.nn.softmax(gate(x))
        choice = tf.one_hot(tf.argmax(chance, -1), experts)
        place = tf.cast(tf.reduce_sum(choice * tf.cumsum(choice, 0, exclusive=True), -1), tf.int32)
        send = choice[..., None] * tf.one_hot(place, places)[:, None]
        given = tf.einsum("tec,td->ecd", send, x)
        made = tf.matmul(tf.nn.gelu(tf.matmul(given, up.value)), down.value)
        weight = tf.reduce_sum(chance * choice, -1)[:, None, None] * send
        return tf.reduce_mean((x + tf.einsum("tec,ecd->td", weight, made) - y) ** 2)

    data = tf.random.uniform((512, width))
    return tape_step(forward, keras.optimizers.Adam(), [*gate.trainable_variables, up, down], data, data)
