"""What each way of loading a saved model costs: at its peak and afterwards.

The sizes of variables and of what is read are exact. What TensorFlow and Keras themselves keep for each variable, layer
and graph node is not in the file; the figures below are averages measured with TensorFlow 2.21 and Keras 3.15 on Linux:
four to eight convolutional, recurrent, dense and transformer models, whose own averages differ by some 10 %, save the
figures of checkpoints and the copies that reading takes, which are of ResNet50.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from graphmem.answers.load.contents import Contents, Stored

VARIABLE_OBJECTS = 47_000
"""Bytes a variable: its objects, and the kernel that TensorFlow keeps for its handle (40 kB, also once it is gone)."""

PLAIN_VARIABLE_OBJECTS = 7_000
"""Bytes a variable that has no name of its own, so that its kernel is shared."""

LAYER_OBJECTS = 40_000
"""Bytes a Keras layer."""

NODE_OBJECTS = 11_200
"""Bytes a node of a SavedModel's functions, which are built as graphs."""

READ_COPIES = 3
"""Copies of one array that live while it is read from HDF5: read, converted, and as the tensor that is assigned."""

IN_MEMORY_SHARE = 0.5
"""Keras reads the HDF5 file of a `.keras` archive into memory if the variables take less of what is free."""

FREE_WITHOUT_PSUTIL = 1 << 30
"""What Keras takes to be free if psutil is not installed (bytes)."""


@dataclass(frozen=True)
class Measured:
    """Resident memory of a process that loaded the file (bytes); peak and after are beyond what it had before.

    Attributes:
        before: with TensorFlow and Keras imported and warmed up.
        peak: at most while loading.
        after: when it was loaded, and memory that the C library kept free was given back.
        seconds: that loading took.
    """

    before: int
    peak: int
    after: int
    seconds: float


@dataclass
class Way:
    """One way of loading, predicted, and measured if asked for.

    Attributes:
        name: "compiled", "not compiled", "weights only" or "graph".
        call: the Python that does it.
        stored_bytes: what it loads of the file's variables.
        made_bytes: variables that it makes beside them: an optimizer's slots that are not in the file.
        object_bytes: what TensorFlow and Keras keep for variables, layers and nodes, estimated.
        reading_bytes: what lives only while it is read.
        at_least: whether something unknown is missing.
        says: a sentence on what its peak consists of, or what it does not do.
        names: the stored tensors that it loads.
        measured: `None` if it was not.
    """

    name: str
    call: str
    stored_bytes: int
    object_bytes: int
    reading_bytes: int
    made_bytes: int = 0
    at_least: bool = False
    says: str = ""
    names: list[str] = field(default_factory=list)
    measured: Measured | None = None

    @property
    def after_bytes(self) -> int:
        """What stays."""
        return self.stored_bytes + self.made_bytes + self.object_bytes

    @property
    def peak_bytes(self) -> int:
        """The most that lives while it loads."""
        return self.after_bytes + self.reading_bytes

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        data = {**asdict(self), "after_bytes": self.after_bytes, "peak_bytes": self.peak_bytes}
        data["tensors"] = len(data.pop("names"))
        return data


@dataclass(frozen=True)
class Machine:
    """What decides how Keras reads: the bytes that it takes to be free, and how many slots it makes by itself.

    Attributes:
        free_bytes: as psutil tells; `None`: psutil is not installed.
        slots: number and bytes of the optimizer variables that compiling makes; `None`: unknown.
    """

    free_bytes: int | None = None
    slots: tuple[int, int] | None = None


@dataclass
class _Sizes:
    """Number, bytes and the largest read together, of some stored tensors."""

    tensors: list[Stored] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.tensors)

    @property
    def names(self) -> list[str]:
        return [tensor.name for tensor in self.tensors]

    @property
    def bytes(self) -> int:
        return sum(tensor.bytes for tensor in self.tensors)

    @property
    def largest(self) -> int:
        return max((tensor.bytes for tensor in self.tensors), default=0)

    @property
    def largest_group(self) -> int:
        groups: dict[str, int] = {}
        for tensor in self.tensors:
            groups[tensor.group] = groups.get(tensor.group, 0) + tensor.bytes
        return max(groups.values(), default=0)

    @property
    def reading(self) -> int:
        """What lives while these are read: the arrays of the largest group, and the copies of the largest array."""
        return self.largest_group + (READ_COPIES - 1) * self.largest


def ways_of(contents: Contents, machine: Machine) -> list[Way]:
    """The ways in which a saved model can be loaded, the dearest first."""
    if contents.format == "savedmodel":
        return [_saved_model(contents)]
    if contents.format == "checkpoint":
        return _checkpoint(contents)
    if contents.format == "weights.h5":
        return _weights_file(contents)
    return [_compiled(contents, machine), _not_compiled(contents, machine), _weights_only(contents)]


