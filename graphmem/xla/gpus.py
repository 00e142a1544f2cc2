"""Cards: their names, their memory, and the description by which XLA compiles for one that is not there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """A card.

    Attributes:
        name: as NVIDIA writes it.
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
    clock_mhz: int
    bandwidth: int
    l2_bytes: int
    aliases: tuple[str, ...] = ()
    source: str = ""

    def target_config(self, memory_bytes: int | None = None) -> str:
        """XLA's description of the card: a `stream_executor.GpuTargetConfigProto` as text.

        Args:
            memory_bytes: the memory that XLA is to believe in; `None`: the card's own.
        """
        major, minor = self.capability
        sm = _SM[self.capability]
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
dnn_version_info {{ major: 9 minor: 10 patch: 0 }}
runtime_version {{ major: 12 minor: 8 patch: 0 }}
device_description_str: "{self.name}"
"""


@dataclass(frozen=True)
class _Multiprocessor:
    """What all multiprocessors of a compute capability have: shared memory (all, and the most for a block), threads,
    and units for float32."""

    shared_kib: int
    shared_per_block_kib: int
    threads: int
    fp32_units: int


#: CUDA C++ Programming Guide 12.8, "Compute Capabilities": technical specifications, arithmetic instructions.
_SM = {
    (6, 0): _Multiprocessor(64, 48, 2048, 64),
    (6, 1): _Multiprocessor(96, 48, 2048, 128),
    (7, 0): _Multiprocessor(96, 96, 2048, 64),
    (7, 5): _Multiprocessor(64, 64, 1024, 64),
    (8, 0): _Multiprocessor(164, 163, 2048, 64),
    (8, 6): _Multiprocessor(100, 99, 1536, 128),
    (8, 9): _Multiprocessor(100, 99, 1536, 128),
    (9, 0): _Multiprocessor(228, 227, 2048, 128),
    (10, 0): _Multiprocessor(228, 227, 2048, 128),
    (10, 3): _Multiprocessor(228, 227, 2048, 128),
    (12, 0): _Multiprocessor(100, 99, 1536, 128),
}
