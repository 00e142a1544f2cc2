"""A bidirectional LSTM that reads raw text: TextVectorization in the input pipeline, masked embeddings, `fit`."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

WORDS = "a the film plot actor dull weak slow bad awful great fine warm bright lovely not very and but it was".split()
GOOD = {"great", "fine", "warm", "bright", "lovely"}


def reviews(count, seed):
    """Sentences of random words; good if most words with an opinion are."""
    random = np.random.default_rng(seed)
    texts = [" ".join(random.choice(WORDS, size=random.integers(30, 200))) for _ in range(count)]
    labels = [sum(word in GOOD for word in text.split()) * 4.2 > len(text.split()) for text in texts]
    return tf.data.Dataset.from_tensor_slices((texts, np.array(labels, "float32")))


def build_model(vocabulary, length):
    return keras.Sequential(
        [
            keras.Input(shape=(length,), dtype="int64"),
            layers.Embedding(vocabulary, 128, mask_zero=True),
            layers.Bidirectional(layers.LSTM(64, return_sequences=True)),
            layers.Bidirectional(layers.LSTM(64)),
            layers.Dense(1, activation="sigmoid"),
        ]
    )


def main():
    train, test = reviews(2000, seed=0), reviews(400, seed=1)
    vectorize = layers.TextVectorization(max_tokens=10000, output_sequence_length=200)
    vectorize.adapt(train.map(lambda text, label: text).batch(256))

    def batches(dataset):
        return dataset.batch(32, drop_remainder=True).map(lambda text, label: (vectorize(text), label)).cache()

    model = build_model(10000, 200)
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    model.fit(batches(train), epochs=2, validation_data=batches(test))


if __name__ == "__main__":
    main()
