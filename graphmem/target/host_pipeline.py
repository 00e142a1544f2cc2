"""What an input pipeline holds in the host's memory while a model trains: read from how it was built, nothing is run.

Buffers are taken to be full, as they are once the pipeline has run for a while. What TensorFlow decides while it runs
(`tf.data.AUTOTUNE`) and elements without a fixed size are unknown, and said to be.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from typing import Any

from graphmem.errors import TargetError

AUTOTUNED = "AUTOTUNE: TensorFlow decides while it runs"


@dataclass(frozen=True)
class Stage:
    """One stage of a pipeline and what it holds.

    Attributes:
        name: "prefetch", "shuffle", "cache", "queue", …
        elements: how many elements it holds; `None`: not known.
        element_bytes: bytes of one of them; `None`: not known.
        why: what is not known and why, or what is special; "" if nothing is.
        bytes: what it holds; `None`: not known.
    """

    name: str
    elements: int | None
    element_bytes: int | None
    why: str = ""
    bytes: int | None = field(default=None)

    @classmethod
    def of(cls, name: str, elements: int | None, element_bytes: int | None, why: str = "") -> Stage:
        """A stage that holds some elements of the same size."""
        size = None if elements is None or element_bytes is None else elements * element_bytes
        if not why and size is None:
            why = "the size of an element is not known" if element_bytes is None else "how many is not known"
        return cls(name, elements, element_bytes, why, size)


@dataclass
class Watched:
    """What was met while a target was resolved.

    Attributes:
        where: the call and its place, "fit() in train.py line 12"; "" if no data were met.
        stages: of the pipeline that it was given.
    """

    where: str = ""
    stages: list[Stage] = field(default_factory=list)


_watched: ContextVar[Watched | None] = ContextVar("watched", default=None)


@contextmanager
def pipelines_watched() -> Iterator[Watched]:
    """Within the block the pipeline of the call at which a script is stopped is described."""
    found = Watched()
    token = _watched.set(found)
    try:
        yield found
    finally:
        _watched.reset(token)


def meet(x: Any, given: dict[str, Any], framework: str, where: str, batch_bytes: int | None) -> None:
    """Take note of the data of a call, if anybody watches.

    Args:
        x: the data: a dataset, a `PyDataset`, a generator, arrays.
        given: the arguments of the call.
        where: the call and its place.
        batch_bytes: bytes of one batch; `None`: not known.
    """
    found = _watched.get()
    if found is not None:
        found.where, found.stages = where, stages_of(x, given, framework, batch_bytes)


def summary(stages: list[Stage], source: str) -> dict[str, Any]:
    """JSON-ready: bytes that are known, whether more is held, the stages, and whose they are."""
    known = [stage.bytes for stage in stages if stage.bytes is not None]
    return {
        "bytes": sum(known) if known else None,
        "at_least": len(known) < len(stages),
        "source": source,
        "stages": [asdict(stage) for stage in stages],
    }


def said_stages(said: dict[str, int], batch_bytes: int, batch: int | None) -> list[Stage]:
    """The stages of a pipeline that the user describes.

    Args:
        said: "prefetch" and "queue" (batches), "shuffle" and "cache" (samples) -> how many.
        batch_bytes: bytes of the step's inputs.
        batch: samples in them.

    Raises:
        TargetError: samples are counted, and the batch is not known.
    """
    stages = []
    for name, count in said.items():
        if name in ("prefetch", "queue"):
            stages.append(Stage.of(name, count, batch_bytes))
        elif not batch:
            raise TargetError(f"--{name} counts samples, and the step has no batch that is known: give --batch N.")
        else:
            size = -(-batch_bytes * count // batch)
            stages.append(Stage(name, count, -(-batch_bytes // batch), "", size))
    return stages


def stages_of(x: Any, given: dict[str, Any], framework: str, batch_bytes: int | None) -> list[Stage]:
    """The stages of the data of a Keras call, the last one first."""
    import tensorflow as tf

    from graphmem.target.leaves import has_base

    if isinstance(x, tf.data.Dataset):
        return list(_of_dataset(x))
    if has_base(x, "PyDataset"):
        return [_queue(x.workers, x.use_multiprocessing, x.max_queue_size, batch_bytes)]
    generator = hasattr(x, "__next__")
    if has_base(x, "Sequence", "tf_keras") or (framework == "tf_keras" and generator):
        workers, size = int(given.get("workers") or 0), int(given.get("max_queue_size") or 0)
        return [_queue(workers, bool(given.get("use_multiprocessing")), size, batch_bytes)]
    if generator or has_base(x, "DataLoader"):
        return [Stage.of("prefetch", None, batch_bytes, AUTOTUNED)]
    arrays = [leaf for name in ("x", "y", "sample_weight") for leaf in tf.nest.flatten(given.get(name))]
    sizes = [_nbytes(leaf) for leaf in arrays if leaf is not None]
    whole = None if None in sizes else sum(size for size in sizes if size is not None)
    return [
        Stage.of("prefetch", None, batch_bytes, AUTOTUNED),
        Stage.of("arrays", 1, whole, "" if whole is not None else "an array has no size that is known"),
    ]


def _queue(workers: int, processes: bool, size: int, batch_bytes: int | None) -> Stage:
    """Batches of a Python object that makes them: in a queue that workers fill; without, in tf.data's own buffer."""
    if workers > 1 or (workers > 0 and processes):
        return Stage.of("queue", size + 1, batch_bytes)  # one more is made while the queue is full
    return Stage.of("prefetch", None, batch_bytes, AUTOTUNED)


