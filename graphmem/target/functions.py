"""A function of the user's own as a step: with example arguments, an input signature, or `--input`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from graphmem.errors import TargetError
from graphmem.target.data import Described, with_batch
from graphmem.target.jit import jit_of_function
from graphmem.target.keras_compile import facts_of_step, find_optimizers, is_optimizer
from graphmem.target.keras_inputs import batch_of, check_batch, source_files
from graphmem.target.keras_models import framework_of
from graphmem.target.live import layers_of
from graphmem.target.specs import close_spec, parse_inputs, safe_name, spec_of
from graphmem.target.step import Options, Step


def is_pair(value: Any) -> bool:
    """Whether this is `(step, args)`: something to call and the arguments to call it with."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return False
    function, args = value
    return callable(function) and framework_of(function) is None and isinstance(args, (tuple, list, dict))


def step_of_pair(function: Callable[..., Any], args: Any, options: Options, target: str) -> Step:
    """The step of `(step, args)`; example tensors are kept as specs only.

    Raises:
        TargetError: an option that such a step has no use for, or an `--input` that names no parameter.
    """
    import tensorflow as tf

    from graphmem.target.weightless import making

    making().examples(tf.nest.flatten(args, expand_composites=True))
    named = args if isinstance(args, dict) else {}
    inputs = tf.nest.map_structure(spec_of, (() if named else tuple(args), named))
    if options.batch is not None:
        inputs = with_batch(Described(inputs, batch_of(inputs)), options.batch).data
    positional, named = list(inputs[0]), inputs[1]
    parameters = _parameters(function)
    for name, spec in _described(options).items():
        if name in named:
            named = {**named, name: spec}
        elif name in parameters[: len(positional)]:
            positional[parameters.index(name)] = spec
        else:
            raise TargetError(f"--input {name!r} names no argument of the step; they are {_listed(parameters)}.")
    closed = [_closed(a, (parameters[i : i + 1] or [f"x{i}"])[0], options) for i, a in enumerate(positional)]
    return _step(function, tuple(closed), {k: _closed(v, k, options) for k, v in named.items()}, options, target)


def step_of_callable(function: Callable[..., Any], options: Options, target: str) -> Step:
    """The step of a `tf.function` or plain callable, whose inputs its signature or `--input` describe.

    Raises:
        TargetError: an input is not described, or a dimension stays open.
    """
    parameters, needed = _parameters(function), required(function)
    given = _described(options)
    signature = getattr(function, "input_signature", None)
    if signature is not None:
        names = [*parameters, *(f"x{i}" for i in range(len(parameters), len(signature)))][: len(signature)]
        _check_against(dict(zip(names, signature, strict=True)), given)
        specs = (given.get(name, spec) for name, spec in zip(names, signature, strict=True))
        args = tuple(_closed(spec, name, options) for spec, name in zip(specs, names, strict=True))
        check_batch(dict(zip(names, args, strict=True)), options)
        return _step(*_within(function, args, signature), {}, options, target)
    if len(given) < len(needed):
        missing = [name for name in needed if name not in given] if set(given) <= set(parameters) else needed
        raise TargetError(
            f"{target} needs its input{'s' * (len(missing) > 1)} {_listed(missing)}; describe each with "
            "--input NAME:DTYPE:SHAPE, such as x:float32:8x224x224x3, or, if it builds a model, call it: "
            f"{target}({missing[0]}=…)."
        )
    closed = {name: _closed(spec, name, options) for name, spec in given.items()}
    check_batch(closed, options)
    if set(given) <= set(parameters):
        return _step(function, (), closed, options, target)
    if len(given) > len(parameters) and not _takes_any(function):
        raise TargetError(f"{target} takes {_listed(parameters) or 'no input'}; --input names {_listed(list(given))}.")
    return _step(function, tuple(closed.values()), {}, options, target)


