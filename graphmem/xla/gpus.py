"""A card: its memory, what TensorFlow takes of it, and the description by which XLA compiles for it without it."""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1 << 20

CONTEXT_BYTES = 300 * _MIB
"""What CUDA's context takes before TensorFlow looks at what is free: 180 to 450 MiB in published logs of cards without
a display ("Created device … with N MB memory"), which `Gpu.pool_bytes` meets within 1.5 %."""


@dataclass(frozen=True)
class Gpu:
    """A card.

    Attributes:
        name: as CUDA calls it.
        capability: the compute capability, (8, 0) for an A100.
        memory_bytes: device memory as CUDA reports it.
        sms: streaming multiprocessors.
        clock_mhz: the boost clock.
        bandwidth: of the device memory, bytes per second.
        l2_bytes: the L2 cache.
        aliases: other names that it is found by.
        source: where the figures are from.
    """

    name: str
    capability: tuple[int, int]
    memory_bytes: int
    sms: int
    clock_mhz: float
    bandwidth: int
    l2_bytes: int
    aliases: tuple[str, ...] = ()
    source: str = ""

    @property
    def architecture(self) -> str:
        """The compute capability as text, "8.0", as Grappler takes it."""
        return f"{self.capability[0]}.{self.capability[1]}"

    @property
    def left_bytes(self) -> int:
        """What TensorFlow leaves to the system of the memory that it finds free (gpu_device.cc, MinSystemMemory)."""
        if self.memory_bytes - CONTEXT_BYTES < 2048 * _MIB:
            return 225 * _MIB
        major = self.capability[0]
        return (500 if major <= 6 else 1050 if major == 7 else 1536 if major == 8 else 1800) * _MIB

    @property
    def pool_bytes(self) -> int:
        """The most that TensorFlow's allocator takes of the card, unless it is told otherwise."""
        return self.memory_bytes - CONTEXT_BYTES - self.left_bytes

    def target_config(self, memory_bytes: int | None = None) -> str:
        """XLA's description of the card: a `stream_executor.GpuTargetConfigProto` as text.

        Args:
            memory_bytes: the memory that XLA is to believe in; `None`: the card's own.
        """
        major, minor = self.capability
        sm = MULTIPROCESSORS[self.capability]
        return f"""gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: {48 << 10}
  shared_memory_per_core: {sm.shared_kib << 10}
  shared_memory_per_block_optin: {sm.shared_per_block_kib << 10}
  threads_per_core_limit: {sm.threads}
  core_count: {self.sms}
  fpus_per_core: {sm.fp32_units}
  block_dim_limit_x: {(1 << 31) - 1}
  block_dim_limit_y: {(1 << 16) - 1}
  block_dim_limit_z: {(1 << 16) - 1}
  memory_bandwidth: {self.bandwidth}
  l2_cache_size: {self.l2_bytes}
  clock_rate_ghz: {self.clock_mhz / 1000}
  device_memory_size: {memory_bytes or self.memory_bytes}
  cuda_compute_capability {{ major: {major} minor: {minor} }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: {CUDNN[0]} minor: {CUDNN[1]} patch: {CUDNN[2]} }}
runtime_version {{ major: {CUDA[0]} minor: {CUDA[1]} patch: {CUDA[2]} }}
device_description_str: "{self.name}"
"""


CUDA, CUDNN = (12, 8, 0), (9, 10, 0)
"""Versions of the libraries that XLA is told it will run with; `tensorflow[and-cuda]` 2.21 takes CUDA 12 from 12.5 and
cuDNN 9 from 9.3 on."""


@dataclass(frozen=True)
class Multiprocessor:
    """What every streaming multiprocessor of a compute capability has.

    Attributes:
        shared_kib, shared_per_block_kib: shared memory, and the most of it for one block.
        threads: resident threads.
        fp32_units: float32 results per clock.
    """

    shared_kib: int
    shared_per_block_kib: int
    threads: int
    fp32_units: int


MULTIPROCESSORS = {
    (6, 0): Multiprocessor(64, 48, 2048, 64),
    (6, 1): Multiprocessor(96, 48, 2048, 128),
    (7, 0): Multiprocessor(96, 96, 2048, 64),
    (7, 5): Multiprocessor(64, 64, 1024, 64),
    (8, 0): Multiprocessor(164, 163, 2048, 64),
    (8, 6): Multiprocessor(100, 99, 1536, 128),
    (8, 7): Multiprocessor(164, 163, 1536, 128),
    (8, 9): Multiprocessor(100, 99, 1536, 128),
    (9, 0): Multiprocessor(228, 227, 2048, 128),
    (10, 0): Multiprocessor(228, 227, 2048, 128),
    (10, 3): Multiprocessor(228, 227, 2048, 128),
    (12, 0): Multiprocessor(100, 99, 1536, 128),
}
"""By compute capability (CUDA C++ Programming Guide, "Compute Capabilities" and "Arithmetic Instructions")."""
