"""`load_cost`: what a saved model holds, what loading it costs in each way, and, if asked for, what it cost here."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from graphmem.answers.load.contents import Contents
from graphmem.answers.load.keras_files import read_h5, read_keras
from graphmem.answers.load.tensorflow_files import checkpoint_prefix, read_checkpoint, read_saved_model
from graphmem.answers.load.ways import Machine, Measured, Way, ways_of
from graphmem.errors import TargetError

SMALL_BYTES = 5_000_000
"""A difference up to this is not one of the model: Python's own bookkeeping varies by as much."""


@dataclass
class LoadCost:
    """The answer of `graphmem load`.

    Attributes:
        contents: what is inside.
        ways: of loading it, the dearest first.
        tolerance: relative error of a measured way's after-load figure up to which it agrees.
        notes: what the figures leave out or assume.
    """

    contents: Contents
    ways: list[Way]
    tolerance: float = 0.1
    notes: list[str] = field(default_factory=list)

    def agrees(self, way: Way) -> bool | None:
        """Whether the prediction of what stays after loading agrees with the measurement; `None` without one."""
        if way.measured is None:
            return None
        difference = abs(way.after_bytes - way.measured.after)
        return difference <= max(self.tolerance * way.measured.after, SMALL_BYTES)

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready data, schema 1 (see `docs/load.md`)."""
        return {
            "schema": 1,
            "contents": self.contents.to_dict(),
            "ways": [{**way.to_dict(), "agrees": self.agrees(way)} for way in self.ways],
            "tolerance": self.tolerance,
            "notes": self.notes,
        }


def load_cost(
    path: str | os.PathLike[str],
    *,
    verify: bool = False,
    unsafe: bool = False,
    as_is: bool = False,
    timeout: float = 600,
    tolerance: float = 0.1,
    progress: Callable[[str], None] = lambda text: None,
) -> LoadCost:
    """What loading a saved model costs in host memory. Nothing of the file is run unless `unsafe` says so.

    Args:
        path: a `.keras`, `.h5` or `.weights.h5` file, a SavedModel folder, or a checkpoint (prefix, index, folder).
        verify: whether to load it in each way, in processes of their own, and measure their resident memory.
        unsafe: with `verify`: whether code in the file, or named by it, may run.
        as_is: with `verify`: whether free memory that the C library keeps counts as well.
        timeout: seconds that each measured process may take.
        tolerance: relative error up to which prediction and measurement agree.
        progress: told what goes on.

    Raises:
        TargetError: the file cannot be read, is of another kind, or holds code and `unsafe` is not given.
        CheckFailed: a measured process was killed, crashed or ran out of time.
    """
    from graphmem.measure.machine import free_bytes

    progress("reading")
    contents = read(os.fspath(path))
    notes = list(contents.notes)
    if contents.legacy and contents.format in ("keras", "h5"):
        notes.append("Keras 2 keeps more buffers than are known while it reads: its peak is a lower bound.")
    machine = Machine(free_bytes() if importlib.util.find_spec("psutil") else None, _slots(contents, notes, progress))
    cost = LoadCost(contents, ways_of(contents, machine), tolerance, notes)
    if verify:
        if contents.code and not unsafe:
            raise TargetError(
                f"{contents.path} holds {contents.code}, which loading would run; pass --unsafe to measure it all "
                "the same, if you trust the file."
            )
        _measure(cost, unsafe, as_is, timeout, progress)
    return cost


def read(path: str) -> Contents:
    """The contents of a saved model, whatever its format.

    Raises:
        TargetError: it is missing, damaged, or no saved model.
    """
    lower = path.lower().rstrip("/")
    prefix = checkpoint_prefix(path)
    if os.path.isdir(path):
        if os.path.exists(os.path.join(path, "saved_model.pb")):
            return read_saved_model(path)
        if prefix is None:
            raise TargetError(f"{path} is no SavedModel and holds no checkpoint: no saved_model.pb, no .index file.")
        return read_checkpoint(prefix)
    if prefix is not None:
        return read_checkpoint(prefix)
    if not os.path.exists(path):
        raise TargetError(f"{path} does not exist; name a saved model, a weights file or a checkpoint's prefix.")
    if lower.endswith(".keras"):
        return read_keras(path)
    if lower.endswith((".h5", ".hdf5")):
        return read_h5(path)
    raise TargetError(
        f"{path} is no saved model by its name: .keras, .h5, .weights.h5, a SavedModel folder, or a checkpoint."
    )


def _slots(contents: Contents, notes: list[str], progress: Callable[[str], None]) -> tuple[int, int] | None:
    """The slots that compiling makes where the file has none, by building the model without memory for it."""
    stored = any(tensor.shape for tensor in contents.of("optimizer"))
    if contents.format != "keras" or contents.training is None or stored:
        return None
    if not contents.code:
        from graphmem.trace import environment

        environment.prepare()
        progress("building")
        from graphmem.target.stored_slots import slots_of

        try:
            count, size = slots_of(contents.path)
            kept = contents.of("optimizer")
            return max(0, count - len(kept)), max(0, size - sum(tensor.bytes for tensor in kept))
        except TargetError as error:
            notes.append(f"The slots that compiling makes are not counted: {error}")
            return None
    notes.append(f"The slots that compiling makes are not counted: the model needs {contents.code}.")
    return None


def _measure(cost: LoadCost, unsafe: bool, as_is: bool, timeout: float, progress: Callable[[str], None]) -> None:
    from graphmem.measure.loading import measure_loading

    contents = cost.contents
    for way in cost.ways:
        progress(f"loading ({way.name})")
        done = measure_loading(
            contents.path, contents.format, way.name, way.names, legacy=contents.legacy, unsafe=unsafe, as_is=as_is,
            timeout=timeout,
        )  # fmt: skip
        way.measured = Measured(**done)