def required(function: Callable[..., Any]) -> list[str]:
    """The names of the positional parameters that have no default; empty if there is no signature to read."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = _signature(function).parameters.values()
    return [p.name for p in parameters if p.default is inspect.Parameter.empty and p.kind in kinds]


def owners(function: Any) -> tuple[list[Any], list[Any]]:
    """The Keras models and optimizers that a function refers to, in its closure, its globals or its object.

    A model inside another one is left out.
    """
    found = {id(value): value for value in _references(function)}
    models = [v for v in found.values() if framework_of(v) is not None]
    inner = {id(layer) for model in models for layer in layers_of(model)}
    optimizers = {id(v): v for v in found.values() if is_optimizer(v)}
    optimizers |= {id(o): o for model in models for _, o in find_optimizers(model)}
    return [m for m in models if id(m) not in inner], list(optimizers.values())


def _step(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: Options, target: str
) -> Step:
    for flag, value in (("--loss", options.loss), ("--optimizer", options.optimizer)):
        if value is not None:
            raise TargetError(f"{flag} is for Keras models; {target} is a step of its own.")
    if options.kind not in (None, "train"):
        raise TargetError(f"--step {options.kind} is for Keras models; {target} is a step of its own.")
    models, optimizers = owners(function)
    framework = next((f for f in map(framework_of, models) if f), _framework_of_optimizers(optimizers))
    return Step(
        function=function,
        args=args,
        kind="custom",
        target=target,
        models=models,
        optimizers=optimizers,
        framework=framework,
        batch=batch_of((args, kwargs)),
        user_files=source_files(function),
        facts=facts_of_step(framework, models, optimizers),
        kwargs=kwargs,
        jit=jit_of_function(function),
        keeps=[function, getattr(function, "__self__", None)],
    )


def _framework_of_optimizers(optimizers: list[Any]) -> str:
    modules = {type(o).__module__.partition(".")[0] for o in optimizers}
    return next((name for name in ("keras", "tf_keras") if name in modules), "tf")


def _described(options: Options) -> dict[str, Any]:
    import tensorflow as tf

    given = parse_inputs(options.inputs)
    return {n: tf.TensorSpec(s.shape, s.dtype, name=safe_name(n)) for n, s in given.items()}


def _closed(value: Any, name: str, options: Options) -> Any:
    """Every spec in a nest with no dimension open, named after its parameter."""
    import tensorflow as tf

    return tf.nest.map_structure(lambda leaf: close_spec(leaf, name, options.batch, options.dims), value)


def _check_against(signature: dict[str, Any], given: dict[str, Any]) -> None:
    """Refuse an `--input` that the function's own signature rules out."""
    for name, spec in given.items():
        if name not in signature:
            raise TargetError(f"--input {name!r} names no input of the step; they are {_listed(list(signature))}.")
        if not signature[name].is_compatible_with(spec):
            said = f"{signature[name].dtype.name} {signature[name].shape}"
            raise TargetError(f"--input {name!r} does not fit the step's own signature, which takes {said}.")


def _within(function: Any, args: tuple[Any, ...], signature: Any) -> tuple[Any, tuple[Any, ...]]:
    """The function and arguments that fit it: free to be traced for these shapes, where its signature leaves some open.

    TensorFlow takes the specs of a signature only as they are written there, names included.
    """
    import tensorflow as tf

    same = all(a.shape == s.shape for a, s in zip(tf.nest.flatten(args), tf.nest.flatten(signature), strict=False))
    if same:
        return function, tuple(signature)
    return tf.function(function.python_function, jit_compile=getattr(function, "_jit_compile", None)), args


def _signature(function: Any) -> inspect.Signature:
    function = getattr(function, "python_function", function)
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return inspect.Signature()


def _parameters(function: Any) -> list[str]:
    fixed = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in _signature(function).parameters.values() if p.kind not in fixed]


def _takes_any(function: Any) -> bool:
    return any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in _signature(function).parameters.values())


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


def _references(function: Any) -> Iterator[Any]:
    """What a function's code can reach by name, and what is directly inside the containers and objects among it."""
    function = getattr(function, "python_function", function)
    while isinstance(function, functools.partial):
        yield from function.args
        function = function.func
    function = inspect.unwrap(function) if callable(function) else function
    owner = getattr(function, "__self__", None)
    plain = getattr(function, "__func__", function)
    values = [owner] if owner is not None else []
    for cell in getattr(plain, "__closure__", None) or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # a name that is bound later
            continue
    code, names = getattr(plain, "__code__", None), getattr(plain, "__globals__", {})
    values += [names[name] for name in (code.co_names if code else ()) if name in names]
    for value in values:
        yield value
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, (list, tuple)):
            yield from value
        elif value is owner and framework_of(value) is None:
            yield from vars(value).values() if hasattr(value, "__dict__") else ()
