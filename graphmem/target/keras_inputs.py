"""What a Keras model reads and what it gives: specs of its inputs and outputs with every dimension known."""

from __future__ import annotations

import inspect
import re
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphmem.errors import GraphmemError, TargetError
from graphmem.target.specs import InputSpec, Shape, close_spec, parse_inputs, safe_name, spec_of
from graphmem.target.step import Options
from graphmem.target.user_code import user_errors

_GIVEN_BY_KERAS = re.compile(r"(keras_tensor|input|input_layer)(_?\d+)?")  # names of inputs that the user has not named

LABEL_NAMES = ("y", "label", "labels", "target", "targets", "sample_weight")
"""Names that `--input` may use for what a train or test step reads besides the model's inputs."""


def model_inputs(model: Any, options: Options, batch: int | None, notes: list[str]) -> Any:
    """Specs of the model's inputs, in its own structure, from the model, `--input`, `--set` and `--batch`.

    Raises:
        TargetError: a dimension stays open, `--input` names no input or contradicts one, or the model has never been
            built and nothing says what it reads.
    """
    import tensorflow as tf

    given = {n: s for n, s in parse_inputs(options.inputs).items() if n not in label_names(model)}
    declared = declared_inputs(model, notes)
    if declared is None:
        return _close_all(_undeclared(model, given), batch, options)
    paths = _leaf_names(declared)
    leaves = dict(zip(paths, tf.nest.flatten(declared), strict=True))
    if len(leaves) == 1 and len(given) == 1:
        given = dict(zip(leaves, given.values(), strict=True))
    for name, spec in given.items():
        if name not in leaves:
            raise TargetError(f"The model has no input {name!r}; its inputs are {', '.join(map(repr, leaves))}.")
        leaves[name] = _merge(name, leaves[name], spec)
    closed = [close_spec(spec, name, batch, options.dims) for name, spec in leaves.items()]
    check_batch(dict(zip(paths, closed, strict=True)), options)
    return tf.nest.pack_sequence_as(declared, closed)


def replaced(x: Any, model: Any, options: Options) -> Any:
    """Specs of data that are known, with those that `--input` describes otherwise.

    Raises:
        TargetError: `--input` names none of them.
    """
    import tensorflow as tf

    given = {n: s for n, s in parse_inputs(options.inputs).items() if n not in label_names(model)}
    if not given:
        return x
    leaves = dict(zip(_leaf_names(x), tf.nest.flatten(x), strict=True))
    for name, spec in given.items():
        if name not in leaves:
            raise TargetError(f"The data have no input {name!r}; they have {', '.join(map(repr, leaves))}.")
        open_spec = tf.TensorSpec(spec.shape, spec.dtype, name=safe_name(name))
        leaves[name] = close_spec(open_spec, name, options.batch, options.dims)
    return tf.nest.pack_sequence_as(x, list(leaves.values()))


def declared_inputs(model: Any, notes: list[str]) -> Any | None:
    """Specs of what the model itself says that it reads, with open dimensions; `None`: it does not say."""
    import tensorflow as tf

    tensors = getattr(model, "inputs", None)
    if tensors:
        structure = getattr(model, "input", tensors) if _is_functional(model) else tensors
        if isinstance(structure, (list, tuple)) and len(structure) == 1 and not _is_functional(model):
            structure = structure[0]
        return tf.nest.map_structure(_keras_spec, structure)
    seen = getattr(model, "_saved_model_inputs_spec", None)  # kept by Keras at the first call
    if seen is not None:
        return tf.nest.map_structure(_open_batch, seen)
    build = getattr(model, "get_build_config", None)
    shape = ((build() if build else None) or {}).get("input_shape")
    if isinstance(shape, (list, tuple)) and shape and all(d is None or isinstance(d, int) for d in shape):
        dtype = getattr(model, "compute_dtype", None) or "float32"
        notes.append(f"The model was built for inputs of shape {tuple(shape)}; they are taken to be {dtype}.")
        return _open_batch(tf.TensorSpec(shape, dtype, name="x"))
    return None


def label_names(model: Any) -> set[str]:
    """The names by which `--input` describes labels and sample weights."""
    outputs = getattr(model, "output_names", None) or []
    inputs = set(getattr(model, "input_names", None) or [])
    return ({*LABEL_NAMES} | {f"y_{name}" for name in outputs} | {*outputs}) - inputs