def _nbytes(array: Any) -> int | None:
    """Bytes of an array or tensor."""
    size = getattr(array, "nbytes", None)
    if isinstance(size, int):
        return size
    shape, dtype = getattr(array, "shape", None), getattr(array, "dtype", None)
    if shape is None or dtype is None or getattr(dtype, "size", 0) in (0, None):
        return None
    count = 1
    for dim in shape:
        count *= int(dim)
    return count * int(dtype.size)


def _of_dataset(dataset: Any) -> Iterator[Stage]:
    """The stages of a dataset that hold something, from the end to its source."""
    while dataset is not None:
        name = _kind(dataset)
        made = _STAGES.get(name)
        if made is not None:
            yield from made(dataset)
        elif name == "Zip":
            import tensorflow as tf

            for part in tf.nest.flatten(dataset._datasets):
                yield from _of_dataset(part)
            return
        elif name not in _HOLD_NOTHING:
            yield Stage.of(name, None, None, "what it holds is not known to graphmem")
        if name in _SOURCES:
            return
        dataset = getattr(dataset, "_input_dataset", getattr(dataset, "_dataset", None))


def _kind(dataset: Any) -> str:
    """The class of a dataset without what all their names have: "Prefetch", "Shuffle"."""
    return type(dataset).__name__.removeprefix("_").removesuffix("V2").removesuffix("Dataset")


def element_bytes(dataset: Any) -> int | None:
    """Bytes of one element; `None` if a shape is open or an element is text."""
    import tensorflow as tf

    from graphmem.target.pipeline import dataset_specs

    total = 0
    for spec in tf.nest.flatten(dataset_specs(dataset)[0]):
        if not isinstance(spec, tf.TensorSpec) or not spec.shape.is_fully_defined() or not spec.dtype.size:
            return None
        if spec.dtype in (tf.string, tf.variant, tf.resource):
            return None
        total += spec.shape.num_elements() * spec.dtype.size
    return total


def _number(tensor: Any) -> int | None:
    """A setting of a dataset; `None` if it is only known when it runs, -1 for AUTOTUNE."""
    import tensorflow as tf

    value = tf.get_static_value(tensor) if tensor is not None else None
    return None if value is None else int(value)


def _elements(dataset: Any) -> int | None:
    """How many elements a dataset has; `None` if that is not known, or without end."""
    count = int(dataset.cardinality())
    return count if count >= 0 else None


def _prefetch(dataset: Any) -> Iterator[Stage]:
    count = _number(dataset._buffer_size)
    if count == 0:
        return
    known = count if count is not None and count > 0 else None
    yield Stage.of("prefetch", known, element_bytes(dataset), AUTOTUNED if count == -1 else "")


def _shuffle(dataset: Any) -> Iterator[Stage]:
    before = dataset._input_dataset
    count, there = _number(dataset._buffer_size), _elements(before)
    if count is not None:
        count = there if count < 0 else min(count, there) if there is not None else count
    if _kind(before) == "Cache" and any(True for _ in _cache(before)):
        yield Stage("shuffle", count, element_bytes(dataset), "the elements of the cache itself", 0)
    else:
        yield Stage.of("shuffle", count, element_bytes(dataset))


def _cache(dataset: Any) -> Iterator[Stage]:
    import tensorflow as tf

    if tf.get_static_value(dataset._filename) != b"":
        return  # in a file
    yield Stage.of("cache", _elements(dataset._input_dataset), element_bytes(dataset))


def _parallel_map(dataset: Any) -> Iterator[Stage]:
    count = _number(dataset._num_parallel_calls)
    known = count if count is not None and count > 0 else None
    yield Stage.of("parallel map", known, element_bytes(dataset), AUTOTUNED if count == -1 else "")


def _arrays(dataset: Any) -> Iterator[Stage]:
    sizes = [_nbytes(tensor) for tensor in dataset._tensors]
    whole = None if None in sizes else sum(size for size in sizes if size is not None)
    yield Stage.of("tensors", 1, whole)


def _generator(dataset: Any) -> Iterator[Stage]:
    yield Stage.of("flat_map", None, None, "what a generator or an inner dataset holds is not known")


_STAGES = {
    "Prefetch": _prefetch, "Shuffle": _shuffle, "Cache": _cache, "ParallelMap": _parallel_map, "TensorSlice": _arrays,
    "Tensor": _arrays, "FlatMap": _generator, "ParallelBatch": _parallel_map,
}  # fmt: skip
_SOURCES = {"TensorSlice", "Tensor", "FlatMap", "Range"}
_HOLD_NOTHING = {
    "Map", "Batch", "PaddedBatch", "Repeat", "Take", "Skip", "TakeWhile", "Options", "Filter", "Shard", "IgnoreErrors",
    "AssertCardinality", "DatasetV1Adapter", "Concatenate", "Model", "Unbatch", "Window", "Range", "Enumerate",
}  # fmt: skip
"""Stages that hold no more than the element on its way through, which the next stage takes over."""
