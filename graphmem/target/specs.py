"""What the user says about inputs: `--input NAME:DTYPE:SHAPE`; and open dimensions, closed by `--set` and `--batch`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphmem.errors import TargetError
from graphmem.graph.model import DTYPE_BITS

Shape = tuple["int | None", ...]

_SCALAR = ("", "()", "scalar")
_OPEN = ("?", "none", "none?")
#: What a dimension after the batch is usually called, by the rank of the input; `--set` takes these names.
_AXIS_NAMES: dict[int, tuple[str, ...]] = {
    2: ("batch", "sequence"),
    3: ("batch", "sequence", "features"),
    4: ("batch", "height", "width", "channels"),
    5: ("batch", "depth", "height", "width", "channels"),
}


@dataclass(frozen=True)
class InputSpec:
    """One input as the user wrote it; `None` in the shape is a dimension left open."""

    name: str
    dtype: str
    shape: Shape


def parse_input(text: str) -> InputSpec:
    """Read `NAME:DTYPE:SHAPE`; the shape is `8x224x224x3`, `8,128`, `?x128`, or empty or `scalar` for a scalar.

    >>> parse_input("x:float32:8x?x3")
    InputSpec(name='x', dtype='float32', shape=(8, None, 3))
    >>> parse_input("rate:float32:")
    InputSpec(name='rate', dtype='float32', shape=())

    Raises:
        TargetError: the text has another form, an unknown dtype, or a dimension that is no positive number.
    """
    parts = [part.strip() for part in text.split(":")]
    if len(parts) != 3 or not parts[0]:
        raise TargetError(f"--input {text!r} is not of the form NAME:DTYPE:SHAPE, such as x:float32:8x224x224x3.")
    name, dtype, shape = parts
    if dtype not in DTYPE_BITS or dtype in ("resource", "variant"):
        raise TargetError(f"--input {text!r}: there is no dtype {dtype!r}; use one such as float32, int32 or bool.")
    return InputSpec(name, dtype, parse_shape(shape, text))


def parse_shape(shape: str, said: str = "") -> Shape:
    """Read a shape such as `8x224x224x3` or `8,?`.

    Raises:
        TargetError: a dimension is neither a positive number nor `?`.
    """
    if shape.lower() in _SCALAR:
        return ()
    dims: list[int | None] = []
    for dim in re.split(r"[x,]", shape.lower().strip("()[]").rstrip(",").replace(" ", "")):
        if dim in _OPEN:
            dims.append(None)
        elif dim.isdecimal() and int(dim) > 0:
            dims.append(int(dim))
        else:
            where = f"--input {said!r}: " if said else ""
            raise TargetError(f"{where}{dim!r} in {shape!r} is no dimension; write 8x224x224x3, or ? for an open one.")
    return tuple(dims)


def parse_inputs(texts: tuple[str, ...]) -> dict[str, InputSpec]:
    """Read several `--input` values, by name, in order.

    Raises:
        TargetError: one is malformed, or a name is given twice.
    """
    specs: dict[str, InputSpec] = {}
    for spec in map(parse_input, texts):
        if spec.name in specs:
            raise TargetError(f"--input {spec.name!r} is given twice.")
        specs[spec.name] = spec
    return specs


def fill_shape(name: str, shape: Shape, batch: int | None, dims: Mapping[str, int]) -> tuple[int, ...]:
    """Close the open dimensions of an input: the first from the batch size, each from `--set`.

    Args:
        name: of the input, as `--set NAME.AXIS=N` names it.
        shape: with `None` where it is open.
        batch: samples in a step, `None` if not said.
        dims: the values of `--set`, by `NAME.AXIS` or by the usual name of the axis.

    Raises:
        TargetError: a dimension stays open; the sentence names it and the option to give.
    """
    return tuple(_fill_dim(name, shape, axis, batch, dims) for axis in range(len(shape)))


def _fill_dim(name: str, shape: Shape, axis: int, batch: int | None, dims: Mapping[str, int]) -> int:
    dim = shape[axis]
    if dim is not None:
        return dim
    usual = axis_name(len(shape), axis)
    for key in (f"{name}.{axis}", f"{name}.{usual}", usual):
        if key and key in dims:
            return dims[key]
    if axis == 0:
        if batch is not None:
            return batch
        raise TargetError(f"The batch size (dimension 0 of input {name!r}) is not known; give it with --batch N.")
    called = f" ({usual}?)" if usual else ""
    raise TargetError(f"Input {name!r} has an open dimension {axis}{called}; give it with --set {name}.{axis}=N.")


def axis_name(rank: int, axis: int) -> str:
    """The usual name of an axis, such as "sequence"; "" if there is none."""
    names = _AXIS_NAMES.get(rank, ("batch",))
    return names[axis] if axis < len(names) else ""


def spec_of(value: Any, name: str | None = None) -> Any:
    """The `tf.TensorSpec` of a tensor, array, spec, `InputSpec` or Keras tensor (composite tensors keep their own).

    Python numbers and other values without a shape are returned as they are.
    """
    import tensorflow as tf

    if isinstance(value, (tf.TypeSpec, tf.compat.v1.SparseTensorValue)) and not isinstance(value, tf.TensorSpec):
        return value
    if isinstance(value, (tf.SparseTensor, tf.RaggedTensor)):
        return tf.type_spec_from_value(value)
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None:
        return value
    return tf.TensorSpec(shape, tf.as_dtype(dtype), name=safe_name(name or getattr(value, "name", None)))


def safe_name(name: str | None) -> str | None:
    """A name that an argument of a traced function may bear."""
    cleaned = re.sub(r"[^A-Za-z0-9_]+", "_", name or "").strip("_")
    return cleaned or None


def close_spec(spec: Any, name: str, batch: int | None, dims: Mapping[str, int]) -> Any:
    """A `tf.TensorSpec` with no open dimension; other values unchanged.

    Raises:
        TargetError: a dimension stays open, or the rank is not known.
    """
    import tensorflow as tf

    if not isinstance(spec, tf.TensorSpec):
        return spec
    if spec.shape.rank is None:
        how = f"--input {name}:{spec.dtype.name}:SHAPE"
        raise TargetError(f"The shape of input {name!r} is not known; give it with {how}.")
    shape = fill_shape(name, tuple(spec.shape.as_list()), batch, dims)
    return tf.TensorSpec(shape, spec.dtype, name=safe_name(spec.name or name))
