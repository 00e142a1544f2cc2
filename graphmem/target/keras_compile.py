"""The optimizer and loss of a Keras model: those it was compiled with, or what the user and its outputs suggest."""

from __future__ import annotations

import ast
import copy
import difflib
import inspect
import sys
from collections.abc import Iterator
from typing import Any

from graphmem.errors import TargetError
from graphmem.target.losses import activation_of, final_activation, loss_name, suitable_loss
from graphmem.target.step import Options


def is_compiled(model: Any) -> bool:
    """Whether `compile()` was called, in either Keras."""
    return bool(getattr(model, "compiled", False) or getattr(model, "_is_compiled", False))


def compile_settings(model: Any) -> dict[str, Any]:
    """The arguments that the model was compiled with, as given; empty if it was not."""
    return dict(getattr(getattr(model, "_compile_config", None), "config", None) or {})


def compile_for(model: Any, keras: Any, options: Options, outputs: Any, x: Any, notes: list[str]) -> None:
    """Compile a model that is not compiled, or that `--loss` or `--optimizer` change; nothing to do otherwise.

    Args:
        keras: the Keras that the model belongs to.
        outputs: specs of its outputs.
        x: specs of its inputs.
        notes: takes a sentence for each assumption.

    Raises:
        TargetError: an unknown loss or optimizer, or a model whose own `compile()` wants other arguments.
    """
    was = is_compiled(model)
    if was and options.loss is None and options.optimizer is None:
        return
    settings = compile_settings(model) if was else {}
    if options.optimizer is not None:
        settings["optimizer"] = _optimizer(keras, options.optimizer)
        if was:
            notes.append(f"Optimizer: {options.optimizer}, instead of the one the model was compiled with.")
    elif not was:
        settings["optimizer"] = keras.optimizers.Adam()
        notes.append("Optimizer: Adam, as the model is not compiled and no --optimizer is given.")
    if options.loss is not None:
        settings["loss"] = _loss(keras, options.loss)
        if was:
            notes.append(f"Loss: {options.loss}, instead of the one the model was compiled with.")
    elif not was:
        settings["loss"] = _inferred_loss(model, keras, outputs, x, notes)
    settings["jit_compile"] = False
    try:
        model.compile(**settings)
    except TypeError as error:
        raise TargetError(
            f"{type(model).__name__}.compile() takes arguments of its own ({error}); compile the model in its file."
        ) from error