def _compiled(contents: Contents, machine: Machine) -> Way:
    call = f"{_keras(contents)}.models.load_model(FILE)"
    plain = _not_compiled(contents, machine)
    if contents.training is None:
        plain.name, plain.call = "compiled", call
        plain.says = "It was saved without having been compiled: loading it compiles nothing. " + plain.says
        return plain
    if contents.format == "h5" and not contents.legacy:
        plain.name, plain.call = "compiled", call
        plain.says = "Keras 3 does not restore an optimizer's slots from .h5: the first training step makes new ones."
        return plain
    stored = _Sizes(contents.of())
    slots_stored = _has_slots(contents)
    count, made = (0, 0) if slots_stored else machine.slots or (0, 0)
    missing = not slots_stored and machine.slots is None
    total = stored.bytes + made
    return Way(
        "compiled", call, stored.bytes, (stored.count + count) * VARIABLE_OBJECTS + contents.layers * LAYER_OBJECTS,
        _reading(contents, stored, total, machine), made, missing, _says(contents, stored, total, machine, made),
        names=stored.names,
    )  # fmt: skip


def _has_slots(contents: Contents) -> bool:
    """Whether the file has more of the optimizer than its counters."""
    return any(tensor.shape for tensor in contents.of("optimizer"))


def _not_compiled(contents: Contents, machine: Machine) -> Way:
    kept = _Sizes(contents.of("weight", "other"))
    return Way(
        "not compiled", f"{_keras(contents)}.models.load_model(FILE, compile=False)", kept.bytes,
        kept.count * VARIABLE_OBJECTS + contents.layers * LAYER_OBJECTS,
        _reading(contents, kept, kept.bytes, machine), says=_says(contents, kept, kept.bytes, machine, 0),
        names=kept.names,
    )  # fmt: skip


def _weights_only(contents: Contents) -> Way:
    kept = _Sizes(contents.of("weight", "other"))
    says = "The model is built from its configuration or code first; each array is then read by itself."
    return Way(
        "weights only", "model.load_weights(FILE)", kept.bytes,
        kept.count * VARIABLE_OBJECTS + contents.layers * LAYER_OBJECTS, kept.reading, says=says,
        names=kept.names,
    )  # fmt: skip


def _in_memory(total: int, machine: Machine) -> bool:
    """Whether Keras 3 reads the whole HDF5 file of an archive into memory, given the bytes of the model's variables."""
    free = FREE_WITHOUT_PSUTIL if machine.free_bytes is None else machine.free_bytes
    return total < free * IN_MEMORY_SHARE


def _reading(contents: Contents, kept: _Sizes, total: int, machine: Machine) -> int:
    whole = contents.weights_member_bytes if _reads_whole(contents, total, machine) else 0
    return kept.reading + whole


def _reads_whole(contents: Contents, total: int, machine: Machine) -> bool:
    return contents.format == "keras" and not contents.legacy and _in_memory(total, machine)


def _says(contents: Contents, kept: _Sizes, total: int, machine: Machine, made: int) -> str:
    said = []
    if made:
        said.append("The file has no slots of the optimizer; compiling makes them.")
    if _reads_whole(contents, total, machine):
        said.append("Keras reads the whole weights file into memory, the optimizer's part included.")
    elif contents.format == "keras" and not contents.legacy:
        said.append(
            "Keras unpacks the weights to a temporary file, as they take over half of what it takes to be free."
        )
    elif contents.format == "h5":
        said.append("The weights of one layer are read at a time.")
    return " ".join(said)


def _weights_file(contents: Contents) -> list[Way]:
    says = "The model is not in the file: what its layers' own objects take is not counted."
    calls = {
        "compiled": "model.load_weights(FILE), model compiled",
        "weights only": "model.load_weights(FILE), model not compiled",
    }
    return _into_a_model(contents, calls, VARIABLE_OBJECTS, lambda sizes: sizes.reading, says)


def _checkpoint(contents: Contents) -> list[Way]:
    says = "All tensors are read before the first is assigned, beside the variables that they replace."
    calls = {
        "compiled": "tf.train.Checkpoint(model=model, optimizer=optimizer).restore(FILE)",
        "weights only": "tf.train.Checkpoint(model=model).restore(FILE).expect_partial()",
    }
    return _into_a_model(contents, calls, PLAIN_VARIABLE_OBJECTS, lambda sizes: sizes.bytes, says)


def _into_a_model(
    contents: Contents, calls: dict[str, str], objects: int, reading: Callable[[_Sizes], int], says: str
) -> list[Way]:
    """Ways of loading a file without a model into one: with the optimizer's state, if the file has any, and without.

    Args:
        calls: name of the way -> what is called.
        objects: bytes of Python objects per variable.
        reading: what is held while it is read (bytes).
        says: what the figures leave out.
    """
    every, kept = _Sizes(contents.of()), _Sizes(contents.of("weight", "other"))
    rows = [("compiled", every)] if every.count > kept.count else []
    return [
        Way(name, calls[name], sizes.bytes, sizes.count * objects, reading(sizes), at_least=True, says=says,
            names=sizes.names)
        for name, sizes in [*rows, ("weights only", kept)]
    ]  # fmt: skip


def _saved_model(contents: Contents) -> Way:
    every = _Sizes(contents.of())
    says = "Its functions are built as graphs, whether they are called or not; variables take over the tensors read."
    return Way(
        "graph",
        "tf.saved_model.load(FILE)",
        every.bytes,
        contents.nodes * NODE_OBJECTS,
        0,
        says=says,
        names=every.names,
    )


def _keras(contents: Contents) -> str:
    return "tf_keras" if contents.legacy else "keras"
