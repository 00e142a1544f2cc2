"""Character-level language model without Keras: `tf.Module`, variables by hand, and an optimizer of one's own."""

import numpy as np
import tensorflow as tf

TEXT = "a good report says what was measured, how, and how far it can be trusted. " * 400
CONTEXT, BATCH = 64, 128


class Dense(tf.Module):
    def __init__(self, inputs, outputs, name=None):
        super().__init__(name=name)
        with self.name_scope:
            self.kernel = tf.Variable(tf.random.normal([inputs, outputs], stddev=inputs**-0.5), name="kernel")
            self.bias = tf.Variable(tf.zeros([outputs]), name="bias")

    @tf.Module.with_name_scope
    def __call__(self, x):
        return x @ self.kernel + self.bias


class NextCharacter(tf.Module):
    """Guesses a character from the `CONTEXT` before it."""

    def __init__(self, characters, width=32, hidden=1024, name="next_character"):
        super().__init__(name=name)
        with self.name_scope:
            self.table = tf.Variable(tf.random.normal([characters, width], stddev=0.1), name="table")
            self.hidden = [Dense(CONTEXT * width, hidden, "hidden_1"), Dense(hidden, hidden, "hidden_2")]
            self.scores = Dense(hidden, characters, "scores")

    @tf.Module.with_name_scope
    def __call__(self, tokens):
        x = tf.reshape(tf.gather(self.table, tokens), [tf.shape(tokens)[0], -1])
        for layer in self.hidden:
            x = tf.nn.gelu(layer(x))
        return self.scores(x)


class Momentum(tf.Module):
    """Gradient descent that remembers where it was going."""

    def __init__(self, variables, rate=0.05, keep=0.9):
        super().__init__(name="momentum")
        self.variables_, self.rate, self.keep = variables, rate, keep
        self.speeds = [tf.Variable(tf.zeros_like(v), trainable=False, name="speed") for v in variables]

    def update(self, gradients):
        for variable, speed, gradient in zip(self.variables_, self.speeds, gradients, strict=True):
            speed.assign(self.keep * speed + gradient)
            variable.assign_sub(self.rate * speed)


alphabet = sorted(set(TEXT))
codes = np.array([alphabet.index(character) for character in TEXT], "int32")
model = NextCharacter(len(alphabet))
momentum = Momentum(model.trainable_variables)


@tf.function
def train_step(tokens, following):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=following, logits=model(tokens))
        loss = tf.reduce_mean(losses)
    momentum.update(tape.gradient(loss, model.trainable_variables))
    return loss


random = np.random.default_rng(0)
for step in range(200):
    starts = random.integers(len(codes) - CONTEXT - 1, size=BATCH)
    rows = codes[starts[:, None] + np.arange(CONTEXT + 1)]
    loss = train_step(tf.constant(rows[:, :-1]), tf.constant(rows[:, -1]))
    if step % 50 == 0:
        print(f"step {step}: loss {loss:.3f}")
