"""The XLA:GPU compiler that `pip install 'graphmem[xla-gpu]'` brings: one shared library, of which jax is not part."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from pathlib import Path

from graphmem.errors import CompilerMissing

PACKAGE, PINNED = "jax-cuda12-pjrt", "0.9.1"
"""The package and its version whose XLA is that of TensorFlow 2.21 (PJRT API 0.90 to 0.96, the same XLA flags)."""

_LIBRARY = "xla_cuda_plugin.so"
INSTALL = "pip install 'graphmem[xla-gpu]'"


@dataclass(frozen=True)
class Plugin:
    """The installed compiler: its library, and the version of the package that it is from."""

    library: Path
    version: str


def find_plugin() -> Plugin:
    """Find the compiler without importing anything of it.

    Raises:
        CompilerMissing: the package is not installed, or lacks its library.
    """
    try:
        package = importlib.metadata.distribution(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise CompilerMissing(f"the XLA compiler for GPUs is not installed; get it with {INSTALL}.") from None
    for file in package.files or ():
        if file.name == _LIBRARY:
            library = Path(str(package.locate_file(file)))
            if library.is_file():
                return Plugin(library, package.version)
    raise CompilerMissing(f"the package {PACKAGE} has no {_LIBRARY}; install it anew with {INSTALL}.")
