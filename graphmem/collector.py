"""Python's garbage collector, paused where it would only walk millions of live objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
    """Collections inside do not walk what exists already (TensorFlow's million objects); new garbage is collected."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
