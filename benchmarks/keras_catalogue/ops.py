"""`keras.ops`: each function with the smallest inputs that it takes, and its gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf
from keras import ops

from benchmarks.keras_catalogue.entry import Entry, ints, spec, steps_of_function

X, V, SQUARE = spec(4, 6), spec(6), spec(2, 4, 4)
WHOLE, PLACES = ints(4, 6), ints(4)
TRUTH = spec(4, 6, dtype="bool")
Z = spec(4, 8, dtype="complex64")
SIGNAL = spec(2, 64)
IMAGES, CUBES = spec(2, 12, 12, 3), spec(2, 6, 6, 6, 3)

SKIPPED = {
    "image": "a module; its functions have entries",
    "linalg": "a module; its functions have entries",
    "nn": "a module; its functions have entries",
    "numpy": "a module; its functions have entries",
    "convert_to_numpy": "leaves the graph: it cannot be traced",
    "is_tensor": "answers in Python, makes no op",
    "dtype": "answers in Python, makes no op",
    "ndim": "answers in Python, makes no op",
    **dict.fromkeys(
        ("bartlett", "corrcoef", "isin", "kron"),
        "Keras 3.15 cannot trace it: it takes a symbolic tensor as a Python value",
    ),
    "vectorize": "not supported by Keras's TensorFlow backend",
}

FORWARD = {
    "image.resize (area)",
    "lu_factor",
    "slice_update",
    "maximum (sparse)",
    "minimum (sparse)",
    "multi_hot (sparse)",
}
"""Entries that TensorFlow has no gradient for, or none that works."""

UNARY = (
    "abs absolute all amax amin angle any arccos arccosh arcsin arcsinh arctan arctanh argmax argmin argsort array"
    " average cbrt ceil celu conj conjugate copy cos cosh count_nonzero cumprod cumsum deg2rad diag diagonal diff"
    " elu empty_like erf erfc erfinv exp exp2 expm1 fabs flip fliplr flipud floor gelu glu hard_shrink hard_sigmoid"
    " hard_silu hard_swish hard_tanh i0 imag isfinite isinf isnan isneginf isposinf isreal leaky_relu log log10"
    " log1p log2 log_sigmoid log_softmax logsumexp max mean median min nan_to_num nanargmax nanargmin nancumprod"
    " nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar negative nonzero norm normalize"
    " ones_like prod ptp rad2deg ravel real reciprocal relu relu6 round rot90 rsqrt selu sigmoid sign signbit silu"
    " sin sinc sinh size soft_shrink softmax softplus softsign sort sparse_plus sparse_sigmoid sparsemax sqrt square"
    " squareplus squeeze std stop_gradient sum swish tan tanh tanh_shrink trace transpose trapezoid tril triu trunc"
    " unstack var zeros_like rms_normalization layer_normalization shape logical_not convert_to_tensor"
)
BINARY = (
    "add allclose arctan2 append cdist divide divide_no_nan equal floor_divide fmax fmin fmod greater greater_equal"
    " heaviside hypot inner isclose less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor"
    " maximum minimum mod multiply nextafter not_equal outer polar power subtract true_divide vdot"
)
ON_WHOLE = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift left_shift right_shift gcd lcm"
WINDOWS = "blackman hamming hanning"
STACKS = "concatenate dstack hstack stack vstack"

Row = tuple[Callable[..., Any], tuple[Any, ...]]


def row(function: Callable[..., Any], *specs: Any) -> Row:
    return function, specs


def _families() -> Iterator[tuple[str, Row]]:
    """Functions that are called alike."""
    for names, specs in ((UNARY, (X,)), (BINARY, (X, X)), (ON_WHOLE, (WHOLE, WHOLE))):
        for name in names.split():
            yield name, row(getattr(ops, name), *specs)
    for name in WINDOWS.split():
        yield name, row(lambda n=name: getattr(ops, n)(8))
    for name in STACKS.split():
        yield name, row(getattr(ops, name), [X, X])
    for name in ("max", "min", "sum", "prod"):
        yield f"segment_{name}", row(lambda x, i, n=name: getattr(ops, f"segment_{n}")(x, i, 3), X, PLACES)
    for name in ("percentile", "quantile", "nanpercentile", "nanquantile"):
        yield name, row(lambda x, n=name: getattr(ops, n)(x, 0.5), X)
    for name in ("hsplit", "vsplit", "array_split", "split"):
        yield name, row(lambda x, n=name: getattr(ops, n)(x, 2), X)
    for name in ("bitwise_invert", "bitwise_not"):
        yield name, row(getattr(ops, name), WHOLE)
    for name in ("ones", "zeros", "empty"):
        yield name, row(lambda n=name: getattr(ops, n)((3, 4)))
    for name in ("eye", "identity", "tri"):
        yield name, row(lambda n=name: getattr(ops, n)(4))
    for name in ("linspace", "logspace", "geomspace"):
        yield name, row(lambda n=name: getattr(ops, n)(1.0, 2.0, 5))


def _arrays() -> dict[str, Row]:
    return {
        "arange": row(lambda: ops.arange(5)),
        "argpartition": row(lambda x: ops.argpartition(x, 2), X),
        "associative_scan": row(lambda x: ops.associative_scan(ops.add, x), X),
        "bincount": row(lambda x: ops.bincount(x, minlength=4), PLACES),
        "broadcast_to": row(lambda x: ops.broadcast_to(x, (3, 4, 6)), X),
        "cast": row(lambda x: ops.cast(x, "float16"), X),
        "clip": row(lambda x: ops.clip(x, 0.1, 0.9), X),
        "cross": row(ops.cross, spec(4, 3), spec(4, 3)),
        "diagflat": row(ops.diagflat, V),
        "digitize": row(lambda x: ops.digitize(x, [0.1, 0.5]), X),
        "dsplit": row(lambda x: ops.dsplit(x, 2), SQUARE),
        "expand_dims": row(lambda x: ops.expand_dims(x, 1), X),
        "full": row(lambda: ops.full((3, 4), 2.0)),
        "full_like": row(lambda x: ops.full_like(x, 2.0), X),
        "get_item": row(lambda x: ops.get_item(x, (slice(1, 3), 2)), X),
        "histogram": row(lambda x: ops.histogram(x, range=(0, 1)), V),
        "in_top_k": row(lambda t, p: ops.in_top_k(t, p, 2), PLACES, X),
        "kaiser": row(lambda: ops.kaiser(8, 2.0)),
        "ldexp": row(ops.ldexp, X, WHOLE),
        "meshgrid": row(ops.meshgrid, V, V),
        "moveaxis": row(lambda x: ops.moveaxis(x, 0, 1), X),
        "multi_hot": row(lambda x: ops.multi_hot(x, 8), WHOLE),
        "one_hot": row(lambda x: ops.one_hot(x, 8), WHOLE),
        "pad": row(lambda x: ops.pad(x, ((1, 1), (2, 2)), mode="reflect"), X),
        "rearrange": row(lambda x: ops.rearrange(x, "a b -> b a"), X),
        "repeat": row(lambda x: ops.repeat(x, 2, axis=0), X),
        "reshape": row(lambda x: ops.reshape(x, (6, 4)), X),
        "roll": row(lambda x: ops.roll(x, 2, axis=1), X),
        "saturate_cast": row(lambda x: ops.saturate_cast(x, "int8"), X),
        "scatter": row(lambda i, v: ops.scatter(i, v, (8, 6)), ints(4, 1), X),
        "scatter_update": row(lambda x, i, v: ops.scatter_update(x, i, v), X, ints(2, 1), spec(2, 6)),
        "searchsorted": row(ops.searchsorted, V, V),
        "select": row(lambda c, x, y: ops.select([c], [x], y), TRUTH, X, X),
        "slice": row(lambda x: ops.slice(x, (1, 1), (2, 3)), X),
        "slice_update": row(lambda x, y: ops.slice_update(x, (1, 1), y), X, spec(2, 3)),
        "swapaxes": row(lambda x: ops.swapaxes(x, 0, 1), X),
        "take": row(lambda x, i: ops.take(x, i, axis=0), X, PLACES),
        "take_along_axis": row(lambda x, i: ops.take_along_axis(x, i, axis=1), X, WHOLE),
        "threshold": row(lambda x: ops.threshold(x, 0.5, 0.0), X),
        "tile": row(lambda x: ops.tile(x, (2, 1)), X),
        "top_k": row(lambda x: ops.top_k(x, 2), X),
        "unique": row(ops.unique, PLACES),
        "unravel_index": row(lambda i: ops.unravel_index(i, (4, 6)), PLACES),
        "vander": row(ops.vander, V),
        "view": row(lambda x: ops.view(x, "int32"), X),
        "view_as_complex": row(ops.view_as_complex, spec(4, 2)),
        "view_as_real": row(ops.view_as_real, Z),
        "where": row(ops.where, TRUTH, X, X),
    }


def _algebra() -> dict[str, Row]:
    positive = row(lambda x: x @ ops.transpose(x, (0, 2, 1)) + ops.eye(4), SQUARE)[0]
    on_positive = ("cholesky", "cholesky_inverse", "det", "inv", "logdet", "slogdet", "pinv", "matrix_rank", "eigh")
    return {
        **{name: row(lambda x, n=name: getattr(ops, n)(positive(x)), SQUARE) for name in on_positive},
        "eig": row(lambda x: ops.eig(x), SQUARE),
        "lu_factor": row(ops.lu_factor, spec(4, 4)),
        "qr": row(ops.qr, SQUARE),
        "svd": row(ops.svd, SQUARE),
        "solve": row(ops.solve, SQUARE, SQUARE),
        "solve_triangular": row(lambda a, b: ops.solve_triangular(a, b, lower=True), SQUARE, SQUARE),
        "lstsq": row(ops.lstsq, spec(4, 4), spec(4, 2)),
        "matmul": row(ops.matmul, SQUARE, SQUARE),
        "dot": row(ops.dot, spec(4, 4), spec(4, 4)),
        "tensordot": row(lambda x, y: ops.tensordot(x, y, 1), SQUARE, spec(4, 5)),
        "einsum": row(lambda x, y: ops.einsum("abc,acd->adb", x, y), SQUARE, SQUARE),
        "correlate": row(ops.correlate, V, V),
        "fft": row(lambda x, y: ops.fft((x, y)), X, X),
        "fft2": row(lambda x, y: ops.fft2((x, y)), SQUARE, SQUARE),
        "ifft2": row(lambda x, y: ops.ifft2((x, y)), SQUARE, SQUARE),
        "rfft": row(ops.rfft, SIGNAL),
        "irfft": row(lambda x, y: ops.irfft((x, y)), X, X),
        "stft": row(lambda x: ops.stft(x, 16, 8, 16), SIGNAL),
        "istft": row(lambda x, y: ops.istft((x, y), 16, 8, 16), spec(2, 7, 9), spec(2, 7, 9)),
        "extract_sequences": row(lambda x: ops.extract_sequences(x, 16, 8), SIGNAL),
    }


def _networks() -> dict[str, Row]:
    labels = spec(4, 6)
    kernel = spec(3, 3, 3, 5)
    return {
        "adaptive_average_pool": row(lambda x: ops.adaptive_average_pool(x, 5), IMAGES),
        "adaptive_max_pool": row(lambda x: ops.adaptive_max_pool(x, 5), IMAGES),
        "average_pool": row(lambda x: ops.average_pool(x, 2), IMAGES),
        "max_pool": row(lambda x: ops.max_pool(x, 2), IMAGES),
        "batch_normalization": row(lambda x, m, v: ops.batch_normalization(x, m, v, -1), X, V, V),
        "binary_crossentropy": row(ops.binary_crossentropy, labels, X),
        "categorical_crossentropy": row(lambda t, x: ops.categorical_crossentropy(t, x, True), labels, X),
        "sparse_categorical_crossentropy": row(lambda t, x: ops.sparse_categorical_crossentropy(t, x, True), PLACES, X),
        "conv": row(ops.conv, IMAGES, kernel),
        "conv_transpose": row(ops.conv_transpose, IMAGES, spec(3, 3, 5, 3)),
        "depthwise_conv": row(ops.depthwise_conv, IMAGES, spec(3, 3, 3, 2)),
        "separable_conv": row(ops.separable_conv, IMAGES, spec(3, 3, 3, 2), spec(1, 1, 6, 5)),
        "ctc_loss": row(ops.ctc_loss, ints(2, 3), spec(2, 8, 5), ints(2), ints(2)),
        "ctc_decode": row(ops.ctc_decode, spec(2, 8, 5), ints(2)),
        "dot_product_attention": row(ops.dot_product_attention, *[spec(2, 8, 2, 4)] * 3),
        "depth_to_space": row(lambda x: ops.depth_to_space(x, 2), spec(2, 4, 4, 8)),
        "space_to_depth": row(lambda x: ops.space_to_depth(x, 2), IMAGES),
        "fold": row(lambda x: ops.fold(x, (8, 8), 2, stride=2), spec(2, 12, 16)),
        "unfold": row(lambda x: ops.unfold(x, 2, stride=2), spec(2, 3, 8, 8)),
        "moments": row(lambda x: ops.moments(x, [0]), X),
        "psnr": row(lambda x, y: ops.psnr(x, y, 1.0), IMAGES, IMAGES),
    }


def _control() -> dict[str, Row]:
    return {
        "cond": row(lambda x: ops.cond(ops.sum(x) > 0, lambda: x * 2, lambda: x), X),
        "switch": row(lambda i, x: ops.switch(i, [ops.sin, ops.cos], x), ints(), X),
        "while_loop": row(lambda x: ops.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (0, x)), X),
        "fori_loop": row(lambda x: ops.fori_loop(0, 3, lambda i, y: y * 2, x), X),
        "scan": row(lambda x: ops.scan(lambda c, y: (c + y, c), ops.zeros(6), x), X),
        "map": row(lambda x: ops.map(ops.exp, x), X),
        "vectorized_map": row(lambda x: ops.vectorized_map(ops.exp, x), X),
        "custom_gradient": row(lambda x: ops.custom_gradient(lambda y: (y * 2, lambda upstream: upstream * 2))(x), X),
        "jvp": row(lambda x: ops.jvp(ops.sin, (x,), (x,)), X),
    }


def _images() -> dict[str, Row]:
    image = ops.image
    corners = spec(2, 4, 2)
    return {
        "image.affine_transform": row(image.affine_transform, IMAGES, spec(2, 8)),
        "image.crop_images": row(lambda x: image.crop_images(x, 1, 1, target_height=8, target_width=8), IMAGES),
        "image.elastic_transform": row(image.elastic_transform, IMAGES),
        "image.extract_patches": row(lambda x: image.extract_patches(x, 4), IMAGES),
        "image.extract_patches_3d": row(lambda x: image.extract_patches_3d(x, 2), CUBES),
        "image.gaussian_blur": row(image.gaussian_blur, IMAGES),
        "image.hsv_to_rgb": row(image.hsv_to_rgb, IMAGES),
        "image.rgb_to_hsv": row(image.rgb_to_hsv, IMAGES),
        "image.rgb_to_grayscale": row(image.rgb_to_grayscale, IMAGES),
        "image.map_coordinates": row(lambda x, c: image.map_coordinates(x, c, 1), X, spec(2, 5)),
        "image.pad_images": row(lambda x: image.pad_images(x, 1, 1, target_height=16, target_width=16), IMAGES),
        "image.perspective_transform": row(image.perspective_transform, IMAGES, corners, corners),
        **{
            f"image.resize ({way})": row(lambda x, w=way: image.resize(x, (8, 8), interpolation=w), IMAGES)
            for way in ("bilinear", "nearest", "bicubic", "area")
        },
        "image.resize": row(lambda x: image.resize(x, (8, 8), interpolation="lanczos3", antialias=True), IMAGES),
        "image.scale_and_translate": row(
            lambda x: image.scale_and_translate(
                x, (2, 8, 8, 3), ops.array([0.5, 0.5]), ops.array([0.0, 0.0]), (1, 2), "linear"
            ),
            IMAGES,
        ),
        "image.sobel_edges": row(image.sobel_edges, IMAGES),
        "image.ssim": row(image.ssim, IMAGES, IMAGES),
    }


def sparse(indices: Any, values: Any) -> tf.SparseTensor:
    """A sparse tensor of shape [4, 6] of its parts."""
    return tf.SparseTensor(indices, values, (4, 6))


def _sparse() -> dict[str, Row]:
    """Functions that have a path of their own for sparse tensors, given as indices and values."""
    parts = (spec(3, 2, dtype="int64"), spec(3))
    unary: dict[str, Callable[..., Any]] = {
        **{name: getattr(ops, name) for name in "abs exp log1p sin sqrt reciprocal sign square transpose".split()},
        "cast": lambda x: ops.cast(x, "float16"),
        "reshape": lambda x: ops.reshape(x, (6, 4)),
        "expand_dims": lambda x: ops.expand_dims(x, 0),
        "to dense": lambda x: ops.convert_to_tensor(x, sparse=False),
    }
    made = {f"{name} (sparse)": row(lambda i, v, f=f: f(sparse(i, v)), *parts) for name, f in unary.items()}
    for name in ("add", "subtract", "multiply", "maximum", "minimum", "matmul", "concatenate"):
        call = _of_two(name)
        made[f"{name} (sparse)"] = row(lambda i, v, j, w, f=call: f(sparse(i, v), sparse(j, w)), *parts, *parts)
    for name in ("add", "subtract", "multiply", "maximum", "minimum", "divide", "matmul"):
        other = spec(6, 4) if name == "matmul" else X
        call = _of_two(name)
        made[f"{name} (sparse, dense)"] = row(lambda i, v, x, f=call: f(sparse(i, v), x), *parts, other)
    made["take (sparse)"] = row(lambda x, i, v: ops.take(x, sparse(i, v), axis=0), X, parts[0], ints(3))
    made["one_hot (sparse)"] = row(lambda x: ops.one_hot(x, 8, sparse=True), PLACES)
    made["multi_hot (sparse)"] = row(lambda x: ops.multi_hot(x, 8, sparse=True), WHOLE)
    made["bincount (sparse)"] = row(lambda x: ops.bincount(x, minlength=4, sparse=True), PLACES)
    return made


def _of_two(name: str) -> Callable[..., Any]:
    """A function of two operands; the second of a product is transposed if it is sparse as well."""
    function = getattr(ops, name)
    if name == "matmul":
        return lambda x, y: function(x, ops.transpose(y) if isinstance(y, tf.SparseTensor) else y)
    return (lambda x, y: function([x, y])) if name == "concatenate" else function


def entries() -> Iterator[Entry]:
    """An entry for each public function that makes ops."""
    rows = {
        **dict(_families()),
        **_arrays(),
        **_algebra(),
        **_networks(),
        **_control(),
        **_images(),
        **_sparse(),
    }
    for name, (function, specs) in sorted(rows.items()):
        yield Entry("keras.ops", name, lambda n=name, f=function, s=specs: steps_of_function(f, s, n not in FORWARD))
