"""What TensorFlow's kernels find out about the machine and its settings."""

from __future__ import annotations

import os
import platform
from functools import cache

_SC_LEVEL3_CACHE_SIZE = 194
"""glibc's number for the question; Python has no name for it."""

EIGEN_DEFAULT_L3 = 512 << 10
"""Bytes that Eigen assumes where it cannot ask the processor."""


CUDNN_WORKSPACE_LIMIT = 8 << 30
"""Bytes that cuDNN may take for one convolution unless TF_CUDNN_WORKSPACE_LIMIT_IN_MB says otherwise (gpu_utils.cc;
4 GiB before 2022)."""


@cache
def l3_cache_bytes() -> int:
    """Bytes of the L3 cache as Eigen sees it on this machine: on AMD that of the whole package, from `cpuid`."""
    if platform.machine() in ("x86_64", "AMD64") and platform.libc_ver()[0] == "glibc":
        try:
            return os.sysconf(_SC_LEVEL3_CACHE_SIZE) or EIGEN_DEFAULT_L3
        except (OSError, ValueError):
            return EIGEN_DEFAULT_L3
    return EIGEN_DEFAULT_L3


def workspace_limit() -> int:
    """Bytes that TensorFlow lets cuDNN have for one convolution."""
    told = os.environ.get("TF_CUDNN_WORKSPACE_LIMIT_IN_MB", "")
    return int(told) << 20 if told.isdecimal() else CUDNN_WORKSPACE_LIMIT
