"""Which object of a user's file is the target when the user names only the file."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from graphmem.errors import TargetError
from graphmem.target.functions import is_pair, required
from graphmem.target.keras_models import is_model
from graphmem.target.live import layers_of
from graphmem.target.step import Options

_STEPS = ("train_step", "training_step", "step")
_FACTORIES = ("build_model", "make_model", "create_model", "get_model", "build", "make", "model", "make_step")


@dataclass(frozen=True)
class Choice:
    """An object of the file, with the reason it was picked."""

    name: str
    value: Any
    why: str


def functions_with_inputs(namespace: dict[str, Any]) -> list[str]:
    """The file's own functions that need arguments, which `--input` could describe."""
    module = namespace.get("__name__", "")
    own = [name for name, value in namespace.items() if _is_own_function(value, module) and required(value)]
    return [name for name in own if not name.startswith("_")]


def choose(namespace: dict[str, Any], file: str, options: Options) -> Choice | None:
    """The one object that can be meant; `None` if there is none.

    Raises:
        TargetError: several can be meant; they are listed.
    """
    public = {name: value for name, value in namespace.items() if not name.startswith("_")}
    for pick in (_described_step, _only_model, _only_pair, _only_factory, _only_class):
        choice = pick(public, namespace.get("__name__", ""), file, options)
        if choice is not None:
            return choice
    return None


def _described_step(public: dict[str, Any], module: str, file: str, options: Options) -> Choice | None:
    """A step function whose inputs are known: of a usual name, or the only `tf.function` with a signature."""
    own = {name: value for name, value in public.items() if _is_own_function(value, module)}
    signed = [name for name, value in own.items() if getattr(value, "input_signature", None) is not None]
    said = [name for name in _STEPS if name in own and (name in signed or (options.inputs and required(own[name])))]
    if not said and len(signed) == 1 and not any(map(is_model, public.values())):
        said = signed
    return next((Choice(n, own[n], f"{n}(), whose inputs are described,") for n in said), None)


def _only_model(public: dict[str, Any], module: str, file: str, options: Options) -> Choice | None:
    models = {name: value for name, value in public.items() if is_model(value)}
    inner = {id(layer) for model in models.values() for layer in layers_of(model)}
    names = {id(value): name for name, value in models.items() if id(value) not in inner}  # the last name of each
    if "model" in models and len(names) > 1 and id(models["model"]) in names:
        return Choice("model", models["model"], f"'model' among {len(names)} models")
    if len(names) > 1:
        raise _several(file, "models", list(names.values()))
    return next((Choice(n, models[n], f"{n!r}, the only model") for n in names.values()), None)


def _only_pair(public: dict[str, Any], module: str, file: str, options: Options) -> Choice | None:
    pairs = [name for name, value in public.items() if is_pair(value)]
    if len(pairs) > 1:
        raise _several(file, "steps", pairs)
    return next((Choice(n, public[n], f"{n!r}, the only step with its arguments") for n in pairs), None)


def _only_factory(public: dict[str, Any], module: str, file: str, options: Options) -> Choice | None:
    """A function of the file that needs no argument: of a usual name, or the only one."""
    own = [name for name, value in public.items() if _is_own_function(value, module) and not required(value)]
    own = [name for name in own if name != "main"]
    usual = [name for name in (*_STEPS, *_FACTORIES) if name in own]
    if len(usual) == 1 or len(own) == 1:
        name = (usual or own)[0]
        return Choice(name, public[name], f"{name}()")
    if own:
        raise _several(file, "functions that may build a model", own)
    return None


def _only_class(public: dict[str, Any], module: str, file: str, options: Options) -> Choice | None:
    """A model class of the file that needs no argument."""
    classes = [
        name
        for name, value in public.items()
        if inspect.isclass(value) and value.__module__ == module and _is_model_class(value) and not required(value)
    ]
    if len(classes) > 1:
        raise _several(file, "model classes", classes)
    return next((Choice(n, public[n], f"{n}, the only model class") for n in classes), None)


def _is_model_class(value: type) -> bool:
    bases = {(base.__module__.partition(".")[0], base.__name__) for base in value.__mro__}
    return not bases.isdisjoint({("keras", "Model"), ("tf_keras", "Model")})


def _is_own_function(value: Any, module: str) -> bool:
    plain = getattr(value, "python_function", value)
    return inspect.isfunction(plain) and plain.__module__ == module


def _several(file: str, what: str, names: list[str]) -> TargetError:
    return TargetError(f"{file} has several {what} ({', '.join(names)}); name one, such as {file}:{names[0]}.")
