"""What is inside a saved model: its tensors by kind, and what it was compiled with."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

KINDS = ("weight", "optimizer", "other")
"""Kinds of stored tensors, in the order in which they are listed.

weight: of the model's layers; optimizer: slots and counters of the optimizer; other: metrics, seeds, save counters.
"""


@dataclass(frozen=True)
class Stored:
    """One stored tensor.

    Attributes:
        name: its path in the file.
        kind: one of `KINDS`.
        dtype: as TensorFlow names it, such as "float32".
        shape: its dimensions.
        bytes: in memory, once loaded.
        disk_bytes: in the file, compressed or not.
        group: what is read together with it: in a legacy `.h5` file the layer, else the tensor alone.
        copy_of: the tensor that this one repeats in the same file; "" if it repeats none.
    """

    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    disk_bytes: int
    group: str = ""
    copy_of: str = ""


@dataclass(frozen=True)
class Training:
    """What a model was compiled with, in words; empty where it was not said.

    Attributes:
        optimizer: the class.
        optimizer_config: its arguments.
        loss: the loss or losses.
        metrics: their names.
    """

    optimizer: str = ""
    optimizer_config: dict[str, Any] = field(default_factory=dict)
    loss: str = ""
    metrics: tuple[str, ...] = ()


@dataclass
class Contents:
    """A saved model, read without building it.

    Attributes:
        path: of the file or folder.
        format: "keras", "h5", "weights.h5", "savedmodel" or "checkpoint".
        disk_bytes: of all its files.
        keras_version: that wrote it, "" if it does not say.
        tensors: all that is stored.
        training: what the model was compiled with; `None` if it was not, or the format does not say.
        layers: how many layers the configuration has; 0 if there is none.
        weights_member_bytes: of a `.keras` archive, the size of the HDF5 file inside, uncompressed.
        functions, nodes, objects: of a SavedModel: its functions, their nodes, and its tracked objects.
        code: what in it is code that loading would run, in words; "" for nothing.
        notes: what was not read, or is remarkable.
    """

    path: str
    format: str
    disk_bytes: int
    keras_version: str = ""
    tensors: list[Stored] = field(default_factory=list)
    training: Training | None = None
    layers: int = 0
    weights_member_bytes: int = 0
    functions: int = 0
    nodes: int = 0
    objects: int = 0
    code: str = ""
    notes: list[str] = field(default_factory=list)

    def of(self, *kinds: str) -> list[Stored]:
        """The stored tensors of these kinds; all for none."""
        return [tensor for tensor in self.tensors if not kinds or tensor.kind in kinds]

    def bytes_of(self, *kinds: str) -> int:
        """Bytes in memory of the stored tensors of these kinds; of all for none."""
        return sum(tensor.bytes for tensor in self.of(*kinds))

    @property
    def legacy(self) -> bool:
        """Whether Keras 2 wrote it, which tf_keras reads."""
        return self.keras_version.startswith("2.")

    @property
    def sums(self) -> list[dict[str, Any]]:
        """Per kind and dtype: tensors, elements, bytes in memory and on disk; kinds in the order of `KINDS`."""
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for tensor in sorted(self.tensors, key=lambda one: (KINDS.index(one.kind), one.dtype)):
            new = {"kind": tensor.kind, "dtype": tensor.dtype, "tensors": 0, "bytes": 0, "disk_bytes": 0}
            row = rows.setdefault((tensor.kind, tensor.dtype), new)
            row["tensors"] += 1
            row["bytes"] += tensor.bytes
            row["disk_bytes"] += tensor.disk_bytes
        return list(rows.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        data = asdict(self)
        data["sums"] = self.sums
        data["tensors"] = [{**asdict(tensor), "shape": list(tensor.shape)} for tensor in self.tensors]
        if self.training is not None:
            data["training"]["metrics"] = list(self.training.metrics)
        return data
