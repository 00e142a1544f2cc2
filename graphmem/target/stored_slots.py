"""How many variables compiling a saved model makes that are not in its file: the optimizer's slots."""

from __future__ import annotations

from graphmem.graph.model import tensor_bytes


def slots_of(path: str) -> tuple[int, int]:
    """Number and bytes of the optimizer variables of the model that a `.keras` or `.h5` file describes.

    The model is built without memory for its weights, and nothing of the file is run.

    Raises:
        TargetError: the model cannot be built from its configuration alone.
    """
    from graphmem.target.process_state import process_state_kept
    from graphmem.target.saved_models import load_configuration
    from graphmem.target.weightless import weightless

    with weightless(), process_state_kept():
        model = load_configuration(path)
        optimizer = getattr(model, "optimizer", None)
        if optimizer is None:
            return 0, 0
        if not optimizer.built if hasattr(optimizer, "built") else True:
            optimizer.build(model.trainable_variables)
        variables = optimizer.variables() if callable(optimizer.variables) else optimizer.variables
        sizes = [_nbytes(variable) for variable in variables]
    return len(sizes), sum(sizes)


def _nbytes(variable: object) -> int:
    dtype, shape = getattr(variable, "dtype", "float32"), getattr(variable, "shape", ())
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", str(dtype))
    return tensor_bytes(name, tuple(shape)) or 0
