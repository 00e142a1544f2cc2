"""The step: what a target resolves to, ready to be traced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from graphmem.errors import TargetError

LARGEST_DIM = 2**31 - 1
"""TensorFlow keeps shapes in int32 while a step runs."""


@dataclass(frozen=True)
class Jit:
    """Whether the target has its step compiled by XLA on each device, and why or why not.

    >>> Jit.never("it says jit_compile=False").runtime("gpu")
    ('graph', 'it says jit_compile=False')
    """

    cpu: bool
    gpu: bool
    why_cpu: str
    why_gpu: str

    @classmethod
    def always(cls, why: str) -> Jit:
        """On every device."""
        return cls(True, True, why, why)

    @classmethod
    def never(cls, why: str) -> Jit:
        """On no device."""
        return cls(False, False, why, why)

    def runtime(self, device: str) -> tuple[str, str]:
        """Who runs the step on "cpu" or "gpu", "graph" or "xla", and why."""
        compiled, why = (self.gpu, self.why_gpu) if device == "gpu" else (self.cpu, self.why_cpu)
        return "xla" if compiled else "graph", why


@dataclass
class Step:
    """One traceable function with its inputs.

    Attributes:
        function: a `tf.function` or a plain callable.
        args: positional arguments: nests of `tf.TensorSpec`, example tensors and Python values.
        kind: "train", "test", "predict", or "custom" for a function of the user's own.
        target: how the user named it, as the report prints it.
        models: the Keras models whose layers name the scopes; may be empty.
        optimizers: the optimizers whose variables are optimizer state; may be empty.
        framework: "keras", "tf_keras" or "tf".
        batch: samples in one step, if known.
        notes: what was assumed on the user's behalf, one sentence each ("optimizer: Adam, as none was compiled").
        user_files: absolute paths of the user's own files, whose lines the report may name.
        facts: for the report: optimizer, loss, dtype policy…, each a short text.
        kwargs: keyword arguments, as `args`.
        jit: whether XLA compiles it.
        compiled: the function and the arguments that XLA compiles, where they are not all of the step: one of several
            steps that run in one call.
        keeps: objects that the function refers to only weakly, kept alive with the step.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kind: str = "custom"
    target: str = ""
    models: list[Any] = field(default_factory=list)
    optimizers: list[Any] = field(default_factory=list)
    framework: str = "tf"
    batch: int | None = None
    notes: list[str] = field(default_factory=list)
    user_files: set[str] = field(default_factory=set)
    facts: dict[str, str] = field(default_factory=dict)
    kwargs: dict[str, Any] = field(default_factory=dict)
    jit: Jit = field(default_factory=lambda: Jit.never("the function is not compiled with XLA"))
    compiled: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
    keeps: list[Any] = field(default_factory=list)

    def for_xla(self) -> Step:
        """What of the step XLA compiles: one of several steps in a call is the program of each pass of a loop."""
        if self.compiled is None:
            return self
        function, args = self.compiled
        return replace(self, function=function, args=args, kwargs={})


class Given(dict[str, int]):
    """Values by name, which remembers the names that were looked up.

    >>> given = Given(sequence=128, heigth=32)
    >>> given["sequence"], given.unused
    (128, ['heigth'])
    """

    def __init__(self, *args: Any, **kwargs: int) -> None:
        super().__init__(*args, **kwargs)
        self._used: set[str] = set()

    def __getitem__(self, name: str) -> int:
        self._used.add(name)
        return super().__getitem__(name)

    @property
    def unused(self) -> list[str]:
        """The names whose values nobody has asked for."""
        return [name for name in self if name not in self._used]


@dataclass(frozen=True)
class Options:
    """What the user said about the target on the command line or in `analyze()`.

    Attributes:
        kind: "train", "test" or "predict"; `None`: what the target itself suggests, else "train".
        batch: samples per step for inputs whose first dimension is open.
        inputs: specs for inputs, each "NAME:DTYPE:SHAPE" (such as "x:float32:8x224x224x3"), in order for callables.
        dims: values for open dimensions by name ("sequence" -> 128), by input ("x.1" -> 128), and trip counts of loops.
        loss, optimizer: Keras identifiers for a model that is not compiled; `None`: a default that the notes state.
        script_args: the arguments after `--`, for a script.

    Raises:
        TargetError: a batch or a dimension that no tensor can have.
    """

    kind: str | None = None
    batch: int | None = None
    inputs: tuple[str, ...] = ()
    dims: dict[str, int] = field(default_factory=dict)
    loss: str | None = None
    optimizer: str | None = None
    script_args: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "dims", self.dims if isinstance(self.dims, Given) else Given(self.dims))
        for name, value in [("batch", self.batch), *self.dims.items()]:
            if value is not None and (type(value) is not int or not 1 <= value <= LARGEST_DIM):
                raise TargetError(f"{name} must be a whole number from 1 to {LARGEST_DIM}, not {value!r}.")

    @property
    def unused_dims(self) -> list[str]:
        """Names in `dims` that nothing has asked for so far."""
        return self.dims.unused if isinstance(self.dims, Given) else []
