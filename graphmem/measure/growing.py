"""Run a script for real in a process of its own, and count what TensorFlow and Keras hold after each model."""

from __future__ import annotations

import functools
import gc
import importlib
import importlib.util
import inspect
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from typing import Any

from graphmem.errors import UserCodeError
from graphmem.measure.children import answer, ask

_TRAINERS = (
    ("keras.src.backend.tensorflow.trainer", "TensorFlowTrainer"),
    ("tf_keras.src.engine.training", "Model"),
    ("tf_keras.src.engine.training_v1", "Model"),
)
"""Where `fit` is defined: Keras 3, legacy Keras, and legacy Keras in TensorFlow 1's graph mode."""

_MODELS = (("keras", "Model"), ("tf_keras", "Model"))


def run_script(path: str, argv: Sequence[str], *, epochs: int | None, steps: int | None, timeout: float) -> Any:
    """Run a script in a new process.

    Args:
        path: the file.
        argv: its arguments.
        epochs, steps: how many epochs, and steps of an epoch, each `fit` runs at most; `None`: all.
        timeout: seconds that it may take.

    Returns:
        Rows of counts: "fits", one after each call of `fit`; "models", one per model built before the first of these.

    Raises:
        CheckFailed: the process was killed, crashed or ran out of time.
        UserCodeError: the script raised.
    """
    request = {"path": os.path.abspath(path), "argv": list(argv), "epochs": epochs, "steps": steps}
    settings = {
        "TF_ENABLE_ONEDNN_OPTS": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "0"),
        "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "3"),
        "CUDA_VISIBLE_DEVICES": "-1",
        "MPLBACKEND": os.environ.get("MPLBACKEND", "Agg"),
        "TMPDIR": os.environ.get("TMPDIR", ""),
    }
    return ask(__name__, request, "runs the script", timeout, {key: value for key, value in settings.items() if value})


def main(folder: str, parent: int) -> None:
    """In the child: run the script and leave the rows."""
    answer(folder, parent, _ran)


def _ran(request: dict[str, Any]) -> dict[str, Any]:
    from graphmem.target.user_code import user_errors

    path = request["path"]
    rows = Rows(request["epochs"], request["steps"])
    rows.watch()
    namespace: dict[str, Any] = {}
    sys.argv = [path, *request["argv"]]
    sys.path.insert(0, os.path.dirname(path))
    with user_errors({path}):
        try:
            namespace = runpy.run_path(path, run_name="__main__")
        except SystemExit as left:
            if left.code not in (None, 0):
                raise
        except SyntaxError as error:
            if error.filename == path:
                raise UserCodeError(f"{os.path.basename(path)} is not valid Python: {error.msg}.") from error
            raise
    rows.finish()
    namespace.clear()  # not before: what the script still holds at its end counts
    return {"fits": rows.fits, "models": rows.models, "limited": rows.limited}