def _optimizer(keras: Any, said: str) -> Any:
    """An optimizer from its Keras name, or from a call with literals such as `SGD(momentum=0.9)`."""
    try:
        call = ast.parse(said, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            keywords = {k.arg: ast.literal_eval(k.value) for k in call.keywords if k.arg}
            return getattr(keras.optimizers, call.func.id)(*map(ast.literal_eval, call.args), **keywords)
        return keras.optimizers.get(said)
    except (SyntaxError, ValueError, TypeError, AttributeError) as error:
        optimizers = [n for n in dir(keras.optimizers) if n[0].isupper() and n != "Optimizer"]
        raise TargetError(f"--optimizer {said!r} is no Keras optimizer{_close(said, optimizers)}") from error


def _loss(keras: Any, said: str) -> Any:
    try:
        return keras.losses.get(said)
    except (ValueError, TypeError, AttributeError) as error:
        losses = [n for n in dir(keras.losses) if n[0].islower() and "_" in n]
        raise TargetError(f"--loss {said!r} is no Keras loss{_close(said, losses)}") from error


def _close(said: str, names: list[str]) -> str:
    by_lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(said.partition("(")[0].lower(), by_lower, 3, 0.6)
    return f"; did you mean {' or '.join(by_lower[c] for c in close)}?" if close else "."


def _inferred_loss(model: Any, keras: Any, outputs: Any, x: Any, notes: list[str]) -> Any:
    """A loss for each output, by the activation that makes it; noted as the assumption it is."""
    import tensorflow as tf

    integers = any(getattr(s, "dtype", tf.float32).is_integer for s in tf.nest.flatten(x) if hasattr(s, "dtype"))
    flat = tf.nest.flatten(outputs)
    tensors = _output_tensors(model, len(flat))
    names = sorted(outputs) if isinstance(outputs, dict) else getattr(model, "output_names", None) or []
    names = names if len(names) == len(flat) else range(len(flat))
    losses = []
    for spec, tensor, output in zip(flat, tensors, names, strict=True):
        activation = final_activation(model, tensor) if tensor is not None else activation_of(_last_layer(model))
        name, logits = suitable_loss(activation, spec, integers)
        sentence = f"Loss: {name}{' from logits' if logits else ''}, which suits the output"
        notes.append(f"{sentence}{'' if len(flat) == 1 else f' {output}'}; the model is not compiled.")
        losses.append(keras.losses.SparseCategoricalCrossentropy(from_logits=True) if logits else name)
    return losses[0] if len(losses) == 1 else tf.nest.pack_sequence_as(outputs, losses)


def _output_tensors(model: Any, count: int) -> list[Any]:
    import tensorflow as tf

    structure = getattr(model, "output", None) if getattr(model, "outputs", None) else None
    tensors = tf.nest.flatten(structure) if structure is not None else []
    return tensors if len(tensors) == count else [None] * count


def _last_layer(model: Any) -> Any:
    layers = getattr(model, "layers", None) or [None]
    return layers[-1]


def find_optimizers(model: Any) -> Iterator[tuple[str, Any]]:
    """Optimizers that the model holds as attributes, with the attribute's name: `optimizer`, or a GAN's several."""
    for name, value in list(vars(model).items()):
        if is_optimizer(value):
            yield name, value


def is_optimizer(value: Any) -> bool:
    """Whether this is an optimizer of either Keras (without importing one)."""
    return any(
        base.__name__ in ("Optimizer", "OptimizerV2", "BaseOptimizer") and "optimizer" in base.__module__
        for base in type(value).__mro__
    )


def is_built(optimizer: Any) -> bool:
    """Whether the optimizer has made its variables."""
    if hasattr(optimizer, "built"):
        return bool(optimizer.built)
    return bool(getattr(optimizer, "_built", False))


def fresh_copy(optimizer: Any) -> Any:
    """The same optimizer without state; an unbuilt one whose configuration cannot be read is copied as it is."""
    try:
        return type(optimizer).from_config(optimizer.get_config())
    except Exception:  # a user's optimizer without a configuration
        twin = copy.copy(optimizer)
        for name, value in vars(optimizer).items():
            if type(value) in (list, dict, set):
                vars(twin)[name] = copy.copy(value)
        return twin


def build_optimizer(optimizer: Any, variables: list[Any]) -> None:
    """Make the optimizer's slots, as `fit` does before its first step; optimizers without `build` do it in the step."""
    build = getattr(optimizer, "build", None)
    if build is not None and not is_built(optimizer):
        build(variables)


def facts_of(model: Any, framework: str) -> dict[str, str]:
    """Optimizer, loss, precision and compiler of a model, each a short text."""
    optimizers = dict(find_optimizers(model))
    taken = inspect.signature(type(model).compile).parameters
    if len(optimizers) > 1 and not {"optimizer", "kwargs"} & set(taken):
        optimizers.pop("optimizer", None)  # Keras' default, beside those that a compile() of the user's own was given
    facts = facts_of_step(framework, [model], list(optimizers.values()))
    loss = getattr(model, "loss", None)
    if loss:
        facts["loss"] = _loss_text(loss)
    facts["jit_compile"] = str(bool(vars(model).get("_jit_compile"))).lower()
    return facts


def facts_of_step(framework: str, models: list[Any], optimizers: list[Any]) -> dict[str, str]:
    """Framework, precision and optimizers of a step, each a short text; empty for one without Keras."""
    if framework == "tf":
        return {}
    facts = {"framework": f"{framework} {sys.modules[framework].__version__}"}
    policies = [getattr(getattr(model, "dtype_policy", None), "name", None) for model in models]
    if any(policies):
        facts["dtype policy"] = ", ".join(dict.fromkeys(filter(None, policies)))
    if optimizers:
        facts["optimizer"] = ", ".join(map(optimizer_text, optimizers))
    return facts


def optimizer_text(optimizer: Any) -> str:
    """The name of an optimizer's class, with the one that it wraps."""
    inner = getattr(optimizer, "inner_optimizer", None)
    name = type(optimizer).__name__
    return f"{name}({type(inner).__name__})" if inner is not None else name


def _loss_text(loss: Any) -> str:
    if isinstance(loss, dict):
        return ", ".join(f"{key}: {_loss_text(one)}" for key, one in loss.items())
    if isinstance(loss, (list, tuple)):
        return ", ".join(_loss_text(one) for one in loss)
    return loss if isinstance(loss, str) else "none" if loss is None else loss_name(loss)
