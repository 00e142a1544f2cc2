"""Specs of arrays and tensors: the dtype and shape that they have once Keras or TensorFlow has taken them in.

Arrays are asked for their shape and dtype only; nothing is copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf


def argument_spec(value: Any) -> Any:
    """The spec of a tensor or array given to a `tf.function`; anything else as it is."""
    if isinstance(value, (tf.Tensor, np.ndarray, np.generic)):
        return tf.TensorSpec(value.shape, _dtype_name(value))
    if isinstance(value, (tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices)):
        return tf.type_spec_from_value(value)
    return value


def specs(nest: Any, framework: str, *, cast: bool, batch: int | None = None) -> Any:
    """Specs of a nest of arrays: floats as `floatx` where Keras casts them, the first dimension `batch` if given."""
    return tf.nest.map_structure(lambda leaf: _spec(leaf, framework, cast, batch), nest)


def _spec(leaf: Any, framework: str, cast: bool, batch: int | None) -> Any:
    if leaf is None:
        return None
    if not hasattr(leaf, "shape"):
        leaf = np.asarray(leaf)
    shape: list[int | None] = list(leaf.shape)
    if shape and batch is not None:
        shape[0] = batch
    if has_base(leaf, "Series", "pandas"):
        shape.append(1)
    name = _dtype_name(leaf)
    if cast and _is_cast(leaf, name, framework):
        name = floatx(framework)
    if isinstance(leaf, tf.RaggedTensor):
        return tf.RaggedTensorSpec(shape, name, leaf.ragged_rank, leaf.row_splits.dtype)
    if isinstance(leaf, tf.SparseTensor) or type(leaf).__module__.startswith("scipy.sparse"):
        return tf.SparseTensorSpec(shape, name)
    return tf.TensorSpec(shape, name)


def _is_cast(leaf: Any, name: str, framework: str) -> bool:
    """Whether `fit` makes `floatx` of this array: Keras 3 of any float, legacy Keras of NumPy's (and of a Series)."""
    if framework == "tf_keras":
        return name.startswith("float") and (isinstance(leaf, np.ndarray) or has_base(leaf, "Series", "pandas"))
    if has_base(leaf, "DataFrame", "pandas"):  # cast if a column is a float of another size
        return any(kind.kind == "f" and kind.name != floatx(framework) for kind in map(np.dtype, leaf.dtypes))
    return name.startswith(("float", "bfloat"))


def _dtype_name(leaf: Any) -> str:
    """TensorFlow's name for the dtype that a leaf has as a tensor."""
    if has_base(leaf, "DataFrame", "pandas"):
        dtype: Any = np.result_type(*(np.dtype(kind) for kind in leaf.dtypes))
    else:
        dtype = leaf.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "OUS":
        return "string"
    name = str(dtype).removeprefix("torch.")
    return str(tf.as_dtype(name if name != str(dtype) else dtype).name)


def tuples(nest: Any) -> Any:
    """Lists as tuples all the way down, as tf.data wants them."""
    if isinstance(nest, (list, tuple)) and not hasattr(nest, "_fields"):
        return tuple(tuples(item) for item in nest)
    if isinstance(nest, dict):
        return {key: tuples(item) for key, item in nest.items()}
    return nest


def closed_by(spec: Any, value: Any) -> Any:
    """The spec with its open dimensions taken from an element."""
    if not isinstance(spec, tf.TensorSpec):
        return tf.type_spec_from_value(value)
    if spec.shape.rank is None:
        return tf.TensorSpec(value.shape, spec.dtype, spec.name)
    shape = [own if own is not None else seen for own, seen in zip(spec.shape, value.shape, strict=True)]
    return tf.TensorSpec(shape, spec.dtype, spec.name)


def floatx(framework: str) -> str:
    """The dtype that this Keras (of "keras", "tf_keras") makes of floats."""
    if framework == "tf_keras":
        import tf_keras

        return str(tf_keras.backend.floatx())
    import keras

    return str(keras.config.floatx())


def has_base(value: Any, name: str, package: str = "") -> bool:
    """Whether a class of this name (in this package) is among the value's, without importing the package."""
    return any(base.__name__ == name and base.__module__.startswith(package) for base in type(value).__mro__)
