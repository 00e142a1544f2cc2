"""Keras' dtype policy while a target is built: what a script that sets none would get by setting it first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphmem.errors import TargetError

_LEGACY = (b"tf_keras", b"TF_USE_LEGACY_KERAS")


@contextmanager
def dtype_policy(name: str, target: str) -> Iterator[None]:
    """Within the block models are built under a dtype policy, unless they set their own; "" changes nothing.

    Args:
        name: a policy of Keras, such as "mixed_float16".
        target: as the user names it: legacy Keras is told as well if its file speaks of it.

    Raises:
        TargetError: Keras has no such policy.
    """
    if not name:
        yield
        return
    kept = []
    try:
        for module in _modules(target):
            kept.append((module, module.dtype_policy() if hasattr(module, "dtype_policy") else module.global_policy()))
            try:
                _set(module, name)
            except (ValueError, TypeError) as error:
                raise TargetError(
                    f"Keras has no dtype policy {name!r}: it has float32, mixed_float16, mixed_bfloat16 and the like."
                ) from error
        yield
    finally:
        for module, policy in kept:
            _set(module, policy)


def _modules(target: str) -> list[Any]:
    """The modules of both Kerases that set the policy, as far as the target may use them."""
    import keras

    found: list[Any] = [keras.config]
    path = Path(target.partition(".py:")[0] + ".py") if ".py:" in target else Path(target)
    told = path.read_bytes() if path.is_file() and path.suffix == ".py" else b""
    if os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True") or any(mark in told for mark in _LEGACY):
        import tf_keras

        found.append(tf_keras.mixed_precision)
    return found


def _set(module: Any, policy: Any) -> None:
    setter = module.set_dtype_policy if hasattr(module, "set_dtype_policy") else module.set_global_policy
    setter(policy)
