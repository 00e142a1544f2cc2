"""An object of the user's, a model, a step or a function that makes one, as a step."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from graphmem.errors import TargetError
from graphmem.target.step import Options, Step


def step_of_object(value: Any, options: Options, target: str, files: set[str], *, live: bool = False) -> Step:
    """The step of a model, a `(step, args)`, a factory of either, or a function with described inputs.

    Args:
        files: absolute paths of the user's files.
        live: the object is somebody's and must stay as it is.

    Raises:
        TargetError: it is something else, or several models.
        UserCodeError: a factory raised.
    """
    from graphmem.target.functions import is_pair, required, step_of_callable, step_of_pair
    from graphmem.target.keras_models import is_model, step_of_model

    if is_model(value):
        step = step_of_model(value, options, target=target, live=live)
    elif is_pair(value):
        step = step_of_pair(value[0], value[1], options, target)
    elif isinstance(value, (tuple, list)) and len(value) == 2 and is_model(value[0]) and not is_model(value[1]):
        step = _step_of_model_and_data(value[0], value[1], options, target)
    elif isinstance(value, (tuple, list, dict)):
        raise TargetError(_several_or_none(value, target))
    elif _is_factory(value) and not required(value):
        return step_of_factory(value, (), {}, options, target, files)
    elif callable(value):
        step = step_of_callable(value, options, target)
    else:
        raise TargetError(f"{target} is of type {type(value).__name__}, and neither a model nor a step.")
    step.user_files |= files
    return step


def step_of_factory(
    factory: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: Options,
    target: str,
    files: set[str],
) -> Step:
    """The step of what a factory returns, or of the `fit` that it calls.

    Raises:
        TargetError: it does not take the arguments or returns nothing that can be analysed.
        UserCodeError: it raised.
    """
    from graphmem.target.script import nothing_trains, step_of_catch
    from graphmem.target.user_code import user_errors

    try:
        inspect.signature(factory).bind(*args, **kwargs)
    except TypeError as error:
        raise TargetError(f"{target}: {error}.") from error
    except ValueError:
        pass  # no signature to check against
    made: Any = None
    with importable(files), user_errors(files), nothing_trains(options.kind, files) as catcher:
        made = factory(*args, **kwargs)
    if catcher.caught is not None:
        step = step_of_catch(catcher.caught, options, target)
    elif made is None:
        raise TargetError(f"{target} returns nothing; it is to return a model or (step, args).")
    else:
        step = step_of_object(made, options, target, files)
    step.user_files |= files
    return step


def _step_of_model_and_data(model: Any, data: Any, options: Options, target: str) -> Step:
    """A factory's `(model, data)`: the data as `fit` takes them, x or (x, y) or (x, y, sample_weight)."""
    from graphmem.target.keras_models import step_of_model

    specs = tuple(data) if isinstance(data, (tuple, list)) else (data,)
    return step_of_model(model, options, specs=specs, target=target, live=False)


def _several_or_none(values: Any, target: str) -> str:
    from graphmem.target.keras_models import is_model

    parts = list(values.values() if isinstance(values, dict) else values)
    models = [f"{v.name!r}" for v in parts if is_model(v)]
    if len(models) > 1:
        return f"{target} gives several models ({', '.join(models)}); name a target that gives one."
    return f"{target} gives a {type(values).__name__} that is no (step, args); it is to be a model or (step, args)."


def _is_factory(value: Any) -> bool:
    """A plain function or a class; a `tf.function` without parameters is a step, not a factory."""
    return inspect.isroutine(value) or inspect.isclass(value)


@contextmanager
def importable(files: set[str], *folders: str) -> Iterator[None]:
    """Let the user's code import what lies beside its files."""
    before = list(sys.path)
    sys.path[:0] = [*folders, *sorted({os.path.dirname(file) for file in files})]
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = before
