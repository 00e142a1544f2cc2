"""From what the user names to a step that can be traced."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphmem.errors import TargetError
from graphmem.target.backend import check_backend_to_come
from graphmem.target.objects import importable, step_of_factory, step_of_object
from graphmem.target.step import Options, Step
from graphmem.target.syntax import Named, Place, did_you_mean, parse_target

_TRAINS = ("fit", "train_on_batch", "evaluate", "test_on_batch", "predict", "predict_on_batch", "function")


def resolve(target: str, options: Options) -> Step:
    """The step that a target names: see `parse_target` for its forms. Nothing trains, no variable owns memory.

    Raises:
        TargetError: the target, a file or an option is bad, several objects can be meant, or a dimension stays open.
        UserCodeError: the user's own code raised.
    """
    place = check_target(target)
    from graphmem.target.weightless import weightless

    with weightless() as record:
        record.making.begin()
        step = _RESOLVERS[place.kind](place, options, target)
    step.target = target
    step.notes += [note for note in record.notes if note not in step.notes]
    return step


def check_target(target: str) -> Place:
    """What a target names, as far as that can be told without TensorFlow.

    Raises:
        TargetError: the target has no form that is known, its file is missing, or Keras would start another backend.
    """
    place = parse_target(target)
    check_backend_to_come(place.kind in ("app", "saved") or _leaves_backend_open(place))
    return place


def _of_script(place: Place, options: Options, target: str) -> Step:
    from graphmem.target.script import run_file, step_of_catch

    path = os.path.abspath(place.where)
    if place.named is not None:
        ran = run_file(path, options.script_args, as_main=False, kind=options.kind)
        return _of_name(ran.namespace, place.named, options, target, ran.user_files, Path(path).name)
    guarded, trains = _reads_as_script(Path(path))
    for as_main in (True,) if guarded and trains else (False, True) if guarded else (False,):
        ran = run_file(path, options.script_args, as_main=as_main, kind=options.kind)
        step = None
        if ran.caught is not None:
            step = step_of_catch(ran.caught, options, target)
        else:
            step = _chosen(ran.namespace, place, options, target, ran.user_files)
        if step is not None:
            step.user_files |= ran.user_files
            return step
    from graphmem.target.choose import functions_with_inputs

    ended = f" and ended with {ran.exited}" if ran.exited else ""
    named = ", ".join(f"{place.where}:{name}" for name in functions_with_inputs(ran.namespace))
    known = f"; it defines {named}, which can be analysed with --input." if named else "."
    raise TargetError(f"{place.where} trains no model{ended}, and no model or step in it can be meant{known}")


def _chosen(namespace: dict[str, Any], place: Place, options: Options, target: str, files: set[str]) -> Step | None:
    from graphmem.target.choose import choose

    choice = choose(namespace, place.where, options)
    if choice is None:
        return None
    step = step_of_object(choice.value, options, target, files)
    step.notes.insert(0, f"Picked {choice.why} in {place.where}.")
    return step


def _of_module(place: Place, options: Options, target: str) -> Step:
    from graphmem.target.script import nothing_trains
    from graphmem.target.user_code import stdout_to_stderr, user_errors

    with importable(set(), os.getcwd()):
        with user_errors({os.path.abspath("x")}):
            try:
                spec = importlib.util.find_spec(place.where)
            except ModuleNotFoundError:
                spec = None
        if spec is None:
            raise TargetError(f"There is no module {place.where!r} here; write FILE.py:NAME or PACKAGE.MODULE:NAME.")
        files = {os.path.abspath(spec.origin)} if spec.origin and os.path.exists(spec.origin) else set()
        live = place.where in sys.modules
        with stdout_to_stderr(), user_errors(files), nothing_trains(options.kind, files):
            module = importlib.import_module(place.where)
        assert place.named is not None
        return _of_name(vars(module), place.named, options, target, files, place.where, live=live)


def _of_name(
    namespace: dict[str, Any],
    named: Named,
    options: Options,
    target: str,
    files: set[str],
    where: str,
    *,
    live: bool = False,
) -> Step:
    """The step of one name of a file or module."""
    value = _look_up(namespace, named.name, where)
    if named.called:
        if not callable(value):
            raise TargetError(f"{named.name!r} in {where} is of type {type(value).__name__} and cannot be called.")
        return step_of_factory(value, named.args, named.kwargs, options, target, files)
    return step_of_object(value, options, target, files, live=live)


def _look_up(namespace: dict[str, Any], name: str, where: str) -> Any:
    first, *rest = name.split(".")
    if first not in namespace:
        known = [n for n in namespace if not n.startswith("__")]
        raise TargetError(f"There is no {first!r} in {where}{did_you_mean(first, known)}")
    value = namespace[first]
    for attribute in rest:
        if not hasattr(value, attribute):
            raise TargetError(f"{first!r} in {where} has no {attribute!r}{did_you_mean(attribute, dir(value))}")
        value = getattr(value, attribute)
    return value


def _of_app(place: Place, options: Options, target: str) -> Step:
    import tensorflow as tf

    from graphmem.target.keras_models import step_of_model

    named = place.named
    assert named is not None
    applications = tf.keras.applications
    known = [n for n in dir(applications) if n[0].isupper() and callable(getattr(applications, n))]
    if named.name not in known:
        raise TargetError(f"Keras has no application {named.name!r}{did_you_mean(named.name, known)}")
    kwargs = {"weights": None, **named.kwargs}
    notes = []
    if kwargs["weights"] is not None:
        kwargs["weights"] = None
        notes.append("The application is built without its pretrained weights, which cost the same memory.")
    try:
        model = getattr(applications, named.name)(*named.args, **kwargs)
    except (TypeError, ValueError) as error:
        said = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise TargetError(f"{target}: {said.rstrip('.')}.") from error
    step = step_of_model(model, options, target=target, live=False)
    step.notes[:0] = notes
    return step


def _of_saved(place: Place, options: Options, target: str) -> Step:
    from graphmem.target.keras_models import step_of_model
    from graphmem.target.saved_models import load_configuration

    return step_of_model(load_configuration(place.where), options, target=target, live=False)


def _of_folder(place: Place, options: Options, target: str) -> Step:
    from graphmem.target.saved_models import step_of_saved_model

    return step_of_saved_model(place.where, options, target)


_RESOLVERS: dict[str, Callable[[Place, Options, str], Step]] = {
    "script": _of_script,
    "module": _of_module,
    "app": _of_app,
    "saved": _of_saved,
    "folder": _of_folder,
}


def _reads_as_script(path: Path) -> tuple[bool, bool]:
    """Whether a file has code for `python FILE` only, and whether it may train: both read from its syntax."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False, False  # running it tells what is wrong with it
    guarded = any(isinstance(node, ast.If) and "__name__" in ast.dump(node.test) for node in tree.body)
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return guarded, not names.isdisjoint(_TRAINS)


def _leaves_backend_open(place: Place) -> bool:
    """Whether a script says nothing of Keras' backend, so that the environment's goes."""
    if place.kind != "script":
        return False
    try:
        source = Path(place.where).read_bytes()
    except OSError:
        return False
    return b"keras" in source and b"KERAS_BACKEND" not in source
