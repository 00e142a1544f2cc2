"""`keras.applications`: every network, or the smallest of its family, on the smallest images that it takes."""

from __future__ import annotations

from collections.abc import Iterator

import keras

from benchmarks.keras_catalogue.entry import Entry, ints, spec
from graphmem.target.keras_models import step_of_model
from graphmem.target.step import Options, Step

FAMILIES = {
    "ConvNeXtTiny": 32,
    "DenseNet121": 32,
    "EfficientNetB0": 32,
    "EfficientNetV2B0": 32,
    "InceptionResNetV2": 75,
    "InceptionV3": 75,
    "MobileNet": 32,
    "MobileNetV2": 32,
    "MobileNetV3Large": 32,
    "MobileNetV3Small": 32,
    "NASNetMobile": 32,
    "ResNet50": 32,
    "ResNet50V2": 32,
    "VGG16": 32,
    "Xception": 71,
}
"""Network -> side of its smallest image."""

SAME_FAMILY = {
    "ConvNeXtTiny": ("ConvNeXtBase", "ConvNeXtLarge", "ConvNeXtSmall", "ConvNeXtXLarge"),
    "DenseNet121": ("DenseNet169", "DenseNet201"),
    "EfficientNetB0": tuple(f"EfficientNetB{n}" for n in range(1, 8)),
    "EfficientNetV2B0": tuple(f"EfficientNetV2{n}" for n in ("B1", "B2", "B3", "L", "M", "S")),
    "NASNetMobile": ("NASNetLarge",),
    "ResNet50": ("ResNet101", "ResNet152"),
    "ResNet50V2": ("ResNet101V2", "ResNet152V2"),
    "VGG16": ("VGG19",),
}
"""Networks of the same blocks, only more or wider ones: they are made of the same ops."""


ALL_STEPS = ("MobileNet", "VGG16")
"""Networks whose test step is traced as well: it is the forward pass of training with the ops of losses and metrics."""


def steps(name: str) -> Iterator[Step]:
    """The steps of one network with a new head, two images at a time."""
    side = FAMILIES[name]
    body = getattr(keras.applications, name)(weights=None, include_top=False, input_shape=(side, side, 3))
    head = keras.layers.Dense(5, activation="softmax")(keras.layers.GlobalAveragePooling2D()(body.output))
    model = keras.Model(body.input, head)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=False)
    for kind in ("train", "test", "predict") if name in ALL_STEPS else ("train", "predict"):
        specs = (spec(2, side, side, 3), *((ints(2),) if kind != "predict" else ()))
        yield step_of_model(model, Options(kind=kind), specs=specs, target=name, live=True)


def entries() -> Iterator[Entry]:
    """An entry for each family."""
    for name in FAMILIES:
        yield Entry("keras.applications", name, lambda n=name: steps(n))
