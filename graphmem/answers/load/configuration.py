"""A model's saved configuration as plain data: how many layers it has, and what in it is code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from graphmem.errors import TargetError

LIMIT_BYTES = 256 << 20
"""Far above any real configuration: a hostile file must not exhaust memory."""

_KERAS = ("keras", "tf_keras", "keras_core", "builtins")


def parse(text: Any, path: str) -> dict[str, Any]:
    """The configuration in a text or bytes.

    Raises:
        TargetError: it is too large, or no JSON object.
    """
    if len(text) > LIMIT_BYTES:
        raise TargetError(f"{path} has a configuration of more than {LIMIT_BYTES >> 20} MiB, which no model needs.")
    try:
        parsed = json.loads(text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text))
    except (ValueError, RecursionError) as error:
        raise TargetError(f"{path} has a configuration that cannot be read: it is no JSON.") from error
    if not isinstance(parsed, dict):
        raise TargetError(f"{path} has a configuration that describes no model.")
    return parsed


def layer_count(config: dict[str, Any]) -> int:
    """Layers that the configuration lists, those of nested models and wrapped layers included."""
    listed = sum(len(part["layers"]) for part in _parts(config) if isinstance(part.get("layers"), list))
    wrapped = sum(1 for part in _parts(config) for key in ("layer", "cell") if _is_object(part.get(key)))
    return listed + wrapped


def code_in(config: dict[str, Any]) -> str:
    """What loading would run or import that is not Keras's own, in words; "" for nothing."""
    own: dict[str, None] = {}
    for part in _parts(config):
        inside = part.get("config")
        function = inside.get("function") if isinstance(inside, dict) else None
        if part.get("class_name") == "__lambda__" or part.get("function_type") == "lambda":
            return "Python bytecode (a Lambda layer)"
        if part.get("class_name") == "Lambda" and isinstance(function, (list, tuple)):
            return "Python bytecode (a Lambda layer)"
        module, registered = part.get("module"), part.get("registered_name")
        if isinstance(module, str) and module.partition(".")[0] not in _KERAS and _is_object(part):
            own[str(part["class_name"])] = None
        elif isinstance(registered, str) and ">" in registered and not registered.startswith("keras"):
            own[registered.rpartition(">")[2]] = None
    return f"classes of your own ({', '.join(own)})" if own else ""


def _is_object(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("class_name"), str)


def _parts(config: Any) -> Iterator[dict[str, Any]]:
    """Every dict inside, in no recursion that a hostile file could make too deep."""
    waiting = [config]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting.extend(part.values())
        elif isinstance(part, (list, tuple)):
            waiting.extend(part)
