"""Many different small models analysed in one process: neither time nor memory may grow.

    python benchmarks/many_models.py [--count 200] [--every 20] [--max-growth KIB]

Half of the models are live objects, half are targets named by text, as a notebook and a search would have them. The
exit status is 1 if resident memory grows by more than `--max-growth` KiB a model between the second quarter of the run
and the last: TensorFlow's caches fill in the first, and graphmem drops what it can from time to time.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def dense(width: int) -> Any:
    from keras import Input, Sequential, layers

    hidden = [layers.Dense(width, activation="relu") for _ in range(1 + width % 3)]
    return _compiled(Sequential([Input((width,)), *hidden, layers.Dense(10)]), "adam")


def convolutional(width: int) -> Any:
    from keras import Input, Model, layers

    inputs = Input((16, 16, 3))
    x = layers.MaxPooling2D()(layers.Conv2D(width, 3, activation="relu")(inputs))
    x = layers.Dropout(0.1)(layers.BatchNormalization()(x))
    return _compiled(Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x))), "sgd")


def recurrent(width: int) -> Any:
    from keras import Input, Sequential, layers

    return _compiled(Sequential([Input((6, 8)), layers.GRU(width), layers.Dense(10)]), "rmsprop")


def attentive(width: int) -> Any:
    from keras import Input, Model, layers

    inputs = Input((12,), dtype="int32")
    x = layers.Embedding(100, width)(inputs)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, width)(x, x))
    return _compiled(Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x))), "adamw")


def custom(width: int) -> Any:
    """A step of the user's own and its inputs."""
    import tensorflow as tf

    weight = tf.Variable(tf.zeros((width, width)))

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(x @ weight) ** 2)
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        return loss

    return step, (tf.TensorSpec((32, width)),)


KINDS = (dense, convolutional, recurrent, attentive, custom)


def _compiled(model: Any, optimizer: str) -> Any:
    model.compile(optimizer=optimizer, loss="mse", jit_compile=False)
    return model


@dataclass(frozen=True)
class Sample:
    """The state of the process after a model.

    Attributes:
        seconds: processor time that its analysis took, its construction included.
        rss: resident memory (bytes), taken after a garbage collection.
        objects: objects that Python's garbage collector follows.
        functions: functions in TensorFlow's library of the eager context.
        peak: the predicted peak (bytes).
    """

    seconds: float
    rss: int
    objects: int
    functions: int
    peak: int


def target(index: int) -> Any:
    """What is analysed: by turns five live objects, then five targets named by text."""
    kind, width = KINDS[index % len(KINDS)], 8 + index
    return f"{__file__}:{kind.__name__}(width={width})" if index // len(KINDS) % 2 else kind(width)


def analyse(index: int, made: Any) -> int:
    """Analyse the target of an index; returns its peak (bytes)."""
    import graphmem

    return graphmem.analyze(made, batch=None if KINDS[index % len(KINDS)] is custom else 32).peak_bytes


def samples(count: int) -> Iterator[Sample]:
    """One sample per model."""
    from tensorflow.python.eager import context

    for index in range(count):
        start = time.process_time()
        peak = analyse(index, target(index))
        seconds = time.process_time() - start
        gc.collect()
        functions = len(context.context().list_function_names())
        yield Sample(seconds, resident(), len(gc.get_objects()), functions, peak)


def resident() -> int:
    """Resident memory of this process (bytes)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def drift(values: list[float]) -> float:
    """Growth per value: from the mean of the second quarter to that of the last."""
    quarter = len(values) // 4
    early, late = values[quarter : 2 * quarter], values[-quarter:]
    return (sum(late) - sum(early)) / quarter / (len(values) - 2 * quarter)


def main() -> int:
    """Print a table and the growth; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--every", type=int, default=20, help="models per row")
    parser.add_argument("--max-growth", type=float, default=50.0, metavar="KIB", help="per model")
    given = parser.parse_args()
    print(f"{'models':>8}{'s a model':>12}{'resident':>14}{'objects':>12}{'functions':>12}")
    taken: list[Sample] = []
    for sample in samples(given.count):
        taken.append(sample)
        if len(taken) % given.every == 0:
            recent = [item.seconds for item in taken[-given.every :]]
            print(
                f"{len(taken):>8}{sum(recent) / len(recent):>12.3f}{sample.rss / 2**20:>10.1f} MiB"
                f"{sample.objects:>12,}{sample.functions:>12,}",
                flush=True,
            )
    growth = drift([item.rss / 1024 for item in taken])
    print(
        f"growth per model: {growth:+.1f} KiB, {drift([item.objects for item in taken]):+.1f} objects, "
        f"{drift([item.functions for item in taken]):+.2f} functions, "
        f"{1000 * drift([item.seconds for item in taken]):+.2f} ms"
    )
    if growth > given.max_growth:
        print(f"Resident memory grows by {growth:.1f} KiB a model, more than {given.max_growth:g}.", file=sys.stderr)
    return int(growth > given.max_growth)


if __name__ == "__main__":
    sys.exit(main())
