"""Leave a model that somebody is working with as it was: its attributes are put back after each use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_HELPERS = ("_compile_loss", "_compile_metrics", "_loss_tracker", "compiled_loss", "compiled_metrics")


@contextmanager
def untouched(model: Any, overlay: Mapping[str, Any] | None = None, made: list[Any] | None = None) -> Iterator[None]:
    """Within the block the model may be compiled, called and traced; afterwards it is as before.

    Attributes of the model, of its layers and of what `compile()` made are restored, and the content of the lists and
    dicts that they hold. Values of variables are not: nothing here runs a step.

    Args:
        overlay: attributes of the model that hold other values within the block.
        made: is given what the objects held at the end of the block, so that variables made in it live on: functions
            refer to theirs only weakly.
    """
    objects = [model, *layers_of(model), *(getattr(model, name, None) for name in _HELPERS)]
    objects = [o for o in objects if hasattr(o, "__dict__")]
    objects += [value for owner in objects for value in vars(owner).values() if _counts(value)]
    saved = [(o, dict(vars(o)), _contents(o)) for o in objects]
    vars(model).update(overlay or {})
    try:
        yield
    finally:
        if made is not None:
            made += [(dict(vars(owner)), _contents(owner)) for owner, _, _ in saved]
        for owner, attributes, contents in saved:
            vars(owner).clear()
            vars(owner).update(attributes)
            for container, content in contents:
                _refill(container, content)


def changes(model: Any, before: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a model that are not what they were."""
    return {k: v for k, v in vars(model).items() if k not in before or before[k] is not v}


def layers_of(model: Any) -> list[Any]:
    """The layers inside a model, at every depth."""
    flatten = getattr(model, "_flatten_layers", None)
    return list(flatten(include_self=False, recursive=True)) if flatten else []


def _counts(value: Any) -> bool:
    """A generator of tf_keras, which gives each random op that is traced the next seed."""
    return type(value).__name__ == "RandomGenerator" and type(value).__module__.startswith("tf_keras.")


def _contents(owner: Any) -> list[tuple[Any, Any]]:
    """Lists, dicts and sets that the object holds, with a copy of each (proxies of TensorFlow's are left alone)."""
    found = []
    for value in vars(owner).values():
        for kind in (list, dict, set):
            if issubclass(type(value), kind):
                found.append((value, kind(value)))
    return found


def _refill(container: Any, content: Any) -> None:
    """Put the content back by the base class's methods: Keras' own lists refuse changes once a model is built."""
    if isinstance(content, list):
        list.__setitem__(container, slice(None), content)
    elif isinstance(content, dict):
        dict.clear(container)
        dict.update(container, content)
    else:
        set.clear(container)
        set.update(container, content)
