"""Variables and tensors that own no memory, so that a model of any size is built and traced anywhere.

The initial value of a large variable is replaced by a tensor over a private anonymous mapping that is never
written: the kernel gives it no page. Reads see zeros. Initialisers of large variables do not run at all.
"""

from __future__ import annotations

import functools
import math
import mmap
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from graphmem.target.leftovers import collectable_gradients, kernels
from graphmem.target.making import Making, assignments_seen
from graphmem.target.process_state import process_state_kept

TINY_BYTES = 4096
"""Variables up to this size keep their true value: user code reads counters, seeds and learning rates."""

_BIG_ZEROS_BYTES = 1 << 20
# Python exports MAP_NORESERVE only since 3.13; 0x4000 is Linux's value on x86 and arm, 0x40 is macOS's.
_NORESERVE = getattr(mmap, "MAP_NORESERVE", {"linux": 0x4000, "darwin": 0x40}.get(sys.platform, 0))
# What numpy can hand over by dlpack as it is, and what a bitcast (which shares the buffer) makes of another type.
_DIRECT = frozenset(
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()
)
_BITCAST = {"bfloat16": "uint16", "qint8": "int8", "quint8": "uint8", "qint16": "int16", "qint32": "int32"}


@dataclass
class Record:
    """What a `weightless()` block made.

    Attributes:
        made: all variables made.
        making: the order in which they were made.
        variables: those that own no memory.
        nbytes: the bytes that they would have owned.
        notes: what could not be done so, one sentence each.
    """

    made: int = 0
    variables: int = 0
    nbytes: int = 0
    notes: list[str] = field(default_factory=list)
    making: Making = field(default_factory=Making)


_state = threading.local()


@contextmanager
def weightless() -> Iterator[Record]:
    """Within the block, variables larger than `TINY_BYTES` own no memory and their initialisers do not run.

    Works for Keras 3, tf_keras and `tf.Module`. An inner block joins the outer one. Everything that is patched is
    put back at the end.

    >>> with weightless() as record:
    ...     v = tf.Variable(tf.zeros((1 << 20, 1 << 15)))  # 128 GiB  # doctest: +SKIP
    """
    active: Record | None = getattr(_state, "record", None)
    if active is not None:
        yield active
        return
    import tensorflow as tf

    record = Record()
    create = functools.partial(_create, record)
    _state.record = record
    try:
        with ExitStack() as stack:
            stack.enter_context(process_state_kept())
            stack.enter_context(tf.variable_creator_scope(create))
            stack.enter_context(_survive_graph_reset(tf, create, stack))
            stack.enter_context(_zero_fills())
            stack.enter_context(assignments_seen(making))
            stack.enter_context(collectable_gradients())
            yield record
    finally:
        _state.record = None
        kernels.count(record.made)


@contextmanager
def ordinary() -> Iterator[None]:
    """Within the block `weightless()` changes nothing: variables own memory and are initialised; a step can run."""
    before = getattr(_state, "record", None)
    _state.record = Record()
    try:
        yield
    finally:
        _state.record = before


def zero_tensor(shape: tuple[int, ...], dtype: Any) -> Any | None:
    """An eager tensor of zeros that owns no physical memory; `None` where that cannot be had.

    Tensors up to `TINY_BYTES` are ordinary ones. `None`: dtypes that dlpack lacks (float8, int4, string…) beyond
    that size, and a mapping that the system refuses.
    """
    import numpy as np
    import tensorflow as tf

    dtype = tf.as_dtype(dtype)
    if dtype in (tf.string, tf.resource, tf.variant):
        return None
    count = math.prod(shape)
    with tf.init_scope(), tf.device("CPU:0"):
        if count * dtype.size <= TINY_BYTES:
            if dtype.name in _DIRECT or dtype.name in _BITCAST:
                return tf.zeros(shape, dtype)
            return tf.cast(tf.zeros(shape, tf.float32 if dtype.is_floating else tf.int8), dtype)
        carrier = dtype.name if dtype.name in _DIRECT else _BITCAST.get(dtype.name)
        if carrier is None:
            return None
        pages = _untouched_pages(count * np.dtype(carrier).itemsize)
        if pages is None:
            return None
        array = np.frombuffer(pages, dtype=carrier).reshape(shape)
        tensor = tf.experimental.dlpack.from_dlpack(array.__dlpack__())
        return tensor if carrier == dtype.name else tf.bitcast(tensor, dtype)


