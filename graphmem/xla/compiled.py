"""What an XLA compiler hands over: the scheduled program with its buffer assignment, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass

PLENTY_BYTES = 1 << 50
"""Memory of a device that is never short: XLA then saves none by recomputing, and the program shows what is needed."""


@dataclass(frozen=True)
class CompiledHlo:
    """One compiled program.

    Attributes:
        proto: a serialized `xla.HloProto`: the scheduled module, its buffer assignment, the heap simulator's traces.
        platform: "gpu" or "cpu": whose compiler made it.
        target: the device that it was compiled for, as the report names it.
        compiler: the package that the compiler is from, and its version, such as "jax-cuda12-pjrt 0.9.1".
        flags: the `XLA_FLAGS` that it ran under, the user's own first; those that only say what to dump are left out.
        device_memory_bytes: the memory that the compiler was told the device has; `None` for the CPU, whose compiler
            does not ask. Below what the program needs, XLA recomputes values to save memory.
        seconds: wall-clock time of the compiler's process.
    """

    proto: bytes
    platform: str
    target: str
    compiler: str
    flags: tuple[str, ...]
    device_memory_bytes: int | None
    seconds: float