class Rows:
    """Counts taken while a script runs.

    Attributes:
        fits: a row after each outermost call of `fit`.
        models: a row per model, taken when the next one is begun or the script ends; none once `fit` was called.
        limited: calls of `fit` that ran fewer epochs or steps than they asked for.
    """

    def __init__(self, epochs: int | None, steps: int | None) -> None:
        self.fits: list[dict[str, Any]] = []
        self.models: list[dict[str, Any]] = []
        self.limited = 0
        self._epochs, self._steps = epochs, steps
        self._begun, self._depth = "", 0

    def watch(self) -> None:
        """Have every `fit` and every new model of either Keras counted."""
        present = [name for name in ("keras", "tf_keras") if importlib.util.find_spec(name)]
        for module, name in _TRAINERS:
            if module.partition(".")[0] in present:
                owner = getattr(importlib.import_module(module), name)
                owner.fit = self._counting_fit(owner.fit)
        for module, name in _MODELS:
            if module in present:
                owner = getattr(importlib.import_module(module), name)
                owner.__init__ = self._counting_init(owner.__init__)

    def finish(self) -> None:
        """The script has ended: the last model has its row as well."""
        if self._begun and not self.fits:
            self.models.append(counts(self._begun))

    def _counting_fit(self, fit: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fit)
        def counted(model: Any, *args: Any, **kwargs: Any) -> Any:
            bound = inspect.signature(fit).bind(model, *args, **kwargs)
            if not self._depth and self._cut(bound.arguments):
                self.limited += 1
            self._depth += 1
            try:
                return fit(*bound.args, **bound.kwargs)
            finally:
                self._depth -= 1
                if not self._depth:
                    del bound, args, kwargs
                    self.fits.append(counts(str(model.name)))

        return counted

    def _cut(self, said: dict[str, Any]) -> bool:
        """Lower the epochs and steps of a call to what is allowed; whether that changed anything."""
        changed = False
        first = said.get("initial_epoch") or 0
        if self._epochs is not None and said.get("epochs", 1) - first > self._epochs:
            said["epochs"], changed = first + self._epochs, True
        if self._steps is not None and (said.get("steps_per_epoch") or self._steps + 1) > self._steps:
            said["steps_per_epoch"], changed = self._steps, True
        return changed

    def _counting_init(self, init: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(init)
        def counted(model: Any, *args: Any, **kwargs: Any) -> None:
            if not self.fits and not self._depth and not _inside_a_model(model):
                if self._begun:
                    self.models.append(counts(self._begun))
                self._begun = type(model).__name__
            init(model, *args, **kwargs)

        return counted


def _inside_a_model(model: Any) -> bool:
    """Whether a method of another Keras model is making this one, as a Sequential does."""
    frame = sys._getframe(2)
    while frame is not None:
        other = frame.f_locals.get("self")
        if other is not None and other is not model and issubclass(type(other), _model_classes()):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _model_classes() -> tuple[type, ...]:
    present = [sys.modules[name] for name in ("keras", "tf_keras") if name in sys.modules]
    return tuple(module.Model for module in present if hasattr(module, "Model"))


def counts(label: str) -> dict[str, Any]:
    """What TensorFlow and Keras hold now, garbage collected.

    Returns:
        label: as given; graph_nodes: nodes of the default graph; func_graphs, func_graph_nodes: live `FuncGraph`s and
        their nodes; functions: of the eager runtime's library; variables, variable_bytes: live variables; models: live
        Keras models; resident_bytes: of the process.
    """
    from tensorflow.python.eager import context
    from tensorflow.python.framework import func_graph, ops
    from tensorflow.python.ops import variables as tf_variables

    gc.collect()
    models = _model_classes()
    found: dict[str, list[Any]] = {"graphs": [], "variables": [], "models": []}
    for thing in gc.get_objects():
        kind = type(thing)  # not isinstance, which asks proxies for their class
        if issubclass(kind, func_graph.FuncGraph):
            found["graphs"].append(thing)
        elif issubclass(kind, tf_variables.Variable):
            found["variables"].append(thing)
        elif issubclass(kind, models):
            found["models"].append(thing)
    graph = ops._default_graph_stack._global_default_graph
    eager = context.context()
    return {
        "label": label,
        "graph_nodes": len(graph.get_operations()) if graph is not None else 0,
        "func_graphs": len(found["graphs"]),
        "func_graph_nodes": sum(len(one.get_operations()) for one in found["graphs"]),
        "functions": len(eager.list_function_names()) if eager._context_handle is not None else 0,
        "variables": len(found["variables"]),
        "variable_bytes": sum(map(_nbytes, found["variables"])),
        "models": len(found["models"]),
        "resident_bytes": _resident(),
    }


def _nbytes(variable: Any) -> int:
    from graphmem.graph.model import tensor_bytes

    shape = variable.shape
    return (tensor_bytes(variable.dtype.base_dtype.name, tuple(shape)) or 0) if shape.rank is not None else 0


def _resident() -> int:
    """Bytes, 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
