"""What the user decides about the runtime that graphmem models, as opposed to the target: see `Options` for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from graphmem.devices import Device, find_device
from graphmem.errors import TargetError

STEPS = ("train", "test", "predict")
ORDERS = ("default", "deterministic", "graph", "breadth-first")
RUNTIMES = ("auto", "graph", "xla")
ALLOCATORS = ("exact", "bfc", "async")
WORKSPACES = ("none", "typical", "limit")

#: The CPU that figures are for unless the user says otherwise: a server's. Fixed, so that the same model gives the same
#: figure on a laptop and in CI.
REFERENCE_L3_BYTES = 256 << 20


@dataclass(frozen=True)
class Settings:
    """How the step is run and counted; checked when it is made.

    Attributes:
        device: "cpu", "gpu", "auto" (a GPU of this machine, else its CPU), or a card by name, "RTX 3060 12GB": whose
            executor, kernels and placement are modelled; no GPU is needed or touched.
        cards: more cards by name, as `[tool.graphmem.gpus]` gives them.
        order: the schedule that the report is about, one of `ORDERS`; "default" is what TensorFlow most likely takes.
        orders: how many legal orders the range of the peak is taken over, 1 or more; `None`: a default.
        warmup: calls of the step before the one modelled, 0 or more. A CPU's executor times ops; those that prove cheap
            in some 90 runs change their place in the order.
        threads: intra-op threads of the CPU device, which decide some kernels' scratch; `None`: this machine's cores.
        l3_bytes: the CPU's L3 cache, by which TensorFlow sizes the scratch of 3D convolution gradients.
        rewrite: whether TensorFlow's graph rewrites (Grappler) are applied, as TensorFlow does by default.
        runtime: "graph": TensorFlow's op-by-op executor; "xla": the step compiled by XLA; "auto": what the target and
            the device decide, as Keras does.
        conv_workspace: what is counted of cuDNN's workspace for convolutions on a GPU, which no step needs: "none",
            "typical" or "limit".
        allocator: "exact": the sum of the live bytes, without an allocator's rounding; "bfc": TensorFlow's allocator
            is simulated as well; "async": cudaMallocAsync, which counts as "exact" does, on a GPU. `None`: "bfc" if
            `memory` is given, as it decides what fits, else "exact".
        memory: bytes that the allocator may take; `None`: any amount, or what TensorFlow takes of a card that is
            named. If given, the report says whether the step would run out of it.

    Raises:
        TargetError: a value is not one of these.
    """

    device: str = "auto"
    order: str = "default"
    orders: int | None = None
    warmup: int = 0
    threads: int | None = None
    l3_bytes: int = REFERENCE_L3_BYTES
    rewrite: bool = True
    runtime: str = "auto"
    allocator: str | None = None
    memory: int | None = None
    conv_workspace: str = "none"
    cards: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _one_of("runtime", self.runtime, RUNTIMES)
        _one_of("order", self.order, ORDERS)
        _one_of("conv_workspace", self.conv_workspace, WORKSPACES)
        self.on  # noqa: B018  (a name that no card has is told at once)
        if self.allocator is not None:
            _one_of("allocator", self.allocator, ALLOCATORS)
        if self.allocator == "async" and self.on.kind != "gpu":
            raise TargetError('allocator "async" is cudaMallocAsync, which only a GPU has: give device="gpu" as well.')
        _positive("orders", self.orders)
        if isinstance(self.warmup, bool) or not isinstance(self.warmup, int) or self.warmup < 0:
            raise TargetError(f"warmup must be a whole number of 0 or more, not {self.warmup!r}.")
        _positive("threads", self.threads)
        _positive("l3_bytes", self.l3_bytes)
        _positive("memory", self.memory)
        if not isinstance(self.rewrite, bool):
            raise TargetError(f"rewrite must be true or false, not {self.rewrite!r}.")

    @cached_property
    def on(self) -> Device:
        """The device that `device` names."""
        if not isinstance(self.device, str):
            raise TargetError(f"device must be a text, not {self.device!r}.")
        return find_device(self.device, self.cards)

    @property
    def limit(self) -> int | None:
        """Bytes that the allocator may take: those given, else what TensorFlow takes of the card that is named."""
        if self.memory is not None or self.on.card is None or not self.on.named:
            return self.memory
        return self.on.card.pool_bytes

    @property
    def replayed(self) -> str | None:
        """The allocator to simulate, `None` for none: the sum of the live bytes needs none unless it has a limit."""
        if self.allocator is None:
            return None if self.limit is None else "bfc"
        return None if self.allocator == "exact" and self.limit is None else self.allocator


def _one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        choices = ", ".join(repr(item) for item in known)
        raise TargetError(f"{name} must be {'one of ' if len(known) > 1 else ''}{choices}, not {value!r}.")


def _positive(name: str, value: object) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise TargetError(f"{name} must be a whole number of 1 or more, not {value!r}.")
