"""A child process: what making variables asks TensorFlow's allocator for, as JSON: case -> bytes, less those freed."""

from __future__ import annotations

import json
from typing import Any

SHAPES = {"wide": (64, 96), "tall": (96, 64), "square": (96, 96)}
CASES = {
    "Zeros": "filled",
    "Ones": "filled",
    "Constant": "scaled",
    "GlorotUniform": "drawn",
    "HeNormal": "drawn",
    "RandomNormal": "drawn",
    "TruncatedNormal": "drawn",
    "Orthogonal": "orthogonal",
}
"""Initialiser -> how it makes a value."""


def main() -> None:
    import keras

    from graphmem.measure.recorder import record

    kept: list[Any] = []
    found = {}
    for name in CASES:
        for form, shape in SHAPES.items():
            initializer = getattr(keras.initializers, name)()
            kept.append(keras.Variable(initializer, shape=shape, dtype="float32"))  # kernels keep constants
            events = record(lambda: kept.append(keras.Variable(initializer, shape=shape, dtype="float32")))  # noqa: B023
            found[f"{name} {form}"] = [event.requested if event.allocates else -event.requested for event in events]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
