"""Python's garbage collector, paused where it would only walk millions of live objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: New objects between two collections of the young; Python's own default is 700.
_RARELY = 100_000


@contextmanager
def collection_paused() -> Iterator[None]:
    """No cyclic garbage collection inside; as before afterwards."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


@contextmanager
def existing_objects_kept() -> Iterator[None]:
    """Collections inside do not walk what exists already (TensorFlow's million objects), and are rarer.

    Building and tracing a model makes few cycles and many objects that stay; a tenth of the time went into looking.
    """
    before, on = gc.get_threshold(), gc.isenabled()
    gc.set_threshold(_RARELY, *before[1:])
    gc.freeze()
    gc.enable()
    try:
        yield
    finally:
        if not on:
            gc.disable()
        gc.unfreeze()
        gc.set_threshold(*before)