def model_outputs(model: Any, x: Any, files: set[str]) -> Any:
    """Specs of the model's outputs for these inputs, in its own structure; builds a model that was not built.

    Raises:
        TargetError: the model does not take such inputs.
        UserCodeError: the user's own layers raised.
    """
    import tensorflow as tf

    known = _known_outputs(model, x)
    if known is not None:
        return known
    with model_errors(model, files):
        outputs = model(tf.nest.map_structure(lambda spec: symbolic(model, spec), x))
    return tf.nest.map_structure(_keras_spec, outputs)


@contextmanager
def model_errors(model: Any, files: set[str]) -> Iterator[None]:
    """Say in one sentence why a model does not take its inputs: the user's lines if there are any."""
    try:
        with user_errors(files | source_files(model)):
            yield
    except GraphmemError:
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines()]
        told = (line for line in lines if line and not line.startswith("Exception encountered"))
        said = next(told, type(error).__name__).rstrip(".")
        raise TargetError(f"The model {model.name!r} does not take these inputs: {said}.") from error


def source_files(*objects: Any) -> set[str]:
    """Files of the user's own that define these objects' classes or functions."""
    libraries = tuple(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib"))
    found = set()
    for thing in objects:
        thing = getattr(thing, "python_function", thing)
        definition = thing if inspect.isroutine(thing) or inspect.isclass(thing) else type(thing)
        path = _file_of(definition)
        if path and not path.startswith(libraries):
            found.add(path)
    return found


def _file_of(definition: Any) -> str | None:
    """The file of a function, or of a class' methods: the class of a script knows only `__main__`, which is another
    file once the script has run.
    """
    if inspect.isclass(definition):
        methods = (inspect.unwrap(method) for method in vars(definition).values() if inspect.isfunction(method))
        files = (method.__code__.co_filename for method in methods if inspect.isfunction(method))
        return next((file for file in files if not file.startswith("<")), None)
    try:
        return inspect.getsourcefile(inspect.unwrap(definition))
    except (TypeError, ValueError):
        return None


def symbolic(model: Any, spec: Any) -> Any:
    """A symbolic tensor of the model's own Keras for a spec."""
    import tensorflow as tf

    if not isinstance(spec, tf.TypeSpec):
        return spec
    if any(base.__module__.startswith("tf_keras") for base in type(model).__mro__):
        import tf_keras

        if not isinstance(spec, tf.TensorSpec):
            return tf_keras.Input(type_spec=spec)
        return tf_keras.Input(batch_shape=spec.shape, dtype=spec.dtype, name=None)
    import keras

    return keras.KerasTensor(spec.shape, spec.dtype.name, sparse=isinstance(spec, tf.SparseTensorSpec))


def _is_functional(model: Any) -> bool:
    return any(base.__name__ == "Functional" for base in type(model).__mro__) and type(model).__name__ != "Sequential"


def _keras_spec(tensor: Any) -> Any:
    import tensorflow as tf

    spec = getattr(tensor, "type_spec", None)
    if spec is not None and not isinstance(spec, tf.TensorSpec):
        return spec
    name = safe_name(str(getattr(tensor, "name", "")).partition(":")[0])
    name = None if name and _GIVEN_BY_KERAS.fullmatch(name) else name
    if getattr(tensor, "sparse", False):
        return tf.SparseTensorSpec(tensor.shape, tf.as_dtype(tensor.dtype))
    return tf.TensorSpec(tensor.shape, tf.as_dtype(tensor.dtype), name=name)


def _open_batch(spec: Any) -> Any:
    """The spec with its first dimension open: what a model was once called on says nothing of the batch to come."""
    import tensorflow as tf

    if not isinstance(spec, tf.TensorSpec) or not spec.shape.rank:
        return spec
    return tf.TensorSpec([None, *spec.shape[1:]], spec.dtype, name=spec.name)


def _leaf_names(structure: Any) -> list[str]:
    """A name for each leaf: its key in a dict of inputs, else the tensor's own, else x or x0, x1…; made unique."""
    import tensorflow as tf

    flat = tf.nest.flatten(structure)
    if isinstance(structure, dict) and len(structure) == len(flat):
        return [str(key) for key in sorted(structure)]
    names: list[str] = []
    for index, leaf in enumerate(flat):
        name = getattr(leaf, "name", None)
        if not name or _GIVEN_BY_KERAS.fullmatch(name):
            name = "x" if len(flat) == 1 else f"x{index}"
        names.append(name if name not in names else f"{name}_{index}")
    return names


def _merge(name: str, declared: Any, given: InputSpec) -> Any:
    """The user's spec where it agrees with the model's."""
    import tensorflow as tf

    shape: Shape | None = tuple(declared.shape.as_list()) if declared.shape.rank is not None else None
    if shape is not None and not _agree(shape, given.shape):
        said, taken = _text(given.shape), _text(shape)
        raise TargetError(f"--input {name!r} has the shape {said}, but the model takes {taken}.")
    if (declared.dtype == tf.string) != (given.dtype == "string"):
        raise TargetError(f"--input {name!r} has the dtype {given.dtype}, but the model takes {declared.dtype.name}.")
    dims = [b if b is not None else a for a, b in zip(shape or given.shape, given.shape, strict=True)]
    return tf.TensorSpec(dims, given.dtype, name=safe_name(name))


def _agree(one: Shape, other: Shape) -> bool:
    return len(one) == len(other) and all(None in (a, b) or a == b for a, b in zip(one, other, strict=True))


def _text(shape: Shape) -> str:
    return "x".join("?" if d is None else str(d) for d in shape) or "scalar"


def check_batch(closed: dict[str, Any], options: Options) -> None:
    """Refuse a `--batch` that all the inputs' own fixed first dimensions contradict.

    Raises:
        TargetError: no input has this first dimension.
    """
    firsts = {name: spec.shape[0] for name, spec in closed.items() if getattr(spec, "shape", None)}
    if options.batch is not None and firsts and options.batch not in firsts.values():
        name, first = next(iter(firsts.items()))
        raise TargetError(f"--batch {options.batch}: input {name!r} has a batch size of {first}, which is fixed.")


def _undeclared(model: Any, given: dict[str, InputSpec]) -> Any:
    """Inputs of a model that was never built, as `--input` describes them: one, or a dict by name."""
    import tensorflow as tf

    if not given:
        raise TargetError(
            f"The model {model.name!r} has not been built and does not say what it reads; describe its input with "
            "--input x:DTYPE:SHAPE, such as x:float32:8x224x224x3."
        )
    specs = {name: tf.TensorSpec(s.shape, s.dtype, name=safe_name(name)) for name, s in given.items()}
    return next(iter(specs.values())) if len(specs) == 1 else specs


def _close_all(structure: Any, batch: int | None, options: Options) -> Any:
    import tensorflow as tf

    names = iter(_leaf_names(structure))
    return tf.nest.map_structure(lambda spec: close_spec(spec, next(names), batch, options.dims), structure)


def _known_outputs(model: Any, x: Any) -> Any | None:
    """Outputs that the model declares with nothing open but the batch; `None` if they must be computed."""
    import tensorflow as tf

    tensors = getattr(model, "outputs", None) if getattr(model, "built", False) else None
    if not tensors:
        return None
    structure = model.output if _is_functional(model) else tensors
    if isinstance(structure, (list, tuple)) and len(structure) == 1 and not _is_functional(model):
        structure = structure[0]
    declared = tf.nest.map_structure(_keras_spec, structure)

    def known(spec: Any) -> bool:
        return isinstance(spec, tf.TensorSpec) and bool(spec.shape.rank) and None not in spec.shape[1:]

    def closed(spec: Any) -> Any:
        return tf.TensorSpec([spec.shape[0] or batch_of(x), *spec.shape[1:]], spec.dtype, spec.name)

    return tf.nest.map_structure(closed, declared) if all(map(known, tf.nest.flatten(declared))) else None


def batch_of(x: Any) -> int | None:
    """Samples in a step: the first dimension of the first input that has one."""
    import tensorflow as tf

    for spec in tf.nest.flatten(x):
        shape = getattr(spec_of(spec), "shape", None)
        if shape is not None and shape.rank:
            return shape[0]
    return None
