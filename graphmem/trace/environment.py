"""What must be said to TensorFlow before it is imported."""

from __future__ import annotations

import os
import sys

#: CPU features for which TensorFlow turns oneDNN on by itself (tsl/util/util.cc, IsMKLEnabled's default).
_ONEDNN_FEATURES = {"avx512_vnni", "avx512_bf16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16"}


def prepare() -> None:
    """Hide GPUs and switch oneDNN off, unless TensorFlow runs already or the user has decided.

    A tracing process must never take the card from a job that is training on it.
    """
    if "tensorflow" in sys.modules:
        return
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def wants_onednn() -> bool:
    """Whether TensorFlow would turn oneDNN on for this machine's processor."""
    try:
        with open("/proc/cpuinfo") as file:
            flags = next((line for line in file if line.startswith("flags")), "")
    except OSError:
        return False
    return bool(_ONEDNN_FEATURES & set(flags.split()))
