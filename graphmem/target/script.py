"""Run a user's file so that nothing of it trains, and make a step of the call that it was stopped at."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import importlib
import inspect
import os
import sys
import threading
import tokenize
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from types import MethodType, ModuleType
from typing import Any

import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function

from graphmem.errors import TargetError, UserCodeError
from graphmem.target import effects
from graphmem.target.catch import Catcher
from graphmem.target.caught import Caught, Stop, backend_error, other_backend
from graphmem.target.data import Described, parts, with_batch
from graphmem.target.jit import jit_of_function
from graphmem.target.keras_compile import facts_of_step
from graphmem.target.patching import Patches
from graphmem.target.pipeline import leading
from graphmem.target.step import Options, Step
from graphmem.target.user_code import exit_place, is_users, stdout_to_stderr, user_errors


@dataclass
class Ran:
    """What a user's file left behind.

    Attributes:
        namespace: its global names.
        caught: the call it was stopped at; `None` if it ran to its end.
        user_files: absolute paths of the file and of the modules beside it that it imported.
        exited: "sys.exit(0) at line 9" if it ended itself so, else "".
    """

    namespace: dict[str, Any]
    caught: Caught | None = None
    user_files: set[str] = field(default_factory=set)
    exited: str = ""


def run_file(path: str, argv: Sequence[str] = (), *, as_main: bool, kind: str | None = None) -> Ran:
    """Run a Python file up to the first call that would train, evaluate or predict.

    Args:
        path: the file.
        argv: its command-line arguments.
        as_main: whether it runs as `__main__`, so that code under `if __name__ == "__main__":` runs too.
        kind: the step that is asked for, "train", "test" or "predict"; `None`: whatever the file calls first.

    Raises:
        TargetError: the file cannot be read, or calls something else than what is asked for.
        UserCodeError: it raised, left with a code other than 0, or trains without a graph.
    """
    path = os.path.abspath(path)
    files = {path}
    source = _read(path)
    name = "__main__" if as_main else "_graphmem_target"
    module = ModuleType(name)
    module.__dict__.update(__file__=path, __builtins__=__builtins__, __cached__=None)
    ran = Ran(module.__dict__)
    backend = os.environ.get("KERAS_BACKEND")
    with _process_of_script(path, argv, module, files), user_errors(files), nothing_trains(kind, files) as catcher:
        try:
            exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
        except SystemExit as error:
            if error.code not in (None, 0) and catcher.caught is None:
                raise
            ran.exited = exit_place(error, files)
        if os.environ.get("KERAS_BACKEND") != backend and (other := other_backend()):
            raise backend_error(other)
    ran.user_files = files
    ran.caught = catcher.caught or catcher.skipped
    if ran.caught is not None:
        ran.caught.user_files |= files
    return ran


@contextlib.contextmanager
def nothing_trains(kind: str | None, files: Collection[str]) -> Iterator[Catcher]:
    """Run user code so that it stops at the call that would train; afterwards `caught` of what is yielded tells which.

    Raises:
        TargetError, UserCodeError: the code was stopped for something that cannot be analysed.
    """
    catcher = Catcher(kind, files)
    eagerly = tf.config.functions_run_eagerly()
    with Patches([*catcher.patches(), *effects.patches()]), stdout_to_stderr(), _quiet_threads():
        try:
            yield catcher
        except Stop:
            pass
        except ImportError:
            if (backend := other_backend()) and catcher.caught is None:
                raise backend_error(backend) from None
            raise
        finally:
            tf.config.run_functions_eagerly(eagerly)
    if catcher.error is not None:
        raise catcher.error


def step_of_catch(caught: Caught, options: Options, target: str) -> Step:
    """The step that the caught call would have run.

    Raises:
        TargetError: a dimension of its data is not known.
        UserCodeError: the model's own code raised.
    """
    from graphmem.target.keras_models import step_of_model

    with stdout_to_stderr(), user_errors(caught.user_files):
        if caught.function is not None:
            return _step_of_function(caught, options, target)
        assert caught.data is not None
        data = with_batch(caught.data, options.batch) if options.batch else caught.data
        if data.batch == 0:
            raise TargetError(f"{caught.where} calls {caught.name}() on no samples; give it data, or say --batch N.")
        model = caught.models[0]
        options = dataclasses.replace(options, kind=options.kind or caught.kind)
        step = step_of_model(model, options, specs=parts(data), batch=data.batch, target=target, live=False)
    step.notes[:0] = [*caught.notes, *data.notes]
    step.user_files |= caught.user_files
    return step


def _step_of_function(caught: Caught, options: Options, target: str) -> Step:
    inputs = Described((caught.args, caught.kwargs), leading((caught.args, caught.kwargs)))
    if options.batch:
        inputs = with_batch(inputs, options.batch)
    args, kwargs = inputs.data
    function, owner = caught.function, caught.owner
    if getattr(function, "input_signature", None) is not None:
        # The signature may leave dimensions open that this call's arguments tell.
        plain = inspect.unwrap(function.python_function)
        plain = plain if owner is None else MethodType(plain.__func__, owner)
        function = tf.function(plain, jit_compile=function._jit_compile)
    elif isinstance(function, polymorphic_function.Function):
        function = function._clone(None)  # traced to tell what it is, and now anew, with an eye on its layers
    facts = facts_of_step(caught.framework, caught.models, caught.optimizers)
    return Step(
        function, args, "custom", target, caught.models, caught.optimizers, caught.framework, inputs.batch,
        list(caught.notes), set(caught.user_files), facts, kwargs, jit_of_function(function), keeps=[owner],
    )  # fmt: skip


def _read(path: str) -> str:
    name = os.path.basename(path)
    try:
        with tokenize.open(path) as file:
            text = file.read()
    except SyntaxError as error:
        raise UserCodeError(f"{name} is not valid Python: {error.msg}.") from error
    except UnicodeDecodeError as error:
        raise UserCodeError(f"{name} is not valid Python: byte {error.start} is no {error.encoding} text.") from error
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror}.") from error
    if "\0" in text:
        raise UserCodeError(f"{name} is not valid Python: it contains null bytes.")
    return text


@contextlib.contextmanager
def _process_of_script(path: str, argv: Sequence[str], module: ModuleType, files: set[str]) -> Iterator[None]:
    """Make the process look as the script expects, and put everything back; adds the modules beside it to `files`."""
    folder = os.path.dirname(path)
    before, environment = dict(sys.modules), dict(os.environ)
    old_argv, old_path, directory = sys.argv, list(sys.path), os.getcwd()
    sys.argv, sys.path[:0] = [path, *argv], [folder]
    sys.modules[module.__name__] = module
    os.environ.setdefault("MPLBACKEND", "Agg")
    importlib.invalidate_caches()
    try:
        with _no_exit_handlers(files):
            yield
    finally:
        for name, imported in list(sys.modules.items()):
            file = getattr(imported, "__file__", None)
            if name not in before and isinstance(file, str) and is_users(file, files):
                files.add(os.path.abspath(file))
                del sys.modules[name]  # another script may have a module of the same name beside it
        sys.modules.pop(module.__name__, None)
        if module.__name__ in before:
            sys.modules[module.__name__] = before[module.__name__]
        sys.argv, sys.path[:] = old_argv, old_path
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(directory)


@contextlib.contextmanager
def _no_exit_handlers(files: Collection[str]) -> Iterator[None]:
    """Drop what the user's code registers to run at exit: it would run when graphmem ends."""
    original = atexit.register

    def register(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        if not is_users(sys._getframe(1).f_code.co_filename, files):
            original(function, *args, **kwargs)
        return function

    atexit.register = register  # type: ignore[assignment]
    try:
        yield
    finally:
        atexit.register = original


@contextlib.contextmanager
def _quiet_threads() -> Iterator[None]:
    """Let a thread of the user's that was stopped end without a traceback."""
    original = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        if args.exc_type is not Stop:
            original(args)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = original