def _untouched_pages(nbytes: int) -> mmap.mmap | None:
    """A mapping without pages; it is unmapped when the last tensor over it is gone. `None`: refused."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return None
    try:
        return mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
    except (OSError, OverflowError, ValueError):
        return None


def making() -> Making:
    """What the `weightless()` block made so far; nothing outside of one."""
    record: Record | None = getattr(_state, "record", None)
    return record.making if record else Making()


def _create(record: Record, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
    """The variable creator, which remembers what it makes."""
    initial_value = kwargs.get("initial_value")
    variable = _made(record, next_creator, kwargs)
    record.making.add(variable, initial_value)
    return variable


def _made(record: Record, next_creator: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    """A variable without memory: keep what is tiny or not understood, give the rest pages that are never touched."""
    import tensorflow as tf

    record.made += 1
    tracing = isinstance(tf.compat.v1.get_default_graph(), tf.__internal__.FuncGraph)
    planned = _planned(kwargs)
    value = kwargs.get("initial_value")
    if tracing and tf.is_tensor(value) and tf.is_symbolic_tensor(value):
        known = tf.get_static_value(value)
        if known is None and planned is None:
            return next_creator(**kwargs)
        kwargs["initial_value"] = functools.partial(tf.zeros, *planned) if known is None and planned else known
    with tf.init_scope():
        if not tf.executing_eagerly():  # a TensorFlow 1 graph holds no values
            return next_creator(**kwargs)
        if planned is None or math.prod(planned[0]) * planned[1].size <= TINY_BYTES:
            return _as_written(tracing, next_creator, kwargs)
        shape, dtype = planned
        record.variables += 1
        record.nbytes += math.prod(shape) * dtype.size
        zeros = zero_tensor(shape, dtype)
        if zeros is None:
            _note(record, kwargs, shape, dtype)
            return _uninitialized(kwargs, shape, dtype)
        with tf.device("CPU:0"):
            return _as_written(tracing, next_creator, {**kwargs, "initial_value": zeros, "dtype": dtype})


def _as_written(tracing: bool, next_creator: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    """The variable itself. One born while a function is traced is made at once, outside the function's graph: the
    function would otherwise lift its initial value out of the graph and be traced a second time for that.
    """
    from tensorflow.python.ops.resource_variable_ops import default_variable_creator_v2

    return default_variable_creator_v2(None, **kwargs) if tracing else next_creator(**kwargs)


def _planned(kwargs: dict[str, Any]) -> tuple[tuple[int, ...], Any] | None:
    """Shape and dtype that a variable would have, without computing its initial value; `None`: not known."""
    import tensorflow as tf

    value, dtype = kwargs.get("initial_value"), kwargs.get("dtype")
    shape: Any = None
    if callable(value) and not hasattr(value, "dtype"):
        shape = _shape_in_closure(value)
        if shape is None or dtype is None:
            value = _symbolic(value)
    if shape is None:
        shape, dtype = getattr(value, "shape", None), dtype or getattr(value, "dtype", None)
    if shape is None or dtype is None:
        return None
    shape, dtype = tf.TensorShape(shape), tf.as_dtype(dtype).base_dtype
    if not shape.is_fully_defined() or dtype in (tf.string, tf.resource, tf.variant):
        return None
    return tuple(shape.as_list()), dtype


def _shape_in_closure(value: Callable[[], Any]) -> tuple[int, ...] | None:
    """The shape that both Keras' ways of passing an initialiser carry with them, for speed; else `None`."""
    if isinstance(value, functools.partial):  # tf_keras: partial(initializer, shape, dtype=...)
        shape = value.args[0] if len(value.args) == 1 else None
        return tuple(shape) if shape is not None and _is_dims(shape) else None
    for cell in getattr(value, "__closure__", None) or ():  # Keras 3: lambda: initializer(self._shape, ...)
        owner = cell.cell_contents
        if type(owner).__module__.startswith("keras.") and _is_dims(getattr(owner, "_shape", None)):
            return tuple(owner._shape)
    return None


def _is_dims(shape: Any) -> bool:
    try:
        return shape is not None and all(isinstance(d, int) for d in shape)
    except (TypeError, ValueError):
        return False


def _symbolic(initial_value: Callable[[], Any]) -> Any:
    """What an initial value's function gives in a graph of its own: its shape and dtype, nothing computed."""
    import tensorflow as tf

    try:
        with tf.__internal__.FuncGraph("initial_value").as_default():
            return initial_value()
    except Exception:  # a function that only works eagerly: the variable is then made as the user wrote it
        return None


def _uninitialized(kwargs: dict[str, Any], shape: tuple[int, ...], dtype: Any) -> Any:
    """A variable with a handle and no value: tracing works, reading it eagerly does not."""
    from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

    taken = ("trainable", "name", "constraint", "synchronization", "aggregation")
    return UninitializedVariable(shape=shape, dtype=dtype, **{k: kwargs.get(k) for k in taken})


def _note(record: Record, kwargs: dict[str, Any], shape: tuple[int, ...], dtype: Any) -> None:
    note = (
        f"A variable of {dtype.name} {list(shape)} ({kwargs.get('name') or 'unnamed'}) was left without a value, as "
        "no untouched pages could be had for it; code that reads it while the model is built fails."
    )
    record.notes.append(note)


@contextmanager
def _survive_graph_reset(tf: Any, create: Callable[..., Any], stack: ExitStack) -> Iterator[None]:
    """Keep the creator when user code calls `clear_session()`, which drops the graph that the scope belongs to."""
    v1, reset = tf.compat.v1, tf.compat.v1.reset_default_graph

    @functools.wraps(reset)
    def reset_and_resume() -> None:
        reset()
        stack.enter_context(tf.variable_creator_scope(create))

    v1.reset_default_graph = reset_and_resume
    try:
        yield
    finally:
        v1.reset_default_graph = reset


@contextmanager
def _zero_fills() -> Iterator[None]:
    """Let large eager `tf.zeros(...)` own no memory: tf_keras makes its optimizer slots from them."""
    import tensorflow as tf
    from tensorflow.python.ops import array_ops

    fill = array_ops.fill

    @functools.wraps(fill)
    def fill_untouched(dims: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        if tf.executing_eagerly() and tf.is_tensor(value) and value.shape.rank == 0 and value.dtype.name in _DIRECT:
            shape = tuple(int(d) for d in dims)
            if math.prod(shape) * value.dtype.size >= _BIG_ZEROS_BYTES and not value.numpy():
                zeros = zero_tensor(shape, value.dtype)
                if zeros is not None:
                    return zeros
        return fill(dims, value, *args, **kwargs)

    array_ops.fill = fill_untouched
    try:
        yield
    finally:
        array_ops.fill = fill
