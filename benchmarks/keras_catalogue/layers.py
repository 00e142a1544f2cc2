"""`keras.layers`: each layer with the smallest inputs that it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf
from keras import layers

from benchmarks.keras_catalogue.entry import Entry, ints, spec, steps_of_layer

LINE, PLANE, CUBE = spec(2, 8, 4), spec(2, 8, 8, 4), spec(2, 6, 6, 6, 4)
BATCH = spec(2, 4)
PHOTOS = spec(2, 16, 16, 3)
WORDS = spec(2, 3, dtype="string")

SKIPPED = {
    "Layer": "the base class, without ops of its own",
    "Wrapper": "a base class, without ops of its own",
    "Input": "makes no op",
    "InputSpec": "describes inputs, makes no op",
    "JaxLayer": "needs jax",
    "FlaxLayer": "needs flax",
    "TorchModuleWrapper": "needs torch",
    "deserialize": "builds other layers",
    "serialize": "describes other layers",
}

ALIASES = {
    **{f"{kind}{n}D": f"{kind}ing{n}D" for kind in ("MaxPool",) for n in (1, 2, 3)},
    **{f"AvgPool{n}D": f"AveragePooling{n}D" for n in (1, 2, 3)},
    **{f"GlobalMaxPool{n}D": f"GlobalMaxPooling{n}D" for n in (1, 2, 3)},
    **{f"GlobalAvgPool{n}D": f"GlobalAveragePooling{n}D" for n in (1, 2, 3)},
    **{f"Convolution{n}D{end}": f"Conv{n}D{end}" for n in (1, 2, 3) for end in ("", "Transpose")},
    **{f"SeparableConvolution{n}D": f"SeparableConv{n}D" for n in (1, 2)},
}
"""Second names of layers that have an entry."""

Row = tuple[Callable[[], Any], tuple[Any, ...], dict[str, Any]]


def row(make: Callable[[], Any], *specs: Any, **kwargs: Any) -> Row:
    return make, specs, kwargs


def _per_rank() -> Iterator[tuple[str, Row]]:
    """What exists for lines, planes and cubes."""
    for n, data in enumerate((LINE, PLANE, CUBE), 1):
        for kind in ("Average", "Max"):
            yield f"{kind}Pooling{n}D", row(lambda k=kind, n=n: getattr(layers, f"{k}Pooling{n}D")(2), data)
            yield f"Global{kind}Pooling{n}D", row(getattr(layers, f"Global{kind}Pooling{n}D"), data)
            adaptive = f"Adaptive{kind}Pooling{n}D"
            yield adaptive, row(lambda a=adaptive: getattr(layers, a)(3), data)
        for name in (f"Conv{n}D", f"Conv{n}DTranspose"):
            yield name, row(lambda c=name: getattr(layers, c)(5, 3, padding="same", activation="relu"), data)
        yield f"ConvLSTM{n}D", row(lambda n=n: getattr(layers, f"ConvLSTM{n}D")(2, 3), spec(2, 3, *data.shape[1:]))
        yield f"Cropping{n}D", row(lambda n=n: getattr(layers, f"Cropping{n}D")(1), data)
        yield f"UpSampling{n}D", row(lambda n=n: getattr(layers, f"UpSampling{n}D")(2), data)
        yield f"ZeroPadding{n}D", row(lambda n=n: getattr(layers, f"ZeroPadding{n}D")(1), data)
        yield f"SpatialDropout{n}D", row(lambda n=n: getattr(layers, f"SpatialDropout{n}D")(0.5), data)
    for n, data in enumerate((LINE, PLANE), 1):
        yield f"SeparableConv{n}D", row(lambda n=n: getattr(layers, f"SeparableConv{n}D")(5, 3), data)
        yield f"DepthwiseConv{n}D", row(lambda n=n: getattr(layers, f"DepthwiseConv{n}D")(3), data)


def _core() -> dict[str, Row]:
    return {
        "Activation": row(lambda: layers.Activation("gelu"), BATCH),
        "ActivityRegularization": row(lambda: layers.ActivityRegularization(0.1, 0.1), BATCH),
        "Dense": row(lambda: layers.Dense(5, activation="relu"), BATCH),
        "EinsumDense": row(lambda: layers.EinsumDense("abc,cd->abd", output_shape=(None, 5)), LINE),
        "Embedding": row(lambda: layers.Embedding(10, 4), ints(2, 3)),
        "ReversibleEmbedding": row(lambda: layers.ReversibleEmbedding(10, 4), ints(2, 3)),
        "Flatten": row(layers.Flatten, LINE),
        "Identity": row(layers.Identity, BATCH),
        "InputLayer": row(lambda: keras.Sequential([layers.InputLayer((4,)), layers.ReLU()]), BATCH),
        "Lambda": row(lambda: layers.Lambda(lambda x: x * 2), BATCH),
        "Masking": row(layers.Masking, LINE),
        "Permute": row(lambda: layers.Permute((2, 1)), LINE),
        "RepeatVector": row(lambda: layers.RepeatVector(3), BATCH),
        "Reshape": row(lambda: layers.Reshape((4, 8)), LINE),
        "Dropout": row(lambda: layers.Dropout(0.5), BATCH),
        "AlphaDropout": row(lambda: layers.AlphaDropout(0.5), BATCH),
        "GaussianDropout": row(lambda: layers.GaussianDropout(0.5), BATCH),
        "GaussianNoise": row(lambda: layers.GaussianNoise(0.5), BATCH),
        "TFSMLayer": row(saved_layer, BATCH),
    }


def saved_layer() -> Any:
    """A SavedModel as a layer."""
    import tempfile

    module = tf.Module()
    module.weight = tf.Variable(tf.ones((4, 4)))
    module.serve = tf.function(lambda x: x @ module.weight, input_signature=[BATCH])
    folder = tempfile.mkdtemp()
    tf.saved_model.save(module, folder)
    return layers.TFSMLayer(folder, call_endpoint="serve")


def _merging() -> dict[str, Row]:
    pair = [BATCH, BATCH]
    rows = {
        name: row(getattr(layers, name), pair)
        for name in ("Add", "Average", "Concatenate", "Maximum", "Minimum", "Multiply", "Subtract")
    }
    return {
        **rows,
        **{
            name: row(lambda f=name: keras.layers.Lambda(lambda xs: getattr(layers, f)(xs)), pair)
            for name in ("add", "average", "concatenate", "maximum", "minimum", "multiply", "subtract")
        },
        "Dot": row(lambda: layers.Dot(1), pair),
        "dot": row(lambda: keras.layers.Lambda(lambda xs: layers.dot(xs, 1)), pair),
    }


def _activations_and_norms() -> dict[str, Row]:
    return {
        **{name: row(getattr(layers, name), BATCH) for name in ("ELU", "LeakyReLU", "PReLU", "ReLU", "Softmax")},
        "BatchNormalization": row(layers.BatchNormalization, PLANE),
        "GroupNormalization": row(lambda: layers.GroupNormalization(2), PLANE),
        "LayerNormalization": row(layers.LayerNormalization, LINE),
        "RMSNormalization": row(layers.RMSNormalization, LINE),
        "UnitNormalization": row(layers.UnitNormalization, LINE),
        "SpectralNormalization": row(lambda: layers.SpectralNormalization(layers.Dense(5)), BATCH),
        "Normalization": row(lambda: layers.Normalization(mean=[0.0] * 4, variance=[1.0] * 4), BATCH),
    }


def _attention() -> dict[str, Row]:
    return {
        "Attention": row(lambda: layers.Attention(dropout=0.1), [LINE, LINE]),
        "AdditiveAttention": row(layers.AdditiveAttention, [LINE, LINE]),
        "MultiHeadAttention": row(
            lambda: layers.MultiHeadAttention(2, 3, dropout=0.1), LINE, LINE, use_causal_mask=True
        ),
        "GroupQueryAttention": row(lambda: layers.GroupQueryAttention(3, 4, 2), LINE, LINE),
    }


def _recurrent() -> dict[str, Row]:
    cells = [layers.LSTMCell(3), layers.GRUCell(3)]
    return {
        "GRU": row(lambda: layers.GRU(3, return_sequences=True), LINE),
        "LSTM": row(lambda: layers.LSTM(3, dropout=0.1, recurrent_dropout=0.1), LINE),
        "SimpleRNN": row(lambda: layers.SimpleRNN(3, unroll=True), LINE),
        "RNN": row(lambda: layers.RNN(layers.LSTMCell(3), go_backwards=True), LINE),
        "StackedRNNCells": row(lambda: layers.RNN(layers.StackedRNNCells(cells)), LINE),
        "GRUCell": row(lambda: layers.RNN(layers.GRUCell(3)), LINE),
        "LSTMCell": row(lambda: layers.RNN(layers.LSTMCell(3, dropout=0.1)), LINE),
        "SimpleRNNCell": row(lambda: layers.RNN(layers.SimpleRNNCell(3)), LINE),
        "Bidirectional": row(lambda: keras.Sequential([layers.Masking(), layers.Bidirectional(layers.LSTM(3))]), LINE),
        "TimeDistributed": row(lambda: layers.TimeDistributed(layers.Dense(3)), LINE),
    }


def _preprocessing() -> dict[str, Row]:
    words = ["a", "b", "c"]
    return {
        "CategoryEncoding": row(lambda: layers.CategoryEncoding(5, output_mode="multi_hot"), ints(2, 3)),
        "Discretization": row(lambda: layers.Discretization([0.1, 0.5]), BATCH),
        "HashedCrossing": row(lambda: layers.HashedCrossing(5), (spec(2, dtype="string"), spec(2, dtype="string"))),
        "Hashing": row(lambda: layers.Hashing(5), WORDS),
        "IntegerLookup": row(lambda: layers.IntegerLookup(vocabulary=[3, 4]), spec(2, 3, dtype="int64")),
        "StringLookup": row(lambda: layers.StringLookup(vocabulary=words, output_mode="count"), WORDS),
        "TextVectorization": row(
            lambda: layers.TextVectorization(vocabulary=words, output_sequence_length=4, ngrams=2),
            spec(2, dtype="string"),
        ),
        "Rescaling": row(lambda: layers.Rescaling(1 / 255), PHOTOS),
        "Resizing": row(lambda: layers.Resizing(8, 8, interpolation="bicubic"), PHOTOS),
        "CenterCrop": row(lambda: layers.CenterCrop(8, 8), PHOTOS),
        "MelSpectrogram": row(lambda: layers.MelSpectrogram(16, 8, num_mel_bins=4), spec(2, 64)),
        "STFTSpectrogram": row(lambda: layers.STFTSpectrogram(frame_length=16, window=None), spec(2, 64, 1)),
        "Pipeline": row(lambda: layers.Pipeline([layers.RandomFlip(), layers.Rescaling(2.0)]), PHOTOS),
        "MaxNumBoundingBoxes": row(lambda: BoxLimit(), spec(2, 5, 4), spec(2, 5)),
    }


class BoxLimit(layers.Layer):
    """`MaxNumBoundingBoxes` on boxes and labels: its own `call` passes everything through."""

    def __init__(self) -> None:
        super().__init__()
        self.limit = layers.MaxNumBoundingBoxes(3)

    def call(self, boxes: Any, labels: Any) -> Any:
        return self.limit.transform_bounding_boxes({"boxes": boxes, "labels": labels}, None)

    def compute_output_spec(self, boxes: Any, labels: Any) -> Any:
        return {"boxes": keras.KerasTensor((2, 3, 4)), "labels": keras.KerasTensor((2, 3))}


def _augmentation() -> dict[str, Row]:
    quiet = ("AugMix", "AutoContrast", "CutMix", "Equalization", "MixUp", "RandAugment", "RandomElasticTransform",
             "RandomErasing", "RandomGaussianBlur", "RandomGrayscale", "RandomInvert", "RandomPerspective",
             "RandomShear", "Solarization", "ContrastLimitedAdaptiveHistogramEqualization", "RandomFlip")  # fmt: skip
    factor = ("RandomBrightness", "RandomColorDegeneration", "RandomContrast", "RandomHue", "RandomPosterization",
              "RandomRotation", "RandomSaturation", "RandomSharpness", "RandomZoom")  # fmt: skip
    values = {"RandomHue": 0.2, "RandomPosterization": 4}
    return {
        **{name: row(getattr(layers, name), PHOTOS) for name in quiet},
        **{name: row(lambda n=name: getattr(layers, n)(values.get(n, 0.5)), PHOTOS) for name in factor},
        "RandomColorJitter": row(
            lambda: layers.RandomColorJitter(
                brightness_factor=0.1, contrast_factor=0.1, saturation_factor=0.1, hue_factor=0.1
            ),
            PHOTOS,
        ),
        "RandomCrop": row(lambda: layers.RandomCrop(8, 8), PHOTOS),
        "RandomTranslation": row(lambda: layers.RandomTranslation(0.2, 0.2), PHOTOS),
    }


def _variants() -> dict[str, Row]:
    """Options that make other ops."""
    return {
        **{
            f"{name} ({mode})": row(lambda m=make, d=data, q=mode: quantised(m(), d, q), data)
            for name, make, data in (
                ("Dense", lambda: layers.Dense(8), spec(2, 8)),
                ("EinsumDense", lambda: layers.EinsumDense("ab,bc->ac", output_shape=(8,)), spec(2, 8)),
                ("Embedding", lambda: layers.Embedding(16, 8), ints(2, 3)),
            )
            for mode in ("int8", "int4", "float8")
            if (name, mode) != ("Embedding", "float8")
        },
        "Dense (lora)": row(lambda: with_lora(layers.Dense(8), spec(2, 8)), spec(2, 8)),
        "Embedding (lora)": row(lambda: with_lora(layers.Embedding(16, 8), ints(2, 3)), ints(2, 3)),
        "Conv2D (groups)": row(lambda: layers.Conv2D(8, 3, groups=2), PLANE),
        "Conv2D (dilated)": row(lambda: layers.Conv2D(8, 3, dilation_rate=2), PLANE),
        "LSTM (masked, stateful)": row(lambda: masked_lstm(), LINE),
        "GRU (not reset after)": row(lambda: layers.GRU(3, reset_after=False), LINE),
        "BatchNormalization (masked)": row(
            lambda: keras.Sequential([layers.Masking(), layers.BatchNormalization()]), LINE
        ),
        "BatchNormalization (axis 1)": row(lambda: layers.BatchNormalization(axis=1), PLANE),
        "CategoryEncoding (count)": row(lambda: layers.CategoryEncoding(5, output_mode="count"), ints(2, 3)),
        "Hashing (salted, one hot)": row(
            lambda: layers.Hashing(5, salt=3, output_mode="one_hot"), spec(2, 1, dtype="string")
        ),
        "Dense (float16)": row(lambda: layers.Dense(8, dtype="mixed_float16"), spec(2, 8)),
        "TextVectorization (tf-idf)": row(
            lambda: layers.TextVectorization(vocabulary=["a", "b"], idf_weights=[1.0, 2.0], output_mode="tf_idf"),
            spec(2, dtype="string"),
        ),
        "TextVectorization (ragged, characters)": row(
            lambda: layers.TextVectorization(vocabulary=["a", "b"], ragged=True, split="character"),
            spec(2, dtype="string"),
        ),
        "Dense (regularised, constrained)": row(
            lambda: layers.Dense(8, kernel_regularizer="orthogonal_regularizer", kernel_constraint="unit_norm"), BATCH
        ),
    }


def quantised(layer: Any, data: Any, mode: str) -> Any:
    """A layer whose weights are quantised."""
    layer.build(data.shape)
    layer.quantize(mode)
    return layer


def with_lora(layer: Any, data: Any) -> Any:
    """A layer with adapters of rank 2."""
    layer.build(data.shape)
    layer.enable_lora(2)
    return layer


def masked_lstm() -> Any:
    """A stateful recurrent layer behind a mask."""
    return keras.Sequential([layers.Masking(), layers.LSTM(3, stateful=True)])


def entries() -> Iterator[Entry]:
    """An entry for each public name that makes ops."""
    rows = {
        **dict(_per_rank()),
        **_core(),
        **_merging(),
        **_activations_and_norms(),
        **_attention(),
        **_recurrent(),
        **_preprocessing(),
        **_augmentation(),
        **_variants(),
    }
    for name, (make, specs, kwargs) in sorted(rows.items()):
        yield Entry("keras.layers", name, lambda m=make, s=specs, k=kwargs: steps_of_layer(m(), s, k))
