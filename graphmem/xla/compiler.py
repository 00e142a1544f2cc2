"""A step's HLO compiled by XLA's own compilers, for a GPU that need not be there or for this machine's CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from graphmem.errors import CompilerError
from graphmem.xla import pjrt
from graphmem.xla.child import scheduled_program, users_flags
from graphmem.xla.compiled import PLENTY_BYTES, CompiledHlo
from graphmem.xla.plugin import PACKAGE, find_plugin

if TYPE_CHECKING:
    from graphmem.xla.gpus import Gpu

TIMEOUT_SECONDS = 1800.0
"""A decoder of 175 billion parameters takes three to four minutes on one core."""

_GPU_FLAGS = ("--xla_gpu_autotune_level=0",)  # autotuning runs kernels, which needs the GPU

_WRITTEN = "gpu_after_optimizations.hlo.pb"

_NO_TRITON = "--xla_gpu_enable_triton_gemm=false"
_NO_TILING = "output tile sizes"
"""XLA's complaint where its first guess at a Triton matrix product does not suit a card. On the card autotuning would
find another, or cuBLAS, which is what is left without Triton."""


def compile_gpu(
    hlo: bytes,
    gpu: Gpu,
    *,
    memory: int | None = None,
    flags: Sequence[str] = (),
    timeout: float = TIMEOUT_SECONDS,
    progress: Callable[[str], None] = lambda text: None,
) -> CompiledHlo:
    """Compile a module with XLA:GPU, up to its buffer assignment. Neither a GPU nor CUDA is needed.

    Args:
        hlo: a serialized `HloModuleProto`, as TensorFlow exports it for a function.
        gpu: the card to compile for.
        memory: bytes that XLA is told the card has, such as `gpu.memory_bytes`; `None`: more than any program needs.
        flags: more XLA flags, after those of the user's own `XLA_FLAGS`.
        timeout: seconds.
        progress: told every second how long it has been going on.

    Raises:
        CompilerMissing: the optional compiler is not installed.
        CompilerError: it failed, crashed, or was not done in time.
    """
    plugin = find_plugin()
    told = memory if memory is not None else PLENTY_BYTES
    files = {
        pjrt.LIBRARY: str(plugin.library).encode(),
        pjrt.PROGRAM: hlo,
        pjrt.TARGET: gpu.target_config(told).encode(),
    }
    asked = (*users_flags(), *_GPU_FLAGS, *flags)
    try:
        proto, seconds = scheduled_program(pjrt.__name__, files, asked, _WRITTEN, timeout=timeout, progress=progress)
    except CompilerError as error:
        if _NO_TILING not in str(error) or _NO_TRITON in asked:
            raise
        asked = (*asked, _NO_TRITON)
        proto, seconds = scheduled_program(pjrt.__name__, files, asked, _WRITTEN, timeout=timeout, progress=progress)
    return CompiledHlo(proto, "gpu", gpu.name, f"{PACKAGE} {plugin.version}", asked, told, seconds)


def compile_cpu(
    program: bytes,
    tensorflow: str,
    *,
    flags: Sequence[str] = (),
    timeout: float = TIMEOUT_SECONDS,
    progress: Callable[[str], None] = lambda text: None,
) -> CompiledHlo:
    """Compile a traced function with the XLA:CPU of the installed TensorFlow, as `jit_compile=True` does here.

    Args:
        program: what `graphmem.trace.hlo` made of the function: a function cannot be compiled from its HLO there.
        tensorflow: the version of TensorFlow, for the record.
        flags, timeout, progress: as for `compile_gpu`.

    Raises:
        UserCodeError: XLA cannot compile the function.
        CompilerError: the compiler crashed, or was not done in time.
    """
    asked = (*users_flags(), *flags)
    proto, seconds = scheduled_program(
        "graphmem.trace.xla_cpu", {"program": program}, asked, "cpu_after_optimizations.hlo.pb", timeout=timeout,
        progress=progress,
    )  # fmt: skip
    return CompiledHlo(proto, "cpu", "this CPU", f"tensorflow {tensorflow}", asked, None, seconds)
