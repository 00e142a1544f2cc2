"""The tensors of an HDF5 file that Keras wrote: names, shapes and sizes, read without their values."""

from __future__ import annotations

from typing import Any

from graphmem.answers.load.contents import Stored

_OTHER = ("metrics", "compile_metrics", "loss_tracker", "seed_generator", "random_seed")
"""Parts of a path (less underscores at its beginning) that hold neither weights nor optimizer state."""


def stored_tensors(file: Any, *, by_layer: bool = False) -> list[Stored]:
    """All datasets of an open `h5py.File`, in the order of their names.

    Args:
        by_layer: whether it is in the legacy layout, in which the weights of a layer are read together.
    """
    import h5py

    found: list[Stored] = []

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.shape is not None:
            dtype = _dtype(item)
            size = item.size * (2 if dtype == "bfloat16" else item.dtype.itemsize)
            group = _layer(name) if by_layer else name
            found.append(Stored(name, kind_of(name), dtype, item.shape, size, item.id.get_storage_size(), group))

    file.visititems(visit)
    return found


def kind_of(name: str) -> str:
    """The kind that a path in a weights file says.

    >>> kind_of("layers/dense/vars/0"), kind_of("optimizer/vars/3"), kind_of("layers/dropout/seed_generator/vars/0")
    ('weight', 'optimizer', 'other')
    """
    parts = [part.lstrip("_") for part in name.split("/")]
    if parts[0].endswith("optimizer") or parts[0] == "optimizer_weights":
        return "optimizer"
    if any(part.startswith(_OTHER) for part in parts[:-1]) or parts[-1].startswith("seed_generator_state"):
        return "other"
    return "weight"


def _layer(name: str) -> str:
    parts = name.split("/")
    return "/".join(parts[:2] if parts[0] in ("model_weights", "optimizer_weights") else parts[:1])


def _dtype(item: Any) -> str:
    said = item.attrs.get("dtype")
    if said is not None:
        return said.decode() if isinstance(said, bytes) else str(said)
    return "string" if item.dtype.kind in "OSU" else str(item.dtype.name)
